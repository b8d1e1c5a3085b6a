"""The same analysis three times: twenty quantities of jets and their histograms, two of which
depend on a column that is varied. `python analysis.py WAY FILE N_VARIATIONS FOLDER` writes means
of a histogram that varies, by variation, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

N_QUANTITIES, N_VARIED = 20, 2
BINS = (100, 0.0, 2000.0)


def column(number: int) -> str:
    """The column on which a quantity depends."""
    return "Jet_mass" if number < N_VARIED else "Jet_pt"


def factors(n_variations: int) -> dict[str, float]:
    return {f"v{i}": 1 + 0.01 * (i + 1) for i in range(n_variations)}


def with_forkrun(file: str, n_variations: int, folder: Path) -> list[float]:
    import forkrun

    job = forkrun.Job(file, name="variations")
    if n_variations:
        scaled = {name: f"Jet_mass * {f}" for name, f in factors(n_variations).items()}
        job.vary("Jet_mass", "scale", **scaled)
    for i in range(N_QUANTITIES):
        job.define(f"q{i}", f"sum(sqrt({column(i)}**2 + {i}) * abs(cos(Jet_phi)))")
        job.hist(f"q{i}", BINS, name=f"h{i}")
    result = job.run(children=1, output=folder / "run", force=True, quiet=True, plots=False)
    return means(result.histograms["h0"].values())


def with_rdataframe(file: str, n_variations: int, folder: Path) -> list[float]:
    import ROOT

    frame = ROOT.RDataFrame("Events", file)
    if n_variations:
        tags = list(factors(n_variations))
        scaled = ", ".join(f"Jet_mass * {f}f" for f in factors(n_variations).values())
        expression = f"ROOT::RVec<ROOT::RVecF>{{{scaled}}}"
        frame = frame.Vary("Jet_mass", expression, tags, "scale")
    filled = []
    for i in range(N_QUANTITIES):
        terms = f"sqrt({column(i)}*{column(i)} + {i}.f) * abs(cos(Jet_phi))"
        frame = frame.Define(f"q{i}", f"(float) Sum({terms})")
        histogram = frame.Histo1D((f"h{i}", "", *BINS), f"q{i}")
        is_varied = n_variations and i < N_VARIED
        vary = ROOT.RDF.Experimental.VariationsFor
        filled.append(vary(histogram) if is_varied else histogram)
    first = filled[0]
    if not n_variations:
        return means(_contents(first))
    names = ["nominal", *(f"scale:{tag}" for tag in factors(n_variations))]
    return [mean for name in names for mean in means(_contents(first[name]))]


def _contents(histogram: Any) -> list[float]:
    return [histogram.GetBinContent(number) for number in range(1, BINS[0] + 1)]


def with_loop(file: str, n_variations: int, folder: Path) -> list[float]:
    import awkward as ak
    import hist
    import numpy as np
    import uproot

    shifts = {"nominal": 1.0, **factors(n_variations)}
    axes = [hist.axis.Regular(*BINS), hist.axis.StrCategory(list(shifts))]
    filled = [hist.Hist(*axes) for _ in range(N_QUANTITIES)]
    names = ["Jet_mass", "Jet_pt", "Jet_phi"]
    for events in uproot.iterate(f"{file}:Events", names, step_size=100_000):
        for variation, factor in shifts.items():
            columns = {"Jet_mass": events.Jet_mass * factor, "Jet_pt": events.Jet_pt}
            for i, histogram in enumerate(filled):
                terms = np.sqrt(columns[column(i)] ** 2 + i) * abs(np.cos(events.Jet_phi))
                histogram.fill(ak.to_numpy(ak.sum(terms, axis=1)), variation)
    return means(filled[0].values())


def means(values: Any) -> list[float]:
    """By variation. `values`: (n_bins, n_variations), or (n_bins,)."""
    import numpy as np

    n_bins, low, high = BINS
    centers = low + (np.arange(n_bins) + 0.5) * (high - low) / n_bins
    table = np.asarray(values).reshape(n_bins, -1)
    return (centers @ table / table.sum(axis=0)).tolist()  # type: ignore[no-any-return]


if __name__ == "__main__":
    ways = {"forkrun": with_forkrun, "rdataframe": with_rdataframe, "loop": with_loop}
    way, given, number, where = sys.argv[1:]
    found = ways[way](given, int(number), Path(where))
    (Path(where) / f"{way}-{number}.json").write_text(json.dumps(found))
