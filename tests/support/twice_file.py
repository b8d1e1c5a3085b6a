"""A file whose trees have several branches of one name, as Delphes writes them; written by ROOT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import uproot

from tests.server.root_program import call_root, declare

N_EVENTS = 60
_WRITE = """
void write_twice(const char* path, int first, int n_more) {
  TFile file(path, "recreate");
  for (auto name : {"Events", "Runs"}) {
    TTree tree(name, "");
    UInt_t run = 1, lumi = 1, n = 0, m = 0;
    ULong64_t event = 0;
    Float_t x[3], one[4], other[4];
    std::vector<std::string> texts[2];
    TClonesArray clones[2] = {{"TVector3"}, {"TVector3"}};
    TClonesArray* points[2] = {&clones[0], &clones[1]};
    TNamed named[2];
    TNamed* objects[2] = {&named[0], &named[1]};
    tree.Branch("run", &run, "run/i");
    tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
    tree.Branch("event", &event, "event/l");
    tree.Branch("nA", &n, "nA/i");
    tree.Branch("nB", &m, "nB/i");
    for (int i = 0; i < 1 + n_more; ++i) tree.Branch("x", &x[i], "x/F", 256);
    tree.Branch("list", one, "list[nA]/F", 256);
    tree.Branch("list", other, "list[nB]/F", 256);
    for (int i = 0; i < 2; ++i) {
      tree.Branch("texts", &texts[i], 256);
      tree.Branch("points", &points[i], 256);
      tree.Branch("object", &objects[i], 256);
      tree.BranchOld("old", "TNamed", &objects[i], 256, 0);
    }
    for (int e = 0; e < 60; ++e) {
      event = first + e;
      n = e % 4;
      m = (e + 2) % 3;
      for (int i = 0; i < 3; ++i) x[i] = 1000 * i + e;
      for (int k = 0; k < 4; ++k) { one[k] = 10 * e + k; other[k] = -10 * e - k; }
      for (int i = 0; i < 2; ++i) {
        texts[i].assign((e + i) % 3, std::string(1, 'a' + i));
        clones[i].Clear();
        for (int k = 0; k < (e + i) % 3; ++k) new (clones[i][k]) TVector3(e, i, k);
        named[i].SetNameTitle(TString::Format("%d", e), TString::Format("%d", i));
      }
      tree.Fill();
    }
    tree.Write();
  }
}"""
_READ = """
std::vector<std::string> values_of(const char* path, const char* name) {
  TFile file(path);
  auto tree = file.Get<TTree>(name);
  std::vector<std::string> all;
  std::vector<TNamed*> named(100, nullptr);
  int n = 0;
  for (auto branch : *tree->GetListOfBranches()) {
    if (branch->IsA() == TBranchObject::Class()) {
      static_cast<TBranch*>(branch)->SetAddress(&named[n++]);
    }
  }
  for (int entry = 0; entry < tree->GetEntries(); ++entry) {
    n = 0;
    for (auto object : *tree->GetListOfBranches()) {
      auto* branch = static_cast<TBranch*>(object);
      std::string text = branch->GetName();
      if (branch->IsA() == TBranch::Class() || branch->IsA() == TBranchObject::Class()) {
        branch->GetEntry(entry, 1);
        text += ":";
      }
      if (branch->IsA() == TBranchObject::Class()) {
        text += std::string{named[n]->GetName()} + " " + named[n]->GetTitle();
        ++n;
      } else if (branch->IsA() == TBranch::Class()) {
        if (auto* counter = static_cast<TLeaf*>(branch->GetListOfLeaves()->At(0))->GetLeafCount()) {
          counter->GetBranch()->GetEntry(entry, 1);
        }
        auto& leaf = static_cast<TLeaf&>(*branch->GetListOfLeaves()->At(0));
        for (int k = 0; k < leaf.GetLen(); ++k) {
          text += TString::Format("%g ", leaf.GetValue(k)).Data();
        }
      }
      all.push_back(text);
    }
  }
  return all;
}"""


def write_twice(path: Path, first: int = 0, n_more: int = 1) -> Path:
    """60 events of one lumi: `x` once and `n_more` times more, jagged columns, texts and objects
    twice, each with values of its own; the same in `Runs`."""
    call_root(write, str(path), first, n_more)
    return path


def write(path: str, first: int, n_more: int) -> None:
    import ROOT

    declare(_WRITE)
    ROOT.write_twice(path, first, n_more)


def entries_of(path: Path, tree: str = "Events") -> list[list[str]]:
    """What there is in all branches, by entry, in the order of the branches: ROOT reads numbers and
    TBranchObjects, uproot all others."""
    entries: list[list[str]] = call_root(read, str(path), tree)
    with uproot.open(path) as opened:
        for number, branch in enumerate(opened[tree].branches):
            if entries and ":" not in entries[0][number]:
                for entry, value in zip(entries, _values(branch), strict=True):
                    entry[number] += f":{value}"
    return entries


def _values(branch: Any) -> list[Any]:
    within = [each.array().tolist() for each in branch.branches if each.name[-5:] != "fBits"]
    return list(zip(*within, strict=True)) if within else branch.array().tolist()


def read(path: str, tree: str) -> Any:
    import ROOT

    declare(_READ)
    file = ROOT.TFile(path)
    n_branches = len(file.Get(tree).GetListOfBranches())
    file.Close()
    values = [str(text) for text in ROOT.values_of(path, tree)]
    return [values[i : i + n_branches] for i in range(0, len(values), n_branches)]
