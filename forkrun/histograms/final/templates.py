"""Templates of fits: histograms by dataset and variation for pyhf and cabinetry (HistFactory's
JSON) and for Combine (a datacard and a ROOT file)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from forkrun.base.durable import write_user_file
from forkrun.base.nearest import suggestion
from forkrun.base.quantities import plural
from forkrun.errors import ConfigError
from forkrun.histograms.final.samples import Sample, Values, axes_of, samples_of, sources_of

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
