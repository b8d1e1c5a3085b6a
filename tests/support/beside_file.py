"""Files with events and something else beside them, written by ROOT in a process of its own."""

from __future__ import annotations

from typing import Any

from tests.server.root_program import declare

EVENTS = """
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TMap.h>
#include <TObjString.h>
void write_events_beside(const char* path, int first, bool has_late_branch) {
  TFile file(path, "recreate");
  TTree tree("Events", "");
  UInt_t run = 1, lumi = 1; ULong64_t event = 0; Float_t x = 0;
  tree.Branch("run", &run, "run/i");
  tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l");
  tree.Branch("x", &x, "x/F");
  for (int e = first; e < first + 10; ++e) {
    event = e; x = e;
    tree.Fill();
  }
  if (has_late_branch) {
    tree.Branch("late", &x, "late/F");
    tree.Fill();
  }
  tree.Write();
}
void write_map(const char* value) {
  TObjString key("key"), text(value);
  TMap values;
  values.Add(&key, &text);
  values.Write("map", TObject::kSingleKey);
}
void add_rntuple(const char* path, const char* name) {
  std::unique_ptr<TFile> file{TFile::Open(path, "UPDATE")};
  auto model = ROOT::RNTupleModel::Create();
  auto x = model->MakeField<float>("x");
  {
    auto writer = ROOT::RNTupleWriter::Append(std::move(model), name, *file);
    *x = 1;
    writer->Fill();
  }
}"""


def write_beside(path: str, first: int, beside: dict[str, Any]) -> None:
    """Ten events, and `late`: a branch that begins with the last of eleven; `tag`: a TObjString;
    `bins`: of a histogram; `map`: a TMap with this value; `rntuple`: of this name; `runs`: names of
    the branches of a second tree."""
    import ROOT

    declare(EVENTS)
    ROOT.write_events_beside(path, first, bool(beside.get("late")))
    file = ROOT.TFile(path, "update")
    if "tag" in beside:
        ROOT.TObjString(beside["tag"]).Write("tag")
    if "map" in beside:
        ROOT.write_map(beside["map"])
    if "bins" in beside:
        histogram = ROOT.TH1D("h", "", *beside["bins"])
        histogram.Fill(first + 0.5)
        histogram.Write()
    if "runs" in beside:
        tree = ROOT.TTree("Runs", "")
        import array

        values = {name: array.array("f", [len(name)]) for name in beside["runs"]}
        for name, value in values.items():
            tree.Branch(name, value, f"{name}/F")
        tree.Fill()
        tree.Write()
    file.Close()
    if "rntuple" in beside:
        ROOT.add_rntuple(path, beside["rntuple"])


def write_rntuple(path: str, name: str) -> None:
    """A file with nothing but an RNTuple."""
    import ROOT

    declare(EVENTS)
    ROOT.TFile(path, "recreate").Close()
    ROOT.add_rntuple(path, name)


def write_counts(path: str, first: int, kind: str) -> None:
    """Ten events with lists of 0 to 2 values, whose counter is `nJet/KIND`."""
    import ROOT

    declare("""
void write_counts(const char* path, int first, const char* leaf) {
  TFile file(path, "recreate"); TTree tree("Events", "");
  UInt_t run = 1, lumi = 1; ULong64_t event; UInt_t n; Float_t pt[5];
  tree.Branch("run", &run, "run/i"); tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l"); tree.Branch("nJet", &n, leaf);
  tree.Branch("Jet_pt", pt, "Jet_pt[nJet]/F");
  for (int e = 0; e < 10; ++e) {
    event = first + e; n = e % 3;
    for (int k = 0; k < 3; ++k) pt[k] = first + e + k;
    tree.Fill();
  }
  tree.Write();
}""")
    ROOT.write_counts(path, first, f"nJet/{kind}")
