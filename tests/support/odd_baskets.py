"""Files whose baskets are not as usual, written by ROOT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.root_program import call_root, declare

N_EVENTS = 1000
_WRITE = """
#include <ROOT/TIOFeatures.hxx>
void add_ids(TTree& tree, UInt_t& run, UInt_t& lumi, ULong64_t& event) {
  tree.Branch("run", &run, "run/i");
  tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l");
}
void without_offsets(const char* path, int n_events) {
  TFile file(path, "recreate");
  TTree tree("Events", "");
  ROOT::TIOFeatures features;
  features.Set("kGenerateOffsetMap");
  tree.SetIOFeatures(features);
  UInt_t run = 1, lumi = 1;
  ULong64_t event;
  add_ids(tree, run, lumi, event);
  UInt_t n;
  Float_t pt[4], xy[4][2];
  tree.Branch("nJet", &n, "nJet/i");
  tree.Branch("Jet_pt", pt, "Jet_pt[nJet]/F", 1000);
  tree.Branch("Jet_xy", xy, "Jet_xy[nJet][2]/F", 1000);
  for (int e = 0; e < n_events; ++e) {
    event = e;
    n = e % 5;
    for (int k = 0; k < n; ++k) { pt[k] = 10 * e + k; xy[k][0] = e; xy[k][1] = k; }
    tree.Fill();
  }
  tree.Write();
}
void renamed(const char* path) {
  const auto temporary = TString(path) + ".before";
  {
    TFile file(temporary, "recreate");
    TTree tree("Events", "");
    UInt_t run = 1, lumi = 1;
    ULong64_t event;
    add_ids(tree, run, lumi, event);
    Float_t x, y;
    tree.Branch("pt", &x, "pt/F", 512);
    tree.Branch("pt_corr", &y, "pt_corr/F", 512);
    for (int e = 0; e < 1000; ++e) { event = e; x = e; y = -e; tree.Fill(); }
    tree.Write();
  }
  TFile before(temporary);
  auto tree = before.Get<TTree>("Events");
  TFile file(path, "recreate");
  auto copy = tree->CloneTree(-1, "fast");
  auto pt = copy->GetBranch("pt");
  auto corrected = copy->GetBranch("pt_corr");
  pt->SetName("pt_raw");
  pt->GetLeaf("pt")->SetName("pt_raw");
  corrected->SetName("pt");
  corrected->GetLeaf("pt_corr")->SetName("pt");
  copy->Write();
}
struct Places : TBranch {
  static void set(TBranch& branch, Long64_t place) { (branch.*(&Places::fBasketSeek))[0] = place; }
};
void within_the_tree(const char* path, int n_events) {
  TFile file(path, "recreate");
  TTree tree("Events", "");
  tree.SetAutoFlush(0);
  UInt_t run = 1, lumi = 1;
  ULong64_t event;
  add_ids(tree, run, lumi, event);
  Float_t x;
  TNamed named("", "title");
  std::vector<float> pt;
  tree.Branch("x", &x, "x/F");
  tree.Branch("named", &named);
  tree.Branch("pt", &pt);
  for (int e = 0; e < n_events; ++e) {
    event = e; x = e; named.SetName(Form("n%d", e)); pt.assign(e % 3, e);
    tree.Fill();
  }
  for (auto leaf : *tree.GetListOfLeaves())
    Places::set(*static_cast<TLeaf*>(leaf)->GetBranch(), 123456789);
  file.WriteTObject(&tree);
  tree.SetDirectory(nullptr);
}
void in_another_file(const char* path, const char* other, int n_events) {
  TFile file(path, "recreate");
  TTree tree("Events", "");
  UInt_t run = 1, lumi = 1;
  ULong64_t event;
  add_ids(tree, run, lumi, event);
  Float_t y;
  tree.Branch("y", &y, "y/F")->SetFile(other);
  for (int e = 0; e < n_events; ++e) { event = e; y = -e; tree.Fill(); }
  tree.Write();
}"""


def write_without_offsets(path: Path, n_events: int = N_EVENTS) -> Path:
    """Event n has n % 5 jets of 10 n + k GeV at (n, k), k the jet's number."""
    call_root(write, "without_offsets", str(path), n_events)
    return path


def write_renamed(path: Path) -> Path:
    """pt_raw is n, pt is -n: baskets of pt_raw say that they are of pt."""
    call_root(write, "renamed", str(path))
    return path


def write_within_the_tree(path: Path, n_events: int) -> Path:
    """Events of few bytes, in the tree's own record, of whose baskets it names other places."""
    call_root(write, "within_the_tree", str(path), n_events)
    return path


def write_in_another_file(path: Path, other: str, n_events: int = N_EVENTS) -> Path:
    """The baskets of y are in the file `other`."""
    call_root(write, "in_another_file", str(path), str(path.parent / other), n_events)
    return path


def write(function: str, *arguments: str | int) -> None:
    import ROOT

    declare(_WRITE)
    getattr(ROOT, function)(*arguments)


def jets_of(path: Path) -> list[list[float]]:
    """Jet_pt as ROOT reads it: uproot cannot where several baskets lack offsets."""
    jets: list[list[float]] = call_root(read_jets, str(path))
    return jets


def read_jets(path: str) -> Any:
    import ROOT

    file = ROOT.TFile(path)
    return [list(event.Jet_pt) for event in file.Get("Events")]
