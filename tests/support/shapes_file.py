"""A file with a branch of every shape that a column can have, written by ROOT itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.server.root_program import call_root, declare

SHAPES = {
    "x": "float32[4]",
    "matrix": "float64[2][3]",
    "flags": "bool[3]",
    "P_xyz": "float32[][3]",
    "letters": "string",
    "text": "string",
    "texts": "string[]",
    "floats": "float32[][]",
    "ints": "int32[][]",
    "bools": "bool[][]",
}
"""Branches, and the types of their columns. There are the ids as well, the counter nP, and blanks,
texts some of which are empty: as characters they have no bytes, which uproot does not expect."""

_CODE = """
#include <TBranchElement.h>
#include <TFile.h>
#include <TTree.h>

template <typename T>
void add_vectors(TTree& tree, const char* name, const char* type, std::vector<std::vector<T>>& v) {
  auto* proxy = TClass::GetClass(type)->GetCollectionProxy();
  auto* branch = new TBranchElement(&tree, name, proxy, 32000, 0);
  tree.GetListOfBranches()->Add(branch);
  branch->SetObject(&v);
}

void write_shapes(const char* path, int first, int n) {
  TFile file{path, "RECREATE"};
  TTree tree{"Events", ""};
  unsigned run = 1, lumi = 1;
  ULong64_t event;
  float x[4], P_xyz[9][3];
  double matrix[2][3];
  bool flags[3];
  int nP;
  char letters[400], blanks[20];
  std::string text;
  std::vector<std::string> texts;
  std::vector<std::vector<float>> floats;
  std::vector<std::vector<int>> ints;
  std::vector<std::vector<bool>> bools;
  tree.Branch("run", &run, "run/i");
  tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l");
  tree.Branch("x", x, "x[4]/F");
  tree.Branch("matrix", matrix, "matrix[2][3]/D");
  tree.Branch("flags", flags, "flags[3]/O");
  tree.Branch("nP", &nP, "nP/I");
  tree.Branch("P_xyz", P_xyz, "P_xyz[nP][3]/F");
  tree.Branch("letters", letters, "letters/C");
  tree.Branch("blanks", blanks, "blanks/C");
  tree.Branch("text", &text);
  tree.Branch("texts", &texts);
  tree.Branch("floats", &floats);
  add_vectors(tree, "ints", "vector<vector<int> >", ints);
  add_vectors(tree, "bools", "vector<vector<bool> >", bools);
  for (auto* branch : *tree.GetListOfBranches()) {
    static_cast<TBranch*>(branch)->SetBasketSize(3000);
  }
  for (int i = first; i < first + n; ++i) {
    event = i;
    lumi = 1 + i / 50;
    for (int k = 0; k < 4; ++k) { x[k] = i + 0.1f * k; }
    for (int k = 0; k < 6; ++k) { matrix[k / 3][k % 3] = -i + 0.3 * k; }
    for (int k = 0; k < 3; ++k) { flags[k] = (i >> k) & 1; }
    nP = i % 4;
    for (int k = 0; k < 3 * nP; ++k) { P_xyz[k / 3][k % 3] = i + 0.01f * k; }
    text = i % 7 == 3 ? std::string(255 + i % 2, 'x') : "\\u00e9" + std::to_string(i);
    if (i % 5 == 0) { text.clear(); }
    strcpy(blanks, i % 6 == 0 ? "" : "blank");
    strcpy(letters, i % 8 == 1 ? std::string(300, 'y').c_str() : "abc");
    texts.clear(); floats.clear(); ints.clear(); bools.clear();
    for (int k = 0; k < i % 3; ++k) { texts.push_back(std::string(k * 200, 'z') + text); }
    for (int k = 0; k < i % 4; ++k) {
      floats.emplace_back(); ints.emplace_back(); bools.emplace_back();
      for (int j = 0; j < (i + k) % 3; ++j) {
        floats[k].push_back(i + 0.1f * j); ints[k].push_back(i * k - j); bools[k].push_back(j);
      }
    }
    tree.Fill();
  }
  tree.Write();
}
"""


def write_shapes_file(path: Path, first: int = 0, n_events: int = 200) -> Path:
    """Events numbered from `first`, 50 in a lumi."""
    call_root(write, str(path), first, n_events)
    return path


def write(path: str, first: int, n_events: int) -> None:
    import ROOT

    declare(_CODE)
    ROOT.write_shapes(path, first, n_events)


_COMPARE = """
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>

int differing_values(TTree& tree, const char* one, const char* other) {
  int n = 0;
  for (Long64_t entry = 0; entry < tree.GetEntries(); ++entry) {
    tree.GetEntry(entry);
    TLeaf& a = *tree.GetLeaf(one);
    TLeaf& b = *tree.GetLeaf(other);
    n += a.GetLen() != b.GetLen();
    for (int i = 0; i < a.GetLen(); ++i) { n += a.GetValue(i) != b.GetValue(i); }
  }
  return n;
}

template <typename T>
int differing_objects(TTree& tree, const char* one, const char* other) {
  T* a = nullptr;
  T* b = nullptr;
  tree.SetBranchAddress(one, &a);
  tree.SetBranchAddress(other, &b);
  int n = 0;
  for (Long64_t entry = 0; entry < tree.GetEntries(); ++entry) {
    tree.GetEntry(entry);
    n += *a != *b;
  }
  tree.ResetBranchAddresses();
  return n;
}

int differing_texts(TTree& tree, const char* one, const char* other) {
  char a[400];
  std::string* b = nullptr;
  tree.SetBranchAddress(one, a);
  tree.SetBranchAddress(other, &b);
  int n = 0;
  for (Long64_t entry = 0; entry < tree.GetEntries(); ++entry) {
    tree.GetEntry(entry);
    n += *b != a;
  }
  tree.ResetBranchAddresses();
  return n;
}
"""
_COMPARED_AS = {
    "letters": "differing_texts",
    "text": "differing_objects<std::string>",
    "texts": "differing_objects<std::vector<std::string>>",
    "floats": "differing_objects<std::vector<std::vector<float>>>",
}
_WITHOUT_DICTIONARY = ("ints", "bools")
"""ROOT itself has no compiled code for these, so that a program needs a dictionary to read them."""


def differing(path: Path, copies: Mapping[str, str]) -> dict[str, int]:
    """`copies`: by name of a branch, the one of SHAPES that it is a copy of. By name, as far as
    ROOT can read them without a dictionary, entries that it reads differently from the two."""
    found: dict[str, int] = call_root(differing_in_root, str(path), dict(copies), anew=True)
    return found


def differing_in_root(path: str, copies: Mapping[str, str]) -> dict[str, int]:
    import ROOT

    declare(_COMPARE)
    calls = {
        copy: f'{_COMPARED_AS.get(name, "differing_values")}(*tree, "{name}", "{copy}")'
        for copy, name in copies.items()
        if name not in _WITHOUT_DICTIONARY
    }
    listed = ", ".join(calls.values())
    declare(
        f"""std::vector<int> all_differing() {{
          TFile file("{path}");
          auto* tree = file.Get<TTree>("Events");
          return {{{listed}}};
        }}"""
    )
    return {copy: int(n) for copy, n in zip(calls, ROOT.all_differing(), strict=True)}
