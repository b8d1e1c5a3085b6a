"""Trees whose branches were filled one by one, as Gaudi fills its `Refs`; by ROOT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.server.root_program import call_root, declare

_WRITE = """
void write_alone(const char* path, const int* lengths, int first, bool by_entry) {
  TFile file(path, "recreate");
  TTree tree("Refs", "");
  std::string text;
  Int_t number;
  Int_t n;
  Float_t x[4];
  tree.Branch("Params", &text);
  tree.Branch("number", &number, "number/I");
  tree.Branch("n", &n, "n/I");
  tree.Branch("x", x, "x[n]/F");
  for (int i = 0; i < lengths[0]; ++i) {
    text = "text " + std::to_string(first + i);
    tree.GetBranch("Params")->Fill();
  }
  for (int i = 0; i < lengths[1]; ++i) {
    number = first + i;
    tree.GetBranch("number")->Fill();
  }
  for (int i = 0; i < lengths[2]; ++i) {
    n = i % 4;
    for (int k = 0; k < n; ++k) { x[k] = first + k; }
    tree.GetBranch("n")->Fill();
    tree.GetBranch("x")->Fill();
  }
  if (by_entry) { tree.SetEntries(lengths[0]); }
  tree.Write();
  TTree events("Events", "");
  Int_t e;
  events.Branch("e", &e, "e/I");
  for (e = 0; e < 3; ++e) { events.Fill(); }
  events.Write();
}"""


def write_alone(path: str, lengths: Sequence[int], first: int, by_entry: bool = False) -> None:
    """`lengths`: entries of the branch of texts, of numbers, of lists; `by_entry`: the tree has as
    many as the first."""
    call_root(_write, path, list(lengths), first, by_entry)


def _write(path: str, lengths: list[int], first: int, by_entry: bool) -> None:
    from array import array

    import ROOT

    declare(_WRITE)
    ROOT.write_alone(path, array("i", lengths), first, by_entry)


def merged_by_root(path: str) -> Any:
    """What ROOT reads, branch by branch, of the numbers."""
    return call_root(_read, path)


def _read(path: str) -> list[int]:
    import ROOT

    file = ROOT.TFile.Open(path)
    tree = file.Get("Refs")
    found = []
    branch = tree.GetBranch("number")
    for entry in range(branch.GetEntries()):
        branch.GetEntry(entry)
        found.append(int(branch.GetLeaf("number").GetValue()))
    return found
