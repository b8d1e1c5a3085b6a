"""Files with every kind of leaf, written by ROOT itself, in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.root_program import call_root, declare

_CODE = """
#include <cmath>
#include <TFile.h>
#include <TTree.h>

void write_leaves(const char* path, int n, bool has_objects) {
  TFile file{path, "RECREATE", "", 404};
  TTree tree{"Events", ""};
  tree.SetAutoFlush(70);
  struct { Long64_t big; double grid[2][2]; float mom, err; int n[3]; UChar_t flag; } track;
  struct { double in_range; float half, halves[2]; int last; } mixed;
  struct { float x; int y; char text[40]; } texted;
  struct { int before, n; float x[4]; } sized;
  int event, count;
  float half, ranged, bits, halves[3], grid[2][2], many[4];
  double plain, narrow[2], deep[2][3], counted[4][2];
  std::string object = "object";
  tree.Branch("event", &event, "event/I");
  tree.Branch("track", &track, "big/L:grid[2][2]/D:mom/F:err/F:n[3]/I:flag/b");
  tree.Branch("mixed", &mixed, "in_range/d[0,10,16]:half/f:halves[2]/f:last/I");
  tree.Branch("texted", &texted, "x/F:y/I:text/C");
  tree.Branch("sized", &sized, "before/I:n/I:x[n]/F");
  tree.Branch("half", &half, "half/f");
  tree.Branch("ranged", &ranged, "ranged/f[0,10,12]");
  tree.Branch("bits", &bits, "bits/f[0,0,8]");
  tree.Branch("halves", halves, "halves[3]/f");
  tree.Branch("grid", grid, "grid[2][2]/f[0,100,16]");
  tree.Branch("plain", &plain, "plain/d");
  tree.Branch("narrow", narrow, "narrow[2]/d[-10,10,20]");
  tree.Branch("deep", deep, "deep[2][3]/d");
  tree.Branch("count", &count, "count/I");
  tree.Branch("many", many, "many[count]/f");
  tree.Branch("counted", counted, "counted[count][2]/d[-pi,pi,10]");
  if (has_objects) tree.Branch("object", &object);
  for (event = 0; event < n; ++event) {
    track = {(Long64_t(event) << 33) - 1, {{event / 9., 1}, {2, -event / 11.}}, event / 3.f,
             event / 7.f, {event, -event, 3}, UChar_t(event)};
    mixed = {event % 100 / 10., event / 3.f, {event / 5.f, 1}, event};
    texted = {1.f * event, -event, ""};
    snprintf(texted.text, 40, "%.*s", event % 30, "abcdefghijklmnopqrstuvwxyzabcdefgh");
    sized = {event, event % 4, {1, 2, 3, 4}};
    half = -event / 7.f;
    ranged = event % 97 / 10.f;
    bits = event * 1.7f;
    plain = event / 3.;
    narrow[0] = 9 * std::sin(event);
    narrow[1] = -narrow[0] / 2;
    count = event % 4;
    for (int k = 0; k < 3; ++k) halves[k] = event / (k + 1.f);
    for (int k = 0; k < 6; ++k) deep[k / 3][k % 3] = event / (k + 1.);
    for (int k = 0; k < 4; ++k) {
      grid[k / 2][k % 2] = (event * 7 + k) % 100 + 0.3;
      many[k] = event + k / 3.f;
      counted[k][0] = std::sin(event + k);
      counted[k][1] = -counted[k][0];
    }
    tree.Fill();
  }
  tree.Write();
}
"""
N_EVENTS = 200
COLUMNS = {
    "event": "int32", "track.big": "int64", "track.grid": "float64[2][2]", "track.mom": "float32",
    "track.err": "float32", "track.n": "int32[3]", "track.flag": "uint8",
    "mixed.in_range": "float64", "mixed.half": "float32", "mixed.halves": "float32[2]",
    "mixed.last": "int32", "texted.x": "float32", "texted.y": "int32", "texted.text": "string",
    "sized.before": "int32", "sized.n": "int32", "half": "float32", "ranged": "float32",
    "bits": "float32", "halves": "float32[3]", "grid": "float32[2][2]", "plain": "float64",
    "narrow": "float64[2]", "deep": "float64[2][3]", "count": "int32", "many": "float32[]",
    "counted": "float64[][2]",
}  # fmt: skip


def text_of(number: int) -> str:
    """`texted.text` of the event with this number."""
    return "abcdefghijklmnopqrstuvwxyzabcdefgh"[: number % 30]


def write_leaves(path: Path, n_events: int = N_EVENTS, has_objects: bool = False) -> Path:
    """`has_objects`: ROOT itself has to read the tree."""
    call_root(_write, str(path), n_events, has_objects)
    return path


def _write(path: str, n: int, has_objects: bool) -> None:
    import ROOT

    declare(_CODE)
    ROOT.write_leaves(path, n, has_objects)


def read_by_root(path: str) -> dict[str, list[Any]]:
    """Values of each leaf by the name of its column, those of an event in one list. Not of texts:
    ROOT reads no empty ones that it has written in a list."""
    import ROOT

    file = ROOT.TFile(path)
    tree, found = file.Get("Events"), dict[str, list[Any]]()
    for entry in range(tree.GetEntries()):
        tree.GetEntry(entry)
        for leaf in tree.GetListOfLeaves():
            branch = leaf.GetBranch()
            is_list = branch.GetListOfLeaves().GetEntries() > 1
            name = f"{branch.GetName()}.{leaf.GetName()}" if is_list else leaf.GetName()
            if name in COLUMNS and leaf.ClassName() != "TLeafC":
                found.setdefault(name, []).append([leaf.GetValue(i) for i in range(leaf.GetLen())])
    return found
