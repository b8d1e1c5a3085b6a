"""Writes samples of a linear collider as LCIO files."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forkrun import _core
from forkrun.base.durable import published
from forkrun.errors import ConfigError
from forkrun.studies.sample.collider.detector import (
    ENERGY_GEV,
    Collection,
    collections_of,
    particles_of,
)
from forkrun.studies.sample.collider.encoding import block, parameters, record, text
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import sample_parts

_AT_A_TIME = 100
_FIRST_TIME_NS = 1_700_000_000_000_000_000
_DETECTOR = "SampleDetector"
_OF_TREES = ("lumis_per_run", "n_branches", "drift", "peak", "cluster", "compression")


def write_collider_sample(
    path: Path, settings: SampleSettings, progress: Callable[[int], None] | None = None
) -> list[Path]:
    """Writes the files and returns their paths, like `write_sample`. Raises ConfigError."""
    _refuse_what_trees_have(settings)
    parts = sample_parts(path, settings)
    for file, (first, last) in parts.items():
        with published(file) as temporary:
            writer = _core.LcioWriter(str(temporary))
            numbers = np.arange(first, last)
            runs = 1 + numbers * settings.n_runs // max(settings.n_events, 1)
            for run in dict.fromkeys(runs.tolist()):
                _write_run(writer, settings, run, numbers[runs == run], progress)
            writer.close()
    return list(parts)


def _refuse_what_trees_have(settings: SampleSettings) -> None:
    default = SampleSettings()
    said = [name for name in _OF_TREES if getattr(settings, name) != getattr(default, name)]
    if said:
        raise ConfigError(
            f"samples of LCIO have events, runs, files and a seed; leave out"
            f" {', '.join(name.removeprefix('n_').removesuffix('_per_run') for name in said)}"
        )


def _write_run(
    writer: _core.LcioWriter,
    settings: SampleSettings,
    run: int,
    numbers: npt.NDArray[np.int64],
    progress: Callable[[int], None] | None,
) -> None:
    content = struct.pack(">i", run) + text(_DETECTOR) + text("e+e- at 250 GeV, by forkrun sample")
    content += struct.pack(">i", 2) + text("Tracker") + text("Calorimeter")
    content += parameters({"Energy_GeV": [ENERGY_GEV], "Generator": ["forkrun sample"]})
    writer.add_run(run, record("LCRunHeader", block("RunHeader", content)))
    for number, records in _events(settings, run, numbers):
        writer.add_event(run, number, records)
        if progress:
            progress(number + 1)


def _events(
    settings: SampleSettings, run: int, numbers: npt.NDArray[np.int64]
) -> Iterator[tuple[int, bytes]]:
    """Yields number and records of each event. Each hundred events have their own seed."""
    for hundred in np.unique(numbers // _AT_A_TIME).tolist():
        random = np.random.default_rng([settings.seed, hundred])
        particles = particles_of(_AT_A_TIME, random)
        made = collections_of(particles, _AT_A_TIME, random)
        parts = [each.objects.of_events(_AT_A_TIME) for each in made]
        names = struct.pack(">i", len(made)) + b"".join(text(c.name) + text(c.kind) for c in made)
        thrust = random.uniform(0.6, 1, _AT_A_TIME)
        for number in numbers[numbers // _AT_A_TIME == hundred].tolist():
            at = number % _AT_A_TIME
            head = struct.pack(">iiq", run, number, _FIRST_TIME_NS + number * 1_000_000)
            head += text(_DETECTOR) + names + parameters({"Thrust": [float(thrust[at])]})
            data = b"".join(_block(c, *part[at]) for c, part in zip(made, parts, strict=True))
            header = record("LCEventHeader", block("EventHeader", head), is_compressed=True)
            yield number, header + record("LCEvent", data, is_compressed=True)


def _block(of: Collection, n: int, objects: bytes) -> bytes:
    content = struct.pack(">I", of.flag) + parameters(of.values)
    return block(of.name, content + struct.pack(">i", n) + objects)
