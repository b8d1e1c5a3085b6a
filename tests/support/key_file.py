"""Files in which keys are not what they seem: other names than those of their objects, many cycles,
folders and objects of one name. Written by ROOT, in a process of its own."""

from __future__ import annotations

from typing import Any

from tests.server.root_program import declare

TREES = """
#include <TKey.h>
#include <TObjString.h>
TTree* events_tree(const char* own_name, int first, int n, int sign) {
  auto tree = new TTree(own_name, "");
  UInt_t run = 1, lumi = 1; ULong64_t event = 0; Float_t x = 0; std::vector<float> v;
  tree->Branch("run", &run, "run/i");
  tree->Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree->Branch("event", &event, "event/l");
  tree->Branch("x", &x, "x/F");
  tree->Branch("v", &v);
  for (int e = first; e < first + n; ++e) {
    event = e; x = sign * e; v.assign(e % 3, x);
    tree->Fill();
  }
  tree->ResetBranchAddresses();
  return tree;
}
void write_as(TDirectory* folder, const char* key, const char* own_name, int first, int n,
              int sign) {
  folder->cd();
  auto tree = events_tree(own_name, first, n, sign);
  tree->Write(key);
  delete tree;
}
void write_cycles(const char* path, int n_cycles, int n_kept) {
  TFile file(path, "recreate");
  auto tree = events_tree("Events", 0, 1, 1);
  for (int cycle = 0; cycle < n_cycles; ++cycle) {
    if (cycle >= n_cycles - 8) {
      UInt_t run = 1, lumi = 1; ULong64_t event = tree->GetEntries(); Float_t x = event;
      std::vector<float> v(event % 3, x), *to_v = &v;
      tree->SetBranchAddress("run", &run);
      tree->SetBranchAddress("luminosityBlock", &lumi);
      tree->SetBranchAddress("event", &event);
      tree->SetBranchAddress("x", &x);
      tree->SetBranchAddress("v", &to_v);
      tree->Fill();
      tree->ResetBranchAddresses();
    }
    file.WriteTObject(tree, "Events");
    auto keys = file.GetListOfKeys();
    if (keys->GetSize() > n_kept) {
      auto key = (TKey*)keys->Last();
      key->Delete(); keys->Remove(key); delete key;
    }
  }
  file.Close();
}"""
ODD_NAMES = ("d e", "st*r", "q?", "col:on", "a/b", "c;3", "e;f")


def write_named_trees(path: str, first: int, keys: list[str]) -> None:
    """Trees of ten events with these keys, all called "tree" within; every second one counts down.
    And a histogram, which another reader than ours has to take."""
    import ROOT

    declare(TREES)
    file = ROOT.TFile(path, "recreate")
    for number, key in enumerate(keys):
        ROOT.write_as(file, key, "tree", first, 10, -1 if number % 2 else 1)
    file.cd()
    histogram = ROOT.TH1F("own", "", 3, 0, 3)
    histogram.Fill(1)
    histogram.Write("key of h")
    ROOT.TNamed("own", "a title").Write("key of named")
    file.Close()


def write_one_name(path: str, first: int) -> None:
    """A folder "Events", with a histogram and a tree, and a tree "Events"."""
    import ROOT

    declare(TREES)
    file = ROOT.TFile(path, "recreate")
    folder = file.mkdir("Events")
    folder.cd()
    histogram = ROOT.TH1F("h", "", 3, 0, 3)
    histogram.Fill(1)
    histogram.Write()
    ROOT.write_as(folder, "inner", "inner", first, 2, 1)
    ROOT.write_as(file, "Events", "Events", first, 10, 1)
    file.Close()


def write_folders(path: str, names: list[str]) -> None:
    """Folders "config/NAME" with a histogram and a tree each."""
    import ROOT

    declare(TREES)
    file = ROOT.TFile(path, "recreate")
    config = file.mkdir("config")
    for name in names:
        folder = config.mkdir(name, f"title of {name}")
        folder.cd()
        histogram = ROOT.TH1F("h", "", 3, 0, 3)
        histogram.Fill(1)
        histogram.Write()
        ROOT.write_as(folder, "t", "t", 0, 3, 1)
    file.Close()


def write_cycles(path: str, n_cycles: int, n_kept: int) -> None:
    """A tree that was written so many times, the last ones kept: eight entries more at the end."""
    import ROOT

    declare(TREES)
    ROOT.write_cycles(path, n_cycles, n_kept)


def seen_by_root(path: str) -> list[list[Any]]:
    """Key, class, name within, and of a tree the sum of x, of each key of the top folder."""
    import ROOT

    file = ROOT.TFile.Open(path)
    found = []
    for key in file.GetListOfKeys():
        thing = key.ReadObj()
        is_tree = thing.InheritsFrom("TTree") and thing.GetBranch("x")
        n = thing.Draw("x", "", "goff") if is_tree else 0
        total = sum(thing.GetV1()[i] for i in range(n)) if is_tree else None
        found.append([key.GetName(), key.GetClassName(), thing.GetName(), total])
    return found


def entries_by_get(path: str, name: str) -> int:
    """Entries of what `TFile::Get` gives."""
    import ROOT

    file = ROOT.TFile.Open(path)
    return int(file.Get(name).GetEntries())
