"""Files with objects that ROOT can merge, and what they hold, seen by ROOT. Each is used in a
process of its own: PyROOT changes the one that it is in."""

from __future__ import annotations

import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.server.root_program import call_root, declare

GRAPHS = ("TGraph", "TGraphErrors", "TGraphAsymmErrors", "TGraphBentErrors", "TCutG")
SPARSE = ("THnSparseD", "THnSparseF", "THnSparseI", "THnD", "THnF", "THnI")
HISTOGRAMS = {"TH1": "SIFD", "TH2": "FD", "TH3": "FD"}
COLLECTIONS = """
void write_collections(TDirectory* folder, int number) {
  TRandom3 random(number + 1);
  const auto filled = [&](const char* name) {
    auto histogram = new TH1D(name, name, 10, 0, 1);
    histogram->SetDirectory(nullptr);
    for (int i = 0; i < 30; ++i) histogram->Fill(random.Rndm());
    return histogram;
  };
  TList list;
  list.Add(filled("a"));
  list.Add(filled("b"));
  folder->WriteTObject(&list, "TList", "SingleKey");
  THStack stack("THStack", "t");
  stack.Add(filled("c"));
  folder->WriteTObject(&stack);
  TH2Poly poly("TH2Poly", "t", 0, 1, 0, 1);
  poly.SetDirectory(nullptr);
  poly.AddBin(0, 0, 0.5, 0.5);
  poly.AddBin(0.5, 0.5, 1, 1);
  for (int i = 0; i < 30; ++i) poly.Fill(random.Rndm(), random.Rndm());
  folder->WriteTObject(&poly);
}"""
"""In C++: PyROOT cannot add bins to a TH2Poly, nor write a list that owns what it holds."""
MODES = {"max": "M", "min": "m", "product": "*", "sum": "+", "first": "f", "last": "l"}


def write_objects(path: Path, number: int) -> str:
    """Each file's contents depend on its number."""
    call_root(write, str(path), number, anew=True)  # the second call in a process crashes
    return str(path)


def hadd(output: Path, inputs: Sequence[str]) -> None:
    """ROOT's own merge, file after file, as the command `hadd` does it."""
    call_root(merge_by_root, str(output), list(inputs))


def contents(path: Path) -> dict[str, Any]:
    """Class and numbers of each object, by path."""
    found: dict[str, Any] = call_root(show, str(path))
    return found


def write(path: str, number: int) -> None:
    import ROOT

    file = ROOT.TFile(path, "RECREATE")
    folder = file.mkdir("folder", "its title")
    file.mkdir("empty", "nothing in it")
    random = ROOT.TRandom3(1 + number)
    made = [*_histograms(ROOT, random, number), *_graphs(ROOT, number), *_others(ROOT, number)]
    for thing in made:
        folder.WriteTObject(thing, thing.GetName())
    declare(COLLECTIONS)
    ROOT.write_collections(folder, number)
    folder.cd()
    tree = ROOT.TNtuple("ntuple", "t", "a:b")
    for i in range(5):
        tree.Fill(i, number)
    tree.Write()
    file.Close()


def write_named(path: str, texts: dict[str, str]) -> None:
    import ROOT

    file = ROOT.TFile(path, "RECREATE")
    folder = file.mkdir("folder")
    for name, text in texts.items():
        folder.WriteTObject(ROOT.TNamed(name, text), name)
    file.Close()


def write_branches(path: str) -> None:
    """300 events of run 1, lumi 1, with branches of objects, split and whole, in small baskets."""
    import ROOT

    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("Events", "t")
    ids = {"run": array.array("I", [1]), "luminosityBlock": array.array("I", [1])}
    event = array.array("Q", [0])
    for name, value in ids.items():
        tree.Branch(name, value, f"{name}/i")
    tree.Branch("event", event, "event/l")
    vector = ROOT.std.vector
    objects = {
        "AuxDyn.pt": vector("float")(),
        "AuxDyn.nested": vector("std::vector<int>")(),
        "AuxDyn.deep": vector("std::vector<std::vector<float>>")(),
        "text": ROOT.std.string(),
        "texts": vector("std::string")(),
    }
    for name, value in objects.items():
        tree.Branch(name, value)
    momentum, momenta = ROOT.TLorentzVector(), vector("TLorentzVector")()
    clones = ROOT.TClonesArray("TLorentzVector", 5)
    for split in (0, 1, 99):
        tree.Branch(f"one{split}.", momentum, 32000, split)
        tree.Branch(f"many{split}", momenta, 32000, split)
    tree.Branch("clones", clones, 32000, 99)
    for branch in tree.GetListOfBranches():
        branch.SetBasketSize(900)
    for i in range(300):
        event[0] = i
        _fill_objects(ROOT, objects, i)
        momentum.SetPxPyPzE(i, 1, 2, 3)
        momenta.clear()
        clones.Clear("C")
        for j in range(i % 4):
            momenta.push_back(ROOT.TLorentzVector(i, j, 2, 3))
            clones.ConstructedAt(j).SetPxPyPzE(i, j, 4, 5)
        tree.Fill()
    tree.Write()
    file.Close()


def _fill_objects(root: Any, objects: dict[str, Any], i: int) -> None:
    for name, value in objects.items():
        if name != "text":
            value.clear()
    objects["text"].assign(f"event {i}")
    for j in range(i % 3):
        objects["AuxDyn.pt"].push_back(i + j)
        objects["AuxDyn.nested"].push_back(root.std.vector("int")([i, j]))
        inner = root.std.vector("std::vector<float>")()
        inner.push_back(root.std.vector("float")([i, j]))
        objects["AuxDyn.deep"].push_back(inner)
        objects["texts"].push_back(f"{i} {j}")


def write_histogram(path: str, low: float) -> None:
    import ROOT

    file = ROOT.TFile(path, "RECREATE")
    histogram = ROOT.TH1D("h", "t", 10, low, 1)
    histogram.Fill(0.5)
    histogram.Write()
    file.Close()


def lose_entries(output: str) -> None:
    """A tree of 400 entries, of which one branch has 200."""
    import ROOT

    file = ROOT.TFile(output, "RECREATE")
    tree = ROOT.TTree("Events", "t")
    x, y = array.array("i", [0]), array.array("i", [0])
    tree.Branch("x", x, "x/I")
    short = tree.Branch("y", y, "y/I")
    for i in range(400):
        x[0] = y[0] = i
        tree.GetBranch("x").Fill()
        if i < 200:
            short.Fill()
    tree.SetEntries(400)
    tree.Write()
    file.Close()


def _histograms(root: Any, random: Any, number: int) -> list[Any]:
    import numpy as np

    made = []
    for kind, letters in HISTOGRAMS.items():
        dimension = int(kind[-1])
        for letter in letters:
            axes = [5, 0.0, 1.0] * dimension
            histogram = getattr(root, kind + letter)(f"{kind}{letter}", "t", *axes)
            for _ in range(50):
                histogram.Fill(*[random.Rndm() for _ in range(dimension)])
            made.append(histogram)
    for name in SPARSE:
        bins = np.array([4, 5, 6], dtype=np.int32)
        sparse = getattr(root, name)(name, "t", 3, bins, np.zeros(3), np.ones(3))
        for _ in range(50):
            sparse.Fill(np.array([random.Rndm() for _ in range(3)]))
        made.append(sparse)
    for name, dimension in (("TProfile", 1), ("TProfile2D", 2), ("TProfile3D", 3)):
        profile = getattr(root, name)(name, "t", *([5, 0.0, 1.0] * dimension))
        for _ in range(50):
            profile.Fill(*[random.Rndm() for _ in range(dimension + 1)])
        made.append(profile)
    aligned = root.TH1D("aligned", "t", 10 * (1 + number), 0, 1 + number)
    labels = root.TH1D("labels", "t", 1, 0, 1)
    labels.SetCanExtend(root.TH1.kAllAxes)
    for i in range(3):
        aligned.Fill(random.Rndm())
        labels.Fill(f"L{i + number}", 1.0)
    labels.LabelsDeflate()
    return [*made, aligned, labels]


def _graphs(root: Any, number: int) -> list[Any]:
    n = 10 + number
    x, half = array.array("d", range(n)), array.array("d", [0.5] * n)
    arguments = {"TGraphErrors": 2, "TGraphAsymmErrors": 4, "TGraphBentErrors": 8}
    made = []
    for name in GRAPHS:
        if name == "TCutG":
            made.append(root.TCutG("TCutG", n, x, x))
            continue
        graph = getattr(root, name)(n, x, x, *[half] * arguments.get(name, 0))
        graph.SetName(name)
        made.append(graph)
    return made


def _others(root: Any, number: int) -> list[Any]:
    efficiency = root.TEfficiency("TEfficiency", "t", 10, 0, 1)
    statistic = root.TStatistic("TStatistic")
    entries, events = root.TEntryList("TEntryList", "t"), root.TEventList("TEventList", "t")
    for i in range(60):
        efficiency.Fill(i % 3 == 0, 0.05 + i % 10 / 10)
        statistic.Fill(i + number)
        entries.Enter(i + 60 * number)
        events.Enter(i + 60 * number)
    parameters = [
        root.TParameter["double"](f"TParameter_{name}", number + 2.0, mode)
        for name, mode in MODES.items()
    ]
    return [efficiency, statistic, entries, events, *parameters, root.TNamed("same", "text")]


def merge_by_root(output: str, inputs: list[str]) -> None:
    import ROOT

    merger = ROOT.TFileMerger(False, False)
    merger.SetPrintLevel(0)
    merger.OutputFile(output, "RECREATE")
    for file in inputs:
        merger.AddFile(file, False)
    if not merger.Merge():
        raise SystemExit("ROOT cannot merge these files")


def show(path: str) -> dict[str, Any]:
    import ROOT

    file = ROOT.TFile(path)
    found: dict[str, Any] = {}
    _show_folder(file, "", found)
    return found


def _show_folder(folder: Any, prefix: str, found: dict[str, Any]) -> None:
    for key in folder.GetListOfKeys():
        path = prefix + key.GetName()
        thing = key.ReadObj()
        if thing.InheritsFrom("TDirectory"):
            found[path + "/"] = [thing.GetTitle()]
            _show_folder(thing, path + "/", found)
        else:
            found[path] = [key.GetClassName(), *_numbers(thing)]


def _numbers(thing: Any) -> list[Any]:
    if thing.InheritsFrom("TList"):
        return [_numbers(held) for held in thing]
    if thing.InheritsFrom("THStack"):
        return [_numbers(held) for held in thing.GetHists()]
    if thing.InheritsFrom("TH2Poly"):
        return [thing.GetEntries(), *[thing.GetBinContent(i) for i in range(-9, 3)]]
    if thing.InheritsFrom("TGraph"):
        return [[thing.GetX()[i], thing.GetY()[i]] for i in range(thing.GetN())]
    if thing.InheritsFrom("TEfficiency"):
        both = thing.GetTotalHistogram(), thing.GetPassedHistogram()
        return [h.GetBinContent(i) for h in both for i in range(12)]
    if thing.InheritsFrom("THnBase"):
        return [thing.GetEntries(), thing.ComputeIntegral() if thing.GetEntries() else 0]
    if thing.InheritsFrom("TH1"):
        bins = [thing.GetBinContent(i) for i in range(thing.GetNcells())]
        return [thing.GetEntries(), *bins]
    if thing.ClassName().startswith("TParameter"):
        return [thing.GetVal()]
    if thing.ClassName() == "TStatistic":
        return [thing.GetN(), thing.GetMean()]
    if hasattr(thing, "GetEntries"):
        return [thing.GetEntries()]
    return [thing.GetN()] if hasattr(thing, "GetN") else [thing.GetTitle()]
