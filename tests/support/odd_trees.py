"""Sound trees that ROOT writes seldom: of classes that it cannot make objects of, with branches
that were disabled, with keys of old files."""

from __future__ import annotations

import struct
from pathlib import Path

from tests.server.root_program import call_root

N_EVENTS = 20
_MACRO = r"""
#include <bitset>
#include <TFile.h>
#include <TObjArray.h>
#include <TProcessID.h>
#include <TTree.h>
class Stranger : public TObject { public: Int_t n = 3; ClassDef(Stranger, 1) };
struct Track { Int_t id = 0; Float_t pt = 0, eta = 0; };
#ifdef __ROOTCLING__
#pragma link C++ class std::bitset<16>+;
#pragma link C++ class Stranger+;
#pragma link C++ struct Track+;
#endif
struct Writer {
  TFile file;
  TTree* tree = new TTree("Events", "");
  Int_t number = 0;
  explicit Writer(const char* path, int zip = 101) : file(path, "recreate", "", zip) {
    tree->Branch("number", &number, "number/I");
  }
  template <typename Next> void write(Next next) {
    for (; number < 20; ++number) { next(number); tree->Fill(); }
    tree->Write();
  }
};
void write_bits(const char* path) {
  Writer writer(path);
  std::bitset<16> bits, *address = &bits;
  writer.tree->Branch("bits", &address);
  writer.write([&](int n) { bits = n; });
}
void write_tracks(const char* path, int first_with_pt) {
  Writer writer(path);
  Track track, *address = &track;
  writer.tree->Branch("track.", &address);
  writer.tree->SetBranchStatus("track.pt", false);
  writer.write([&](int n) {
    if (n == first_with_pt) writer.tree->SetBranchStatus("track.pt", true);
    track = {n, 10.f * n, -1.f * n};
  });
}
void write_strangers(const char* path) {
  Writer writer(path);
  TObjArray list, *address = &list;
  list.SetOwner();
  writer.tree->Branch("list", "TObjArray", &address, 32000, 0);
  writer.write([&](int) { list.Add(new Stranger); });
}
void write_beside(const char* path) {
  Writer writer(path);
  writer.tree->GetUserInfo()->Add(new Stranger);
  writer.write([](int) {});
}
void write_referring(const char* path) {
  Writer writer(path);
  Stranger stranger;
  TProcessID::AssignID(&stranger);
  stranger.Write("info");
  writer.write([](int) {});
}
void write_numbers(const char* path) { Writer(path, 0).write([](int) {}); }
"""


def write_odd_trees(folder: Path) -> None:
    """Writes 20 events, in which `number` counts: `bits.root` (the bits of the number),
    `always.root`, `never.root` and `late.root` (objects whose member `pt` is written, not written,
    or not before event 12),
    `strangers.root` (lists of objects of a class that the writer alone knows), `beside.root` (such
    an object belongs to the tree), `referring.root` (such an object, which others may refer to, is
    in the file), `numbers.root`."""
    call_root(write, str(folder))


def write(folder: str) -> None:
    import os

    import ROOT

    Path(folder, "odd.C").write_text(_MACRO)
    os.chdir(folder)
    assert ROOT.gROOT.LoadMacro("odd.C++") == 0
    for kind in ("bits", "strangers", "beside", "referring", "numbers"):
        getattr(ROOT, f"write_{kind}")(f"{kind}.root")
    ROOT.write_tracks("never.root", N_EVENTS)
    ROOT.write_tracks("late.root", 12)
    ROOT.write_tracks("always.root", 0)


def with_small_keys(numbers: Path, path: Path) -> Path:
    """Writes the numbers in one basket whose key has places of 32 bits, as old ROOT and go-hep
    write them. What the shorter key leaves is a gap."""
    content = bytearray(numbers.read_bytes())
    at = content.index(b"\x07TBasket\x06number\x06Events") - 34
    n_bytes, version, n_object, date, n_key, cycle, place, folder = struct.unpack(
        ">ihiihhqq", content[at : at + 34]
    )
    assert (version, place) == (1004, at)
    small = struct.pack(
        ">ihiihhii", n_bytes - 8, 4, n_object, date, n_key - 8, cycle, place, folder
    )
    names_end = at + 34 + len(b"\x07TBasket\x06number\x06Events")
    own = bytearray(content[names_end : at + n_key])
    last = struct.unpack(">i", own[14:18])[0]
    own[14:18] = struct.pack(">i", last - 8)
    record = small + content[at + 34 : names_end] + own + content[at + n_key : at + n_bytes]
    content[at : at + n_bytes] = record + struct.pack(">i", -8) + bytes(4)
    listed = struct.pack(">i", n_bytes) + bytes(4 * 9)
    assert content.count(listed) == 1
    path.write_bytes(content.replace(listed, struct.pack(">i", n_bytes - 8) + bytes(4 * 9)))
    return path
