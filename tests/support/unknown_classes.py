"""Files with objects of classes that are defined here alone, written by ROOT."""

from __future__ import annotations

from pathlib import Path

from tests.server.root_program import call_root, declare

_POINTERS = """
class Member : public TObject { public: int a = 7; ClassDef(Member, 1) };
class Foo : public TObject { public: int n = 3; Member* p = nullptr; ClassDef(Foo, 1) };
void write_pointers(const char* path) {
  TFile file(path, "recreate");
  TTree tree("Events", "");
  UInt_t run = 1, lumi = 1;
  ULong64_t event;
  Float_t x;
  auto* foo = new Foo;
  foo->p = new Member;
  tree.Branch("run", &run, "run/i");
  tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l");
  tree.Branch("x", &x, "x/F");
  tree.Branch("foo", &foo);
  for (int e = 0; e < 10; ++e) { event = x = e; tree.Fill(); }
  tree.Write();
}"""
_OLD_FORM = """
struct P { int a = 7; };
struct Px { int a = 7; };
struct Many {
  P one;
  int n = 0;
  Px* all = nullptr;  //[n]
};
void write_old_form(const char* path) {
  TFile file(path, "recreate", "", 0);
  TTree tree("Events", "");
  auto* many = new Many;
  tree.Branch("many.", &many);
  for (int e = 0; e < 3; ++e) {
    delete[] many->all;
    many->all = new Px[many->n = e + 1];
    tree.Fill();
  }
  tree.Write();
}"""
_OWN_STREAMING = """
#include <TClassStreamer.h>
struct Inner { int a = 7; };
struct Outer { int before = 1; Inner inner; int behind = 2; };
void write_inner(TBuffer& buffer, void* inner) { buffer << char(static_cast<Inner*>(inner)->a); }
void write_own_streaming(const char* path) {
  TFile file(path, "recreate");
  TClass::GetClass("Inner")->AdoptStreamer(new TClassStreamer(write_inner));
  TTree tree("Events", "");
  Outer outer, split;
  int x;
  tree.Branch("x", &x);
  tree.Branch("outer", &outer, 32000, 0);
  tree.Branch("split.", &split, 32000, 1);
  for (x = 0; x < 20; ++x) { outer.before = split.before = x; tree.Fill(); }
  tree.Write();
}"""
_REFERENCES = """
void write_references(const char* path) {
  TFile file(path, "recreate", "", 0);
  TTree tree("Events", "");
  TH1F histogram("h", "", 2, 0, 2);
  histogram.SetDirectory(nullptr);
  TRef reference(&histogram);
  tree.Branch("h", &histogram, 32000, 0);
  for (int e = 0; e < 3; ++e) { histogram.Fill(e); tree.Fill(); }
  tree.Write();
}"""
_LINK = """#pragma once
#include <TObject.h>
#include <vector>
struct Link { unsigned key = 0; unsigned index = 0; };
class Token : public TObject { public: int number = 0; ClassDef(Token, 1) };
"""
_LINKS = """
void write_links(const char* path, int first, bool is_full) {
  TFile file(path, "recreate", "", 0);
  TTree tree("Events", "");
  UInt_t run = 1, lumi = 1;
  ULong64_t event;
  std::vector<std::vector<Link>> links;
  tree.Branch("run", &run);
  tree.Branch("luminosityBlock", &lumi);
  tree.Branch("event", &event, "event/l");
  tree.Branch("links", &links);
  for (int e = 0; e < 10; ++e) {
    event = first + e;
    links.assign(e % 3, std::vector<Link>(is_full ? 2 : 0, Link{7, (unsigned)e}));
    tree.Fill();
  }
  tree.Write();
}"""

_TOKENS = """
void write_tokens(const char* path, int first) {
  TFile file(path, "recreate", "", 0);
  TTree tree("Events", "");
  UInt_t run = 1, lumi = 1;
  ULong64_t event;
  std::vector<Token*> tokens;
  tree.Branch("run", &run);
  tree.Branch("luminosityBlock", &lumi);
  tree.Branch("event", &event, "event/l");
  tree.Branch("tokens", &tokens);
  for (int e = 0; e < 10; ++e) {
    event = first + e;
    tokens.assign(e % 4, nullptr);
    for (auto& token : tokens) { token = new Token; token->number = e; }
    tree.Fill();
  }
  tree.Write();
}"""


def write_pointers(path: Path) -> Path:
    """Ten events with objects that point to others."""
    call_root(write_foo, str(path))
    return path


def write_foo(path: str) -> None:
    import ROOT

    declare(_POINTERS)
    ROOT.write_pointers(path)


def write_old_form(path: Path) -> Path:
    """Objects with arrays of pointers to objects, as ROOT wrote them until 5.15/08: as the objects
    alone, which is how it writes arrays of objects now."""
    call_root(write_many, str(path))
    content = path.read_bytes()
    of_px, of_p = (bytes.fromhex("4000000a00000000" + digits) for digits in ("8192", "28fa"))
    assert (content.count(b"\x03Px*"), content.count(of_px)) == (1, 6)
    content = content.replace(b"\x03Px*", b"\x03P**").replace(of_px, of_p)
    path.write_bytes(content[:4] + (51508).to_bytes(4, "big") + content[8:])
    return path


def write_many(path: str) -> None:
    import ROOT

    declare(_OLD_FORM)
    ROOT.write_old_form(path)


def write_own_streaming(path: Path) -> Path:
    """Objects with a member whose class writes itself, which the file describes as any other:
    "outer", and "split.", whose members have branches of their own."""
    call_root(write_outer, str(path))
    return path


def write_outer(path: str) -> None:
    import ROOT

    declare(_OWN_STREAMING)
    ROOT.write_own_streaming(path)


def write_references(path: Path) -> Path:
    """Objects that may be referred to, of a class whose base class is abstract, and of an older
    version than ROOT's."""
    call_root(write_referred, str(path))
    content = path.read_bytes()
    described = b"\x03TH1\x00\x1c\x37\x40\xc4\0\0\0\x08"
    assert content.count(described) == 1
    content = content.replace(described, b"\x03TH1\x00\x1c\x37\x40\xc5\0\0\0\x07")
    version = bytes.fromhex("0008 4000 0011 0001")  # then TNamed
    assert content.count(version) == 3
    content = content.replace(version, b"\0\x07" + version[2:])
    path.write_bytes(content)
    return path


def write_referred(path: str) -> None:
    import ROOT

    declare(_REFERENCES)
    ROOT.write_references(path)


def write_links(folder: Path) -> tuple[Path, Path]:
    """Files with lists of lists of objects: all inner lists are empty in the first one, which does
    not describe the class of the objects, as in files of ATLAS."""
    empty, full = folder / "empty.root", folder / "full.root"
    call_root(write_both, str(folder), str(empty), str(full), anew=True)
    with empty.open("r+b") as file:
        content = file.read()
        assert content.count(b"\x04Link") > 0
        file.seek(0)
        file.write(content.replace(b"\x04Link", b"\x04Lino"))
    return empty, full


def write_tokens(folder: Path) -> list[Path]:
    """Files with vectors of pointers to objects of a class that they do not describe, as in files
    of POOL."""
    files = [folder / f"tokens{number}.root" for number in range(2)]
    call_root(write_lists, str(folder), *map(str, files), anew=True)
    for path in files:
        content = path.read_bytes()
        assert content.count(b"\x05Token") > 0
        path.write_bytes(content.replace(b"\x05Token", b"\x05Tokem"))
    return files


def write_lists(folder: str, *paths: str) -> None:
    import ROOT

    declare_links(folder, "vector<Token*>;Token")
    declare(_TOKENS)
    for number, path in enumerate(paths):
        ROOT.write_tokens(path, 100 * number)


def write_both(folder: str, empty: str, full: str) -> None:
    import ROOT

    declare_links(folder, "vector<vector<Link> >;vector<Link>;Link")
    declare(_LINKS)
    ROOT.write_links(empty, 0, False)
    ROOT.write_links(full, 100, True)


def declare_links(folder: str, classes: str) -> None:
    """Makes dictionaries of these classes, separated by `;`."""
    import os

    import ROOT

    Path(folder, "Link.h").write_text(_LINK)
    os.chdir(folder)
    ROOT.gInterpreter.AddIncludePath(folder)
    assert ROOT.gInterpreter.GenerateDictionary(classes, "Link.h")
    declare('#include "Link.h"')
