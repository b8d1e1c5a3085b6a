"""Samples as ROOT files; their events, cluster by cluster, are a pure function of the settings."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.durable import published
from forkrun.errors import ConfigError
from forkrun.studies.sample.objects import (
    Z_FRACTION,
    Array,
    Column,
    Objects,
    fat_jet_columns,
    jet_columns,
    lepton_columns,
    make_hadronic,
    make_leptons,
    photon_columns,
    reduced,
)
from forkrun.studies.sample.settings import FIRST_RUN, SampleSettings

# Mix of a real file with 1500 branches: of ten, about five trigger bits, four jagged, one scalar.
PATTERN = ("HLT", "Jet", "HLT", "Muon", "HLT", "Electron", "HLT", "scalar", "HLT", "FatJet")


class Branch(NamedTuple):
    """An additional branch: its name and its kind."""

    name: str
    kind: str


def n_counters(columns: dict[str, Column]) -> int:
    """Number of counter branches ("nMuon") that the writer makes for these columns."""
    return len(
        {name.partition("_")[0] for name, value in columns.items() if isinstance(value, tuple)}
    )


def further_branches(n: int) -> list[Branch]:
    """Names n branches: `HLT_Path001`, `Jet_extra001`, `Extra_001`."""
    branches, counts = [], dict.fromkeys(PATTERN, 0)
    for i in range(n):
        kind = PATTERN[i % len(PATTERN)]
        counts[kind] += 1
        form = {"HLT": "HLT_Path{:04d}_v1", "scalar": "Extra_value{:04d}"}
        branches.append(Branch(form.get(kind, kind + "_extra{:04d}").format(counts[kind]), kind))
    return branches


def pad(rng: np.random.Generator, columns: dict[str, Column], n_branches: int) -> dict[str, Column]:
    """Adds columns until the tree has `n_branches`, counters included."""
    n_here = len(columns) + n_counters(columns)
    if n_branches < n_here:
        raise ConfigError(f"--branches {n_branches}: the sample has at least {n_here}")
    more = {
        branch.name: _padding_column(rng, columns, branch)
        for branch in further_branches(n_branches - n_here)
    }
    return {**columns, **more}


def _padding_column(rng: np.random.Generator, columns: dict[str, Column], branch: Branch) -> Column:
    """Values of a branch; its type, and for a trigger its rate, depend on the branch's name
    only."""
    n_events, key = len(columns["event"]), zlib.crc32(branch.name.encode()) / 2**32
    if branch.kind == "HLT":
        return rng.random(n_events, np.float32) < 0.5 * key**4
    if branch.kind == "scalar":
        return reduced(rng.standard_normal(n_events, np.float32))
    offsets, like = columns[f"{branch.kind}_pt"]
    return np.asarray(offsets), _padding_values(rng, len(like), key)


def _padding_values(rng: np.random.Generator, n: int, key: float) -> Array:
    """Values: mostly floats, some small integers and flags."""
    if key < 0.7:
        return reduced(rng.standard_exponential(n, np.float32))
    if key < 0.85:
        return rng.integers(-1, 8, n, dtype=np.int32)
    return rng.random(n, np.float32) < 0.7


PEAK_LENGTH = 0.05


def clusters(settings: SampleSettings, first: int, last: int) -> Iterator[dict[str, Column]]:
    """Yields clusters of the events [first, last) of the sample. A cluster is a function of the
    seed and the number of its first event."""
    for start in range(first, last, settings.cluster):
        yield make_cluster(settings, start, min(start + settings.cluster, last))


def make_cluster(settings: SampleSettings, first: int, last: int) -> dict[str, Column]:
    """Columns of the events [first, last), in the order of the tree's branches: values for scalars,
    (offsets, values) for jagged columns."""
    rng = np.random.default_rng([settings.seed, first])
    number = np.arange(first, last)
    size = event_sizes(settings, number)
    kind = rng.random(number.size)
    to_muons = np.flatnonzero(kind < Z_FRACTION["Muon"])
    to_electrons = np.flatnonzero(kind > 1 - Z_FRACTION["Electron"])
    muons = make_leptons(rng, to_muons, size, "Muon")
    jets = make_hadronic(rng, size, 5.0, 15.0, 3.2, 2.0)
    columns: dict[str, Column] = {
        **ids(settings, number),
        **lepton_columns(rng, "Muon", muons),
        **lepton_columns(rng, "Electron", make_leptons(rng, to_electrons, size, "Electron")),
        **jet_columns(rng, jets),
        **fat_jet_columns(rng, make_hadronic(rng, size, 0.3, 170.0, 4.5, 1.2)),
        **photon_columns(rng, make_hadronic(rng, size, 0.8, 10.0, 3.0, 1.4)),
        **_whole_event(rng, size, jets),
        "genWeight": gen_weights(settings, number),
        **_triggers(rng, muons, jets),
    }
    return pad(rng, columns, settings.n_branches)


def ids(settings: SampleSettings, number: npt.NDArray[np.int64]) -> dict[str, Array]:
    """Run, lumi and event of the events with these positions in the sample."""
    lumi = number * settings.n_lumis // max(settings.n_events, 1)
    return {
        "run": (FIRST_RUN + lumi // settings.lumis_per_run).astype(np.uint32),
        "luminosityBlock": (1 + lumi % settings.lumis_per_run).astype(np.uint32),
        "event": (1 + number).astype(np.uint64),
        "bunchCrossing": (1 + (number * 2_654_435_761) % 3564).astype(np.int32),
    }


def event_sizes(settings: SampleSettings, number: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """(n,) relative sizes: 1 without drift and peak."""
    x = number / max(settings.n_events - 1, 1)
    return (1 + settings.drift * x) * (1 + (settings.peak - 1) * np.exp(-x / PEAK_LENGTH))


def gen_weights(settings: SampleSettings, number: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """(n,) generator weights: +-w, 15 % negative, by a hash of the event's number: the Runs tree
    can sum them without the events."""
    seed = settings.seed * 0x9E3779B97F4A7C15 % (1 << 64)
    x = (number.astype(np.uint64) + np.uint64(seed)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
    negative = (x >> np.uint64(40)) % np.uint64(100) < np.uint64(15)
    return np.where(negative, np.float32(-26_331.5), np.float32(26_331.5)).astype(np.float32)


def _whole_event(rng: np.random.Generator, size: Array, jets: Objects) -> dict[str, Any]:
    n = size.size
    sum_et = 400 * size + np.bincount(jets.event, jets.momenta.pt, n)
    x, y = rng.normal(0.0, 0.6 * np.sqrt(sum_et)), rng.normal(0.0, 0.6 * np.sqrt(sum_et))
    vertices = rng.poisson(32 * size).astype(np.int32)
    scalars = {
        "MET_pt": np.hypot(x, y),
        "MET_phi": np.arctan2(y, x),
        "MET_sumEt": sum_et,
        "MET_significance": (x**2 + y**2) / (0.36 * sum_et),
        "PV_x": rng.normal(0.1, 0.002, n),
        "PV_y": rng.normal(-0.02, 0.002, n),
        "PV_z": rng.normal(0.0, 3.5, n),
        "PV_ndof": rng.gamma(8.0, 12.0, n),
        "PV_chi2": rng.gamma(50.0, 0.02, n),
        "Pileup_nTrueInt": rng.normal(32, 2, n) * size,
        "Generator_x1": rng.beta(0.6, 10, n),
        "Generator_x2": rng.beta(0.6, 10, n),
        "Generator_scalePDF": rng.gamma(20.0, 4.6, n),
        "fixedGridRhoFastjetAll": rng.gamma(25.0, 0.9, n) * size,
    }  # fmt: skip
    partons = np.array([-4, -3, -2, -1, 1, 2, 3, 4, 21], np.int32)
    return {
        **{name: reduced(values) for name, values in scalars.items()},
        "PV_npvs": vertices,
        "PV_npvsGood": rng.binomial(vertices, 0.8).astype(np.int32),
        "Generator_id1": rng.choice(partons, n),
        "Generator_id2": rng.choice(partons, n),
    }


def _triggers(rng: np.random.Generator, muons: Objects, jets: Objects) -> dict[str, Array]:
    n = muons.offsets.size - 1
    lead_muon, lead_jet = (_largest_pt(objects, n) for objects in (muons, jets))
    n_muons = np.diff(muons.offsets)
    fired = rng.random((4, n)) < 0.93
    return {
        "HLT_IsoMu24": (lead_muon > 24) & fired[0],
        "HLT_IsoMu27": (lead_muon > 27) & fired[1],
        "HLT_Mu17_TrkIsoVVL_Mu8_TrkIsoVVL_DZ": (lead_muon > 17) & (n_muons > 1) & fired[2],
        "HLT_PFJet450": (lead_jet > 450) & fired[3],
    }


def _largest_pt(objects: Objects, n: int) -> npt.NDArray[np.float64]:
    """(n,) pt of the first object of each event, 0 without objects."""
    lead = np.zeros(n)
    has = np.diff(objects.offsets) > 0
    lead[has] = objects.momenta.pt[objects.offsets[:-1][has]]
    return lead


def write_sample(
    path: Path, settings: SampleSettings, progress: Callable[[int], None] | None = None
) -> list[Path]:
    """Writes the sample's files and returns their paths: `path`, or, for several files,
    `STEM_0.root`, `STEM_1.root`, … in the same folder. `progress` gets the number of events written
    so far. Only one cluster is in memory at a time; a file gets its name when complete."""
    columns = column_types(settings)
    parts = sample_parts(path, settings)
    for file, (first, last) in parts.items():
        with published(file) as temporary:
            _write_events(temporary, settings, columns, first, last, progress)
            _write_runs(temporary, settings, first, last)
    return list(parts)


def sample_parts(path: Path, settings: SampleSettings) -> dict[Path, tuple[int, int]]:
    """First event of each file and the one after its last; names are padded for sorting."""
    n_files, width = settings.n_files, len(str(settings.n_files - 1))
    names = [f"{path.stem}_{i:0{width}d}{path.suffix}" for i in range(n_files)]
    bounds = pairwise(settings.n_events * i // n_files for i in range(n_files + 1))
    return dict(zip(map(path.with_name, names) if n_files > 1 else [path], bounds, strict=True))


def column_types(settings: SampleSettings) -> list[tuple[str, str]]:
    """Name and type ("float32[]") of each column of the Events tree, without counters."""
    return [(name, _type(column)) for name, column in make_cluster(settings, 0, 0).items()]


def _type(column: Column) -> str:
    return f"{column[1].dtype}[]" if isinstance(column, tuple) else str(column.dtype)


def _write_events(
    path: Path,
    settings: SampleSettings,
    columns: list[tuple[str, str]],
    first: int,
    last: int,
    progress: Callable[[int], None] | None,
) -> None:
    writer = _core.TreeWriter(str(path), "Events", columns, settings.compression, "Events")
    done = first
    for cluster in clusters(settings, first, last):
        writer.write(cluster)
        done += len(cluster["event"])
        if progress:
            progress(done)
    writer.close()


def _write_runs(path: Path, settings: SampleSettings, first: int, last: int) -> None:
    """Writes `Runs`, with the sums of generator weights of this file's events, and
    `LuminosityBlocks`."""
    runs, lumis = run_sums(settings, first, last), lumis_of(settings, first, last)
    for tree, values in (("Runs", runs), ("LuminosityBlocks", lumis)):
        types = [(name, str(column.dtype)) for name, column in values.items()]
        writer = _core.TreeWriter(
            str(path), tree, types, settings.compression, tree, append_tree=True
        )
        writer.write(values)
        writer.close()


def run_sums(settings: SampleSettings, first: int, last: int) -> dict[str, Array]:
    """Columns with one row per run: number of events, sums of weights and of their squares."""
    number = np.arange(first, last)
    weights = gen_weights(settings, number).astype(np.float64)
    runs, index = np.unique(ids(settings, number)["run"], return_inverse=True)
    return {
        "run": runs,
        "genEventCount": np.bincount(index, minlength=runs.size).astype(np.int64),
        "genEventSumw": np.bincount(index, weights, runs.size),
        "genEventSumw2": np.bincount(index, weights**2, runs.size),
    }


def lumis_of(settings: SampleSettings, first: int, last: int) -> dict[str, Array]:
    """Columns with one row per lumi with events in [first, last)."""
    found = ids(settings, np.arange(first, last))
    pairs = np.unique(np.stack([found["run"], found["luminosityBlock"]]), axis=1)
    return {"run": pairs[0], "luminosityBlock": pairs[1]}
