"""Sound trees that ROOT writes seldom: of classes that it cannot make objects of, with branches
that were disabled, with keys of old files."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from tests.server.root_program import call_root, declare

N_EVENTS = 20
_MACRO = r"""
#include <bitset>
#include <TFile.h>
#include <TObjArray.h>
#include <TNamed.h>
#include <TProcessID.h>
#include <TRef.h>
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
void write_links(const char* path, bool has_table) {
  Writer writer(path, 0);
  if (has_table) writer.tree->BranchRef();
  TNamed target, *address = &target;
  TRef link, *linked = &link;
  writer.tree->Branch("target", &address, 32000, 0);
  writer.tree->Branch("link", &linked, 32000, 0);
  writer.write([&](int n) {
    target.SetTitle(std::to_string(n).c_str());
    link = &target;
  });
}
void write_lists(const char* path, bool refers) {
  Writer writer(path, 0);
  TNamed target, *address = &target;
  TObjArray links, *linked = &links;
  links.SetOwner();
  writer.tree->Branch("target", &address, 32000, 0);
  writer.tree->Branch("links", &linked, 32000, 0);
  writer.write([&](int n) {
    target.SetTitle(std::to_string(n).c_str());
    links.Delete();
    if (refers && n > 0) links.Add(new TRef(&target));
  });
}
void write_numbers(const char* path) { Writer(path, 0).write([](int) {}); }
"""
_LINKED = """
std::string linked_titles(const char* path) {
  TFile file(path);
  auto* tree = file.Get<TTree>("Events");
  TNamed* target = nullptr;
  TRef* link = nullptr;
  TObjArray* links = nullptr;
  tree->SetBranchAddress("target", &target);
  const bool has_lists = tree->GetBranch("links") != nullptr;
  if (has_lists) {
    tree->SetBranchAddress("links", &links);
  } else {
    tree->SetBranchAddress("link", &link);
  }
  std::string titles;
  for (Long64_t entry = 0; tree->GetEntry(entry) > 0; ++entry) {
    if (has_lists) link = static_cast<TRef*>(links->First());
    if (link == nullptr) continue;
    titles += link->GetObject() ? link->GetObject()->GetTitle() : "none";
    titles += ' ';
  }
  return titles;
}
"""


def write_odd_trees(folder: Path) -> None:
    """Writes 20 events, in which `number` counts: `bits.root` (the bits of the number),
    `always.root`, `never.root` and `late.root` (objects whose member `pt` is written, not written,
    or not before event 12),
    `strangers.root` (lists of objects of a class that the writer alone knows), `beside.root` (such
    an object belongs to the tree), `referring.root` (such an object, which others may refer to, is
    in the file), `links.root` and `tables.root` (each entry has an object whose title is the
    number, and a reference to it; the second tree also has a table of references), `no_lists.root`
    and `lists.root` (the same with lists of references, which are empty in the first file, and in
    the first entry of the second), `more_lists.root` (as if another program had written it),
    `numbers.root`."""
    call_root(write, str(folder))
    content = (folder / "more_lists.root").read_bytes()
    found = re.search(rb"ProcessID0.(\w{8}(-\w{4}){3}-\w{12})", content)
    assert found is not None
    other = found[1].translate(bytes.maketrans(b"0123456789", b"1234567890"))
    (folder / "more_lists.root").write_bytes(content.replace(found[1], other))


def write(folder: str) -> None:
    import os

    import ROOT

    Path(folder, "odd.C").write_text(_MACRO)
    os.chdir(folder)
    assert ROOT.gROOT.LoadMacro("odd.C++") == 0
    for kind in ("bits", "strangers", "beside", "referring", "numbers"):
        getattr(ROOT, f"write_{kind}")(f"{kind}.root")
    ROOT.write_links("links.root", False)
    ROOT.write_links("tables.root", True)
    ROOT.write_lists("no_lists.root", False)
    for name in ("lists", "more_lists"):
        ROOT.write_lists(f"{name}.root", True)
    ROOT.write_tracks("never.root", N_EVENTS)
    ROOT.write_tracks("late.root", 12)
    ROOT.write_tracks("always.root", 0)


def with_small_keys(path: Path, new: Path, *branches: str) -> Path:
    """Has the one basket of each branch a key with places of 32 bits, as old ROOT and go-hep write
    them; the basket's title becomes longer by as much."""
    content = bytearray(path.read_bytes())
    for branch in branches:
        names = b"\x07TBasket" + bytes([len(branch)]) + branch.encode()
        at = content.index(names + b"\x06Events") - 34
        n_bytes, version, *others, place, folder = struct.unpack_from(">ihiihhqq", content, at)
        assert (version, place) == (1004, at)
        small = struct.pack(">ihiihhii", n_bytes, 4, *others, place, folder)
        title = b"\x0eEvents" + 8 * b" "
        content[at : at + 34 + len(names) + 7] = small + names + title
    new.write_bytes(content)
    return new


def linked_titles(path: str) -> list[str]:
    """Of the object that each entry refers to, as ROOT finds it."""
    import ROOT

    declare(_LINKED)
    return str(ROOT.linked_titles(path)).split()
