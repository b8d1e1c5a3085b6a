"""What ROOT itself makes of histograms, and reads in files."""

from __future__ import annotations

from array import array
from typing import Any

from tests.server.root_program import call_root


def ask_root(request: dict[str, Any]) -> Any:
    """`file`: to be read; or `kind` ("TProfile", …), to be filled, with `axes` [n, low, high] and
    `fills`: coordinates, what a profile takes the mean of, and a weight, if any. Gives a
    description of each histogram, by name."""
    return call_root(_read, request["file"]) if "file" in request else call_root(_make, request)


def _describe(h: Any) -> dict[str, Any]:
    cells = range(h.GetNcells())
    axes = [h.GetXaxis(), h.GetYaxis(), h.GetZaxis()][: h.GetDimension()]
    moments = array("d", [0.0] * 20)
    h.GetStats(moments)
    labels = [a.GetLabels() for a in axes]
    return {
        "class": h.ClassName(),
        "title": h.GetTitle(),
        "values": [h.GetBinContent(i) for i in cells],
        "errors": [h.GetBinError(i) for i in cells],
        "entries": h.GetEntries(),
        "bin_entries": [h.GetBinEntries(i) for i in cells] if "Profile" in h.ClassName() else [],
        "n_sumw2": h.GetSumw2N(),
        "moments": list(moments)[:13],
        "axes": [[a.GetNbins(), a.GetXmin(), a.GetXmax(), a.GetTitle()] for a in axes],
        "has_equal_bins": [not a.IsVariableBinSize() for a in axes],
        "edges": [[a.GetBinLowEdge(i) for i in range(1, a.GetNbins() + 2)] for a in axes],
        "labels": [
            [a.GetBinLabel(i) for i in range(1, a.GetNbins() + 1)] if of else None
            for a, of in zip(axes, labels, strict=True)
        ],
    }


def _read(file: str) -> dict[str, Any]:
    import ROOT

    opened = ROOT.TFile.Open(file)
    found = {}
    folders = [("", opened)]
    while folders:
        path, folder = folders.pop()
        for key in folder.GetListOfKeys():
            item = key.ReadObj()
            if item.InheritsFrom("TDirectory"):
                folders.append((f"{path}{key.GetName()}/", item))
            else:
                found[f"{path}{key.GetName()}"] = _describe(item)
    opened.Close()
    return found


def _make(request: dict[str, Any]) -> dict[str, Any]:
    import ROOT

    arguments = [x for n, low, high in request["axes"] for x in (int(n), float(low), float(high))]
    histogram = getattr(ROOT, request["kind"])("h", "", *arguments)
    for fill in request["fills"]:
        histogram.Fill(*map(float, fill))
    return {"h": _describe(histogram)}
