"""A job in miniature, done in the parent: what every child would load, look up and fill at its
first event is then there, and shared."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from forkrun import _core

# Of every kind. ROOT numbers the classes of leaves in the order of their first use and writes them
# in that order; so it must be the same for all jobs.
_COLUMNS = [
    ("run", "uint32"),
    ("luminosityBlock", "uint32"),
    ("event", "uint64"),
    ("Muon_pt", "float32[]"),
    ("Muon_charge", "int32[]"),
    ("MET_pt", "float32"),
    ("MET_sum", "float64"),
    ("MET_n", "int64"),
    ("PV_n", "int32"),
    ("PV_type", "int16"),
    ("PV_sort", "uint16"),
    ("Flag_a", "int8"),
    ("Flag_b", "uint8"),
    ("HLT_Mu", "bool"),
]
_N_EVENTS = 4


def warm_up(with_python: bool) -> None:
    """Loads ROOT's libraries, dictionaries and interpreter, and writes, reads and writes a small
    file; `with_python`: with modules that use Awkward Arrays and histograms as users do. Starts no
    thread and leaves nothing open."""
    _core.warm_up()
    with tempfile.TemporaryDirectory(prefix="forkrun-warm-up-") as folder:
        file = Path(folder, "input.root")
        _write(file)
        _process(file, Path(folder, "output.root"), with_python)


def _write(file: Path) -> None:
    writer = _core.TreeWriter(str(file), "Events", _COLUMNS, "zstd:1")
    offsets = np.array([0, 2, 3, 3, 6], dtype=np.int64)
    columns: dict[str, Any] = {
        name: (offsets, np.arange(6, dtype=kind.removesuffix("[]")))
        if kind.endswith("[]")
        else np.ones(_N_EVENTS, dtype=kind)
        for name, kind in _COLUMNS
    }
    columns["event"] = np.arange(_N_EVENTS, dtype=np.uint64)
    writer.write(columns)
    writer.close()


def _process(file: Path, output: Path, with_python: bool) -> None:
    builder = _core.ScheduleBuilder(_COLUMNS)
    if with_python:
        _add_modules(builder)
    branches = [*(name for name, _ in _COLUMNS), "nMuon"]
    builder.add_output("output", [], branches, [], "zstd:1", "Events")
    ids = ("run", "luminosityBlock", "event")
    source = _core.TreeSource([str(file)], "Events", *ids, _COLUMNS, [[0, _N_EVENTS]])
    processor = _core.Processor(builder.compile(), source, "serial", 1, 1, 0)
    processor.process(0, 1, 1, [(0, 0, _N_EVENTS)], {"output": str(output)})
    processor.finish()


def _add_modules(builder: _core.ScheduleBuilder) -> None:
    """One of each kind."""
    from forkrun.modules import PythonModule
    from forkrun.sharing.warm_up_modules import MODULES

    for kind in MODULES:
        module = PythonModule(kind())
        builder.add_python_module(
            module.kind, module.kind, module, module.consumes, module.produces
        )
    builder.add_path("path", ["filter", "analyzer"])
