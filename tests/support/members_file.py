"""Files whose columns are members of objects, written by ROOT itself, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.server.root_program import call_root, declare

_CODE = """
#include <TBranchElement.h>
#include <TClass.h>
#include <TClonesArray.h>
#include <TFile.h>
#include <TTree.h>

struct Place { float x = 0; double y = 0; };
struct Hit {
  float pt = 0;
  Place at;
  int ids[3] = {0, 0, 0};
  unsigned char flag = 0;
  bool good = false;
  Long64_t large = 0;
};
struct Header { unsigned run = 1, lumi = 1; ULong64_t number = 0; float weight = 0; };
struct Record { Header header; Place where; short codes[2] = {0, 0}; std::vector<float> list; };
class Cell : public TObject {
 public:
  float energy = 0;
  int tower[2] = {0, 0};
  ClassDef(Cell, 1)
};

template <typename T>
void add_objects(TTree& tree, const char* name, const char* type, T& all, int basket, int level) {
  auto* proxy = TClass::GetClass(type)->GetCollectionProxy();  // TTree::Branch wants a dictionary
  auto* branch = new TBranchElement(&tree, name, proxy, basket, level);
  tree.GetListOfBranches()->Add(branch);
  branch->SetObject(&all);
}

void write_members(const char* path, int first, int n, int level, int basket) {
  TFile file{path, "RECREATE", "", 404};
  TTree tree{"Events", ""};
  std::vector<Hit> hits;
  TClonesArray cells{"Cell"};
  Record rec, dotted;
  unsigned run = 1, lumi = 1;
  ULong64_t event;
  tree.Branch("run", &run, "run/i");
  tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l");
  add_objects(tree, "Hits", "vector<Hit>", hits, basket, level);
  tree.Branch("Cells", &cells, basket, level);
  tree.Branch("rec", &rec, basket, level);
  tree.Branch("dotted.", &dotted, basket, level);
  for (int i = first; i < first + n; ++i) {
    event = i;
    hits.clear();
    cells.Clear();
    for (int k = 0; k < (i * 7) % 5; ++k) {
      Hit hit;
      hit.pt = i + 0.25f * k;
      hit.at = {i - 0.5f * k, i * 1e-3 + k};
      for (int j = 0; j < 3; ++j) hit.ids[j] = i * 100 + k * 10 + j;
      hit.flag = i + k;
      hit.good = (i + k) % 3 == 0;
      hit.large = (Long64_t(i) << 33) - k;
      hits.push_back(hit);
    }
    for (int k = 0; k < i % 4; ++k) {
      auto* cell = static_cast<Cell*>(cells.ConstructedAt(k));
      cell->energy = i * 3.f - k;
      cell->tower[0] = k;
      cell->tower[1] = -i;
    }
    rec.header = {7, 1u + i / 100, ULong64_t(i), 0.5f * i};
    rec.where = {-1.f * i, 2. * i};
    rec.codes[0] = i; rec.codes[1] = -i;
    rec.list.assign(i % 3, i * 0.5f);
    dotted = rec;
    dotted.header.weight = i + 0.125f;
    tree.Fill();
  }
  tree.Write();
}
"""
_CODE_OF_RECORDS = """
#include <TBranchElement.h>
#include <TClass.h>
#include <TFile.h>
#include <TLorentzVector.h>
#include <TTree.h>
#include <TVector3.h>

struct Packed {
  Double32_t plain = 0;
  Double32_t ranged = 0;  //[-10,10,12]
  Double32_t bits = 0;    //[0,0,8]
  Float16_t half = 0;
  Float16_t whole = 0;    //[0,100]
  std::string text;
  TString name;
  TString both[2];
  std::vector<int> ints;
  std::vector<std::string> words;
  std::vector<bool> bools;
  std::vector<std::vector<float>> nested;
};

struct Base { short first = 0; };
struct At { float x = 0; double y = 0; };
struct Held : Base {
  At at;
  std::map<std::string, int> by_name;
  int n = 0;
  float* some = nullptr;  //[n]
  double last = 0;
};

template <typename T>
void add_objects(TTree& tree, const char* name, const char* type, T& all, int level) {
  auto* proxy = TClass::GetClass(type)->GetCollectionProxy();
  auto* branch = new TBranchElement(&tree, name, proxy, 2000, level);
  tree.GetListOfBranches()->Add(branch);
  branch->SetObject(&all);
}

void write_records(const char* path, int n) {
  TFile file{path, "RECREATE", "", 404};
  TTree tree{"Events", ""};
  Packed one;
  std::vector<Packed> many;
  TLorentzVector vector;
  TVector3 place;
  std::vector<TLorentzVector> vectors;
  std::vector<TVector3> places;
  int event;
  tree.Branch("event", &event, "event/I");
  tree.Branch("one", &one, 2000, 99);
  tree.Branch("vector", &vector, 2000, 0);
  tree.Branch("place", &place, 2000, 0);
  tree.Branch("kept", &one, 2000, 0);
  Held held;
  float some[3] = {1, 2, 3};
  held.some = some;
  tree.Branch("held", &held, 2000, 0);
  add_objects(tree, "many", "vector<Packed>", many, 99);
  add_objects(tree, "vectors", "vector<TLorentzVector>", vectors, 0);
  add_objects(tree, "places", "vector<TVector3>", places, 99);
  for (event = 0; event < n; ++event) {
    const auto fill = [&](Packed& to, int i) {
      to.plain = i / 3.;
      to.ranged = 10 * std::sin(i);
      to.bits = to.half = -i / 7.;
      to.whole = i % 100 + 0.3;
      to.text = std::string(i % 5, 'a' + i % 26);
      to.name = to.text + "x";
      to.both[0] = to.both[1] = to.name;
      to.ints.assign(i % 4, i);
      to.words.assign(i % 3, to.text);
      to.bools.assign(i % 6, i % 2);
      to.nested.assign(i % 3, std::vector<float>(i % 2, i));
    };
    fill(one, event);
    many.resize(event % 4);
    for (int k = 0; k < event % 4; ++k) fill(many[k], event + k);
    held.first = -event;
    held.at = {event / 2.f, event / 3.};
    held.by_name.clear();
    for (int k = 0; k < event % 3; ++k) held.by_name[std::string(k + 1, 'k')] = k;
    held.n = event % 4;
    vector.SetPxPyPzE(event, 1, 2, event + 3);
    place.SetXYZ(event, -event, 0.5);
    vectors.assign(event % 3, vector);
    places.assign(event % 5, place);
    tree.Fill();
  }
  tree.Write();
}
"""
N_EVENTS = 250
HITS = ("pt", "at.x", "at.y", "ids", "flag", "good", "large")
COLUMNS = {
    **{f"Hits.{name}": kind for name, kind in zip(
        HITS, ("float32[]", "float32[]", "float64[]", "int32[][3]", "uint8[]", "bool[]", "int64[]"),
        strict=True,
    )},
    "Cells.fUniqueID": "uint32[]",
    "Cells.energy": "float32[]",
    "Cells.tower": "int32[][2]",
    **{
        f"{top}.{name}": kind
        for top in ("rec", "dotted")
        for name, kind in {
            "header.run": "uint32", "header.lumi": "uint32", "header.number": "uint64",
            "header.weight": "float32", "where.x": "float32", "where.y": "float64",
            "codes": "int16[2]",
        }.items()
    },
}  # fmt: skip
"""Columns of numbers of a file whose objects are split, with their types."""


def write_members(
    path: Path, first: int = 0, n_events: int = N_EVENTS, level: int = 99, basket: int = 2000
) -> Path:
    """`level`: how far objects are split; `basket`: bytes of each."""
    call_root(_write, str(path), [first, n_events, level, basket])
    return path


def _write(path: str, numbers: Sequence[int]) -> None:
    import ROOT

    declare(_CODE)
    ROOT.write_members(path, *numbers)


RECORDS = {
    "one.plain": "float64",
    "one.ranged": "float64",
    "one.bits": "float64",
    "one.half": "float32",
    "one.whole": "float32",
    "one.text": "string",
    "one.name": "string",
    "one.ints": "int32[]",
    "one.words": "string[]",
    "one.bools": "bool[]",
    "one.nested": "float32[][]",
    "vector.fP.fX": "float64",
    "vector.fE": "float64",
    "place.fZ": "float64",
    **{
        f"kept.{name}": kind
        for name, kind in {
            "plain": "float64",
            "half": "float32",
            "text": "string",
            "ints": "int32[]",
            "words": "string[]",
            "bools": "bool[]",
            "nested": "float32[][]",
        }.items()
    },
    "held.first": "int16",
    "held.at.x": "float32",
    "held.at.y": "float64",
    "held.n": "int32",
    "many.plain": "float64[]",
    "many.ranged": "float64[]",
    "many.bits": "float64[]",
    "many.half": "float32[]",
    "many.whole": "float32[]",
    "many.text": "string[]",
    "many.name": "string[]",
    "many.ints": "int32[][]",
    "many.bools": "bool[][]",
    "many.words": "string[][]",
    "many.nested": "float32[][][]",
    "vectors.fP.fY": "float64[]",
    "vectors.fE": "float64[]",
    "places.fX": "float64[]",
}
"""Columns of a file with packed numbers, texts, lists, and objects that are not split."""


def packed(number: int) -> dict[str, object]:
    """Texts and lists of the objects that have this number."""
    text = chr(ord("a") + number % 26) * (number % 5)
    return {
        "text": text,
        "name": f"{text}x",
        "ints": [number] * (number % 4),
        "words": [text] * (number % 3),
        "bools": [number % 2 == 1] * (number % 6),
        "nested": [[float(number)] * (number % 2)] * (number % 3),
    }


def write_records(path: Path, n_events: int = N_EVENTS) -> Path:
    call_root(_write_records, str(path), n_events)
    return path


def _write_records(path: str, n: int) -> None:
    import ROOT

    declare(_CODE_OF_RECORDS)
    ROOT.write_records(path, n)


_CODE_OF_WHOLES = """
#include <list>
#include <set>
#include <Math/Vector4D.h>
#include <TFile.h>
#include <TTree.h>

class Own : public TObject {
 public:
  int number = 3;
  ClassDef(Own, 1)
};

void write_wholes(const char* path, int n) {
  TFile file{path, "RECREATE", "", 404};
  TTree tree{"Events", ""};
  int event;
  TString text;
  std::set<int> set;
  std::list<float> list;
  std::deque<short> queue;
  std::set<std::string> texts;
  std::vector<Double32_t> rounded;
  std::vector<Float16_t> half;
  std::vector<TString> words;
  ROOT::Math::PxPyPzEVector vector;
  auto* own = new Own;
  tree.Branch("event", &event, "event/I");
  tree.Branch("text", &text);
  tree.Branch("set", &set);
  tree.Branch("list", &list);
  tree.Branch("queue", &queue);
  tree.Branch("texts", &texts);
  tree.Branch("rounded", &rounded);
  tree.Branch("half", &half);
  tree.Branch("words", &words, 2000, 0);
  tree.Branch("vector", &vector, 2000, 0);
  tree.BranchOld("own", "Own", &own, 2000, 0);
  for (event = 0; event < n; ++event) {
    text = TString('a' + event % 26, event % 300);
    set.clear();
    for (int k = 0; k < event % 4; ++k) set.insert(event + k);
    list.assign(event % 3, event * 0.5f);
    queue.assign(event % 5, event);
    texts = {std::string(text.Data()), "b"};
    rounded.assign(event % 3, event * 0.125);
    half.assign(event % 2, event * 0.5f);
    words.assign(event % 4, TString::Format("w%d", event));
    vector.SetPxPyPzE(event, 1, 2, event + 3);
    tree.Fill();
  }
  tree.Write();
}
"""
WHOLES = {
    "text": "string", "set": "int32[]", "list": "float32[]", "queue": "int16[]",
    "texts": "string[]", "rounded": "float64[]", "half": "float32[]", "words": "string[]",
}  # fmt: skip
"""Branches of the tree itself that ROOT stores as objects, and that are columns."""


def whole(number: int) -> dict[str, object]:
    """What is in these of the event with this number."""
    text = chr(ord("a") + number % 26) * (number % 300)
    return {
        "text": text,
        "set": [number + k for k in range(number % 4)],
        "list": [number * 0.5] * (number % 3),
        "queue": [number] * (number % 5),
        "texts": sorted({text, "b"}),
        "rounded": [number * 0.125] * (number % 3),
        "half": [number * 0.5] * (number % 2),
        "words": [f"w{number}"] * (number % 4),
    }


def write_wholes(path: Path, n_events: int = N_EVENTS) -> Path:
    """Beside these: a vector of `ROOT::Math`, and an object of a class with a streamer of its
    own."""
    call_root(_write_wholes, str(path), n_events)
    return path


def _write_wholes(path: str, n: int) -> None:
    import ROOT

    declare(_CODE_OF_WHOLES)
    ROOT.write_wholes(path, n)
