"""Templates of fits: histograms by dataset and variation, as arrays, for pyhf and cabinetry
(HistFactory's JSON) and for Combine (a datacard and a ROOT file)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.base.durable import write_user_file
from forkrun.base.nearest import suggestion
from forkrun.base.quantities import plural
from forkrun.errors import ConfigError
from forkrun.histograms.finished import AXIS as DATASET
from forkrun.histograms.finished import VARIATION

NOMINAL = "nominal"
Values = npt.NDArray[np.float64]


class Sample(Struct, frozen=True):
    """Content of one dataset. `values`, `variances`: (n_bins,), or (n_x, n_y), of sums of weights;
    `varied`: values by systematic variation. `name`: "" in a job without datasets."""

    name: str
    is_data: bool
    values: Values
    variances: Values
    varied: Mapping[str, Values] = {}


class Band(Struct, frozen=True):
    """Values of all simulation, and their uncertainty downwards and upwards: statistical
    uncertainty and all variations, correlated between datasets, added in quadrature."""

    values: Values
    down: Values
    up: Values


def samples_of(
    histogram: Any, data: Collection[str] = (), *, overflow: bool = False
) -> list[Sample]:
    """Samples in the order of the datasets. `histogram`: hist.Hist, with or without axes of
    datasets and variations; `data`: names of datasets that are data; `overflow`: adds underflow and
    overflow to the first and last bins. Raises ConfigError for profiles, which have no sums."""
    if histogram.kind.name != "COUNT":
        raise ConfigError("a profile has means, no sums of weights; draw it with hist")
    names = [axis.name for axis in histogram.axes]
    datasets = _categories(histogram, DATASET) or [""]
    variations = _categories(histogram, VARIATION) or [NOMINAL]
    made = []
    for dataset in datasets:
        chosen = {DATASET: dataset} if DATASET in names else {}
        parts = {}
        for variation in variations:
            more = {VARIATION: variation} if VARIATION in names else {}
            parts[variation] = _part(histogram, {**chosen, **more}, overflow)
        values, variances = parts.pop(NOMINAL)
        varied = {name: part[0] for name, part in parts.items()}
        made.append(Sample(dataset, dataset in data, values, variances, varied))
    return made


def axes_of(histogram: Any) -> list[Any]:
    """Axes of the filled values: without those of datasets and variations."""
    return [axis for axis in histogram.axes if axis.name not in (DATASET, VARIATION)]


def total_of(samples: Iterable[Sample]) -> Band:
    """Sum of samples, with its uncertainty."""
    parts = list(samples)
    values = np.sum([each.values for each in parts], axis=0)
    down = up = np.sum([each.variances for each in parts], axis=0)
    for directions in sources_of(parts).values():
        shifts = [
            sum((each.varied.get(name, each.values) for each in parts), np.zeros_like(values))
            - values
            for name in directions
        ]
        up = up + np.max([np.zeros_like(values), *shifts], axis=0) ** 2
        down = down + np.min([np.zeros_like(values), *shifts], axis=0) ** 2
    return Band(values, np.sqrt(down), np.sqrt(up))


def sources_of(samples: Iterable[Sample]) -> dict[str, list[str]]:
    """Variations by source: {"jes": ["jes_up", "jes_down"]}."""
    sources: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for each in samples for name in each.varied):
        sources.setdefault(name.rpartition("_")[0] or name, []).append(name)
    return sources


def _categories(histogram: Any, name: str) -> list[str]:
    found = [axis for axis in histogram.axes if axis.name == name]
    return [str(category) for category in found[0]] if found else []


def _part(histogram: Any, chosen: Mapping[str, str], overflow: bool) -> tuple[Values, Values]:
    """Values and variances of one dataset and variation."""
    import hist

    part = histogram[{name: hist.loc(category) for name, category in chosen.items()}]
    values, variances = part.values(flow=overflow), part.variances(flow=overflow)
    variances = values if variances is None else variances
    if overflow:
        for dimension, axis in enumerate(part.axes):
            values, variances = (_gathered(v, dimension, axis) for v in (values, variances))
    return np.asarray(values, np.float64), np.asarray(variances, np.float64)


def _gathered(values: Values, dimension: int, axis: Any) -> Values:
    """Values with flow bins added to the bins next to them."""
    moved = np.moveaxis(np.array(values, np.float64), dimension, 0)
    if axis.traits.underflow:
        moved[1] += moved[0]
        moved = moved[1:]
    if axis.traits.overflow:
        moved[-2] += moved[-1]
        moved = moved[:-1]
    return np.moveaxis(moved, 0, dimension)


_POI = "mu"
"""Parameter of interest: strength of the signal."""


class Channel(Struct, frozen=True):
    """One histogram of one axis. `edges`: (n_bins + 1,); `observed`: (n_bins,) of data; without
    data, the sum of all simulation."""

    name: str
    edges: Values
    observed: Values
    processes: Sequence[Sample]


def channels_of(
    histograms: Mapping[str, Any], names: Sequence[str] | None, data: Collection[str]
) -> list[Channel]:
    """Channels with these names; None: all histograms of one axis. Raises ConfigError for unknown
    names, and without simulation."""
    for name in names or ():
        if name not in histograms:
            raise ConfigError(f'no histogram "{name}"{suggestion(name, histograms)}')
    chosen = names or [name for name, each in histograms.items() if len(axes_of(each)) == 1]
    if not chosen:
        raise ConfigError("templates: the run has no histogram of one axis")
    return [_channel(name, histograms[name], data) for name in chosen]


def _channel(name: str, histogram: Any, data: Collection[str]) -> Channel:
    axes = axes_of(histogram)
    if len(axes) != 1:
        raise ConfigError(
            f'templates: histogram "{name}" has {plural(len(axes), "axis")}; fits take one'
        )
    samples = samples_of(histogram, data)
    processes = [each for each in samples if not each.is_data]
    if not processes or not processes[0].name:
        raise ConfigError(f'templates: histogram "{name}" has no datasets of simulation')
    measured = [each for each in samples if each.is_data] or processes
    observed = np.sum([each.values for each in measured], axis=0)
    return Channel(name.replace("/", "_"), np.asarray(axes[0].edges), observed, processes)


def _varied(sample: Sample, directions: Sequence[str]) -> tuple[Values, Values] | None:
    """Up and down values of a source; a single direction is mirrored. None if the sample does not
    have it."""
    found = {name: sample.varied[name] for name in directions if name in sample.varied}
    down = next((values for name, values in found.items() if name.endswith("_down")), None)
    up = next((values for name, values in found.items() if not name.endswith("_down")), None)
    if up is None:
        return None if down is None else (2 * sample.values - down, down)
    return up, 2 * sample.values - up if down is None else down


def _check_signal(channels: Sequence[Channel], signal: str) -> None:
    known = [sample.name for sample in channels[0].processes]
    if signal not in known:
        raise ConfigError(f'templates: no simulated dataset "{signal}"{suggestion(signal, known)}')


def write_pyhf(file: Path, channels: Sequence[Channel], signal: str) -> None:
    """Writes a workspace: the strength `mu` of the signal is the parameter of interest; each source
    of variations is correlated everywhere, statistical uncertainties are independent for each
    bin."""
    _check_signal(channels, signal)
    workspace = {
        "channels": [
            {"name": c.name, "samples": [_pyhf_sample(c, each, signal) for each in c.processes]}
            for c in channels
        ],
        "observations": [{"name": c.name, "data": c.observed.tolist()} for c in channels],
        "measurements": [{"name": "fit", "config": {"poi": _POI, "parameters": []}}],
        "version": "1.0.0",
    }
    write_user_file(file, json.dumps(workspace, indent=1))


def _pyhf_sample(channel: Channel, sample: Sample, signal: str) -> dict[str, Any]:
    modifiers: list[dict[str, Any]] = [
        {"name": f"stat_{channel.name}", "type": "staterror",
         "data": np.sqrt(sample.variances).tolist()},
    ]  # fmt: skip
    if sample.name == signal:
        modifiers.append({"name": _POI, "type": "normfactor", "data": None})
    for source, directions in sources_of([sample]).items():
        if varied := _varied(sample, directions):
            up, down = (values.tolist() for values in varied)
            data = {"hi_data": up, "lo_data": down}
            modifiers.append({"name": source, "type": "histosys", "data": data})
    return {"name": sample.name, "data": sample.values.tolist(), "modifiers": modifiers}


def write_combine(folder: Path, channels: Sequence[Channel], signal: str) -> None:
    """`datacard.txt` and `shapes.root`, with CHANNEL/PROCESS, CHANNEL/PROCESS_SOURCEUp and Down,
    and CHANNEL/data_obs."""
    import uproot

    _check_signal(channels, signal)
    folder.mkdir(parents=True, exist_ok=True)
    with uproot.recreate(folder / "shapes.root") as file:
        for channel in channels:
            file[f"{channel.name}/data_obs"] = _stored(channel, channel.observed, channel.observed)
            for sample in channel.processes:
                place = f"{channel.name}/{sample.name}"
                file[place] = _stored(channel, sample.values, sample.variances)
                for source, directions in sources_of([sample]).items():
                    for end, values in zip(
                        ("Up", "Down"), _varied(sample, directions) or (), strict=False
                    ):
                        file[f"{place}_{source}{end}"] = _stored(channel, values, sample.variances)
    write_user_file(folder / "datacard.txt", _datacard(channels, signal))


def _stored(channel: Channel, values: Values, variances: Values) -> Any:
    import hist

    made = hist.Hist(hist.axis.Variable(channel.edges), storage=hist.storage.Weight())
    made.view().value, made.view().variance = values, variances
    return made


def _datacard(channels: Sequence[Channel], signal: str) -> str:
    """Text of the datacard: processes with the signal first, as number 0."""
    columns = [
        (c, sample)
        for c in channels
        for sample in sorted(c.processes, key=lambda each: each.name != signal)
    ]
    names = list(dict.fromkeys(s.name for _, s in columns if s.name != signal))
    numbers = {signal: 0, **{name: n for n, name in enumerate(names, start=1)}}
    sources = sources_of([sample for _, sample in columns])
    rows = [
        ["bin", *(c.name for c in channels)],
        ["observation", *(f"{c.observed.sum():.17g}" for c in channels)],
        [],
        ["bin", "", *(c.name for c, _ in columns)],
        ["process", "", *(s.name for _, s in columns)],
        ["process", "", *(str(numbers[s.name]) for _, s in columns)],
        ["rate", "", *(f"{s.values.sum():.17g}" for _, s in columns)],
        [],
        *(
            [source, "shape", *("1" if _varied(s, names) else "-" for _, s in columns)]
            for source, names in sources.items()
        ),
    ]
    head = f"imax {len(channels)}\njmax {len(numbers) - 1}\nkmax *\n"
    shapes = "shapes * * shapes.root $CHANNEL/$PROCESS $CHANNEL/$PROCESS_$SYSTEMATIC\n"
    return head + shapes + "\n".join(" ".join(row) for row in rows) + "\n* autoMCStats 10\n"
