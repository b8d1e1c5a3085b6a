"""Files with lists whose lengths are told by counters of every type, and what ROOT reads of files.
Each is used in a process of its own: PyROOT changes the one that it is in."""

from __future__ import annotations

from typing import Any

from tests.server.root_program import declare

TYPES = {
    "B": "Char_t", "b": "UChar_t", "S": "Short_t", "s": "UShort_t", "I": "Int_t", "i": "UInt_t",
    "L": "Long64_t", "l": "ULong64_t", "G": "Long_t", "g": "ULong_t",
}  # fmt: skip
"""C++ types by the letter of a leaf."""
WRITE = """
template <typename N> void write_counted(TTree& tree, int most, const char* kind, bool in_list) {
  UInt_t run = 1, lumi = 1;
  static ULong64_t event = 0;
  struct { N n = 0, m = 0; } counts;
  Float_t x[500];
  Double_t y[500][2];
  const TString leaf = kind;
  tree.Branch("run", &run, "run/i");
  tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l");
  if (in_list) {
    tree.Branch("counts", &counts, "n/" + leaf + ":m/" + leaf);
  } else {
    tree.Branch("n", &counts.n, "n/" + leaf);
    tree.Branch("m", &counts.m, "m/" + leaf);
  }
  tree.Branch("x", x, "x[n]/F");
  tree.Branch("y", y, "y[m][2]/D");
  for (int entry = 0; entry < 10; ++entry) {
    event = most * 100 + entry;
    counts.n = entry == 8 ? most : entry % 3;
    counts.m = entry == 6 ? most - 1 : entry % 2;
    for (int k = 0; k < 500; ++k) {
      x[k] = entry + k;
      y[k][0] = -k;
      y[k][1] = entry * k;
    }
    tree.Fill();
  }
}
"""


def write(files: list[tuple[str, str, int, bool]]) -> None:
    """Each with a path, the letter of its counters, and whether these are in a list of leaves: ten
    events, with lists of at most so many values x and one fewer of y."""
    import ROOT

    declare(WRITE)
    for path, kind, most, in_list in files:
        file = ROOT.TFile(path, "RECREATE")
        tree = ROOT.TTree("Events", "")
        ROOT.write_counted[TYPES[kind]](tree, most, kind, in_list)
        tree.Write()
        file.Close()


def entries(paths: list[str]) -> list[list[Any]]:
    """Of each file, and each of its entries: the event's number, and all values of x and of y, by
    TTree::GetEntry."""
    import ROOT

    return [_entries(ROOT.TFile.Open(path)) for path in paths]


def _entries(file: Any) -> list[Any]:
    tree, found = file.Get("Events"), []
    for entry in range(tree.GetEntries()):
        tree.GetEntry(entry)
        values = []
        for name in ("x", "y"):
            leaf = tree.GetLeaf(name)
            values.append([leaf.GetValue(i) for i in range(leaf.GetLen())])
        found.append([int(tree.GetLeaf("event").GetValue()), *values])
    return found


def sums_of_x(paths: list[str]) -> list[float]:
    """Over all entries of each file, by RDataFrame."""
    import ROOT

    return [ROOT.RDataFrame("Events", path).Sum("x").GetValue() for path in paths]


ROUNDED = """
void write_rounded(const char* path) {
  TFile file(path, "RECREATE");
  TTree tree("Events", "");
  Float16_t half, halves[3];
  Double32_t single, in_range;
  Int_t n, event;
  Double32_t list[10];
  tree.Branch("event", &event, "event/I");
  tree.Branch("half", &half, "half/f");
  tree.Branch("halves", halves, "halves[3]/f[0,100,12]");
  tree.Branch("single", &single, "single/d");
  tree.Branch("in_range", &in_range, "in_range/d[0,100,16]");
  tree.Branch("n", &n, "n/I");
  tree.Branch("list", list, "list[n]/d");
  for (event = 0; event < 10; ++event) {
    half = single = in_range = event;
    n = event % 4;
    for (int k = 0; k < 10; ++k) list[k] = event + 0.25 * k;
    for (int k = 0; k < 3; ++k) halves[k] = event + k;
    tree.Fill();
  }
  tree.Write();
}
"""


def write_rounded(path: str) -> None:
    """Ten events with numbers of Float16_t and Double32_t, in lists and arrays as well."""
    import ROOT

    declare(ROUNDED)
    ROOT.write_rounded(path)


def rounded(paths: list[str]) -> list[list[Any]]:
    """All values of each entry of such files."""
    import ROOT

    names = ("event", "half", "halves", "single", "in_range", "list")
    found = []
    for path in paths:
        file = ROOT.TFile.Open(path)
        tree, entries = file.Get("Events"), []
        for entry in range(tree.GetEntries()):
            tree.GetEntry(entry)
            leaves = [tree.GetLeaf(name) for name in names]
            entries.append([[leaf.GetValue(i) for i in range(leaf.GetLen())] for leaf in leaves])
        found.append(entries)
    return found
