"""The warm-up job: a small job that the parent runs with the code of children. Code, look-up tables
and caches needed at a child's first units then exist already, and are shared. Python adapts running
code in place, and stops after some repetitions."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from forkrun import _core
from forkrun.child.assignment import Assignment
from forkrun.child.hand_out import HandOut
from forkrun.child.loop import process_units
from forkrun.child.work import SharedState, Work
from forkrun.conditions import prefetch_conditions
from forkrun.conditions.guard import ConditionGuard
from forkrun.config.model import JobConfig
from forkrun.config.read import validate
from forkrun.errors import OutputError
from forkrun.index.model import FileIndex
from forkrun.monitoring.timeline import Timeline
from forkrun.plan.make import make_plan
from forkrun.plan.model import Plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.opening import make_folders
from forkrun.rundir.unit_files import UnitFiles
from forkrun.schedule.build import build_schedule
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.job_modules import ScheduleInput
from forkrun.schedule.job_schedule import Job, processor_settings

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule

# Columns of every kind, so that children find the code for each.
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
_OF_LIBRARY = {"awkward": ("Select", "Make", "Sum"), "hist": ("Fill",)}
_N_EVENTS = 4  # in as many lumis
_N_REPETITIONS = 3
_MEMORY = Path("/dev/shm")  # where writing to disk costs nothing
_PREFIX = "forkrun-warm-up-"
_OLD_S = 10  # by then its parent holds a lock, or has ended


def run_warm_up_job(users: Sequence[PythonModule] = ()) -> None:
    """Runs the warm-up job several times, with Python modules if the job itself has some, `users`.
    They use the libraries imported so far, or named by the code of `users`. Starts no thread and
    leaves nothing open. Does nothing where no file can be written: children then load everything
    themselves."""
    with contextlib.suppress(OSError, OutputError):
        place = _MEMORY if os.access(_MEMORY, os.W_OK) else Path(tempfile.gettempdir())
        _remove_old(place)
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=place) as folder, _locked(folder):
            _run(Path(folder), _modules_like(users) if users else [])


def _modules_like(users: Sequence[PythonModule]) -> list[str]:
    """Names of modules that do what any Python module does, and of those that use the same
    libraries as `users`."""
    used = sys.modules.keys() | {name for user in users for name in user.names()}
    return ["Plain", *(m for library, its in _OF_LIBRARY.items() if library in used for m in its)]


@contextlib.contextmanager
def _locked(folder: str | Path) -> Iterator[None]:
    """Locks a folder, at most while this process lives. Raises BlockingIOError if locked."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(fd)


def _remove_old(place: Path) -> None:
    """Removes files of killed parents."""
    for folder in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or in use, or already gone
            if time.time() - folder.stat().st_mtime > _OLD_S:
                with _locked(folder):
                    shutil.rmtree(folder)


def _run(folder: Path, modules: Sequence[str]) -> None:
    file = folder / "input.root"
    _write(file)
    work = _prepare(_config(file, modules), RunDirectory(folder / "run"))
    with contextlib.closing(work.timeline):
        for _ in range(_N_REPETITIONS):
            hand_out = _all_of(work.job.plan)
            again = replace(work, shared=replace(work.shared, hand_out=hand_out))
            process_units(again, 0, Assignment())


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
    columns["luminosityBlock"] = np.arange(_N_EVENTS, dtype=np.uint32)
    writer.write(columns)
    writer.close()


def _config(file: Path, modules: Sequence[str]) -> JobConfig:
    home = "python:forkrun.parent.warm_up.modules"
    job = {
        "source": {"files": [str(file)]},
        "forking": {"children": 1, "distribution": "lumi"},
        "threads": {"executor": "serial"},
        "modules": [{"label": name, "type": f"{home}:{name}"} for name in modules],
        "paths": {"path": [m for m in modules if m != "Make"]} if modules else {},
        "outputs": [{"label": "output", "compression": "zstd:1"}],
    }
    return validate(job, "the warm-up job")


def _prepare(config: JobConfig, folder: RunDirectory) -> Work:
    make_folders(folder)
    (file,) = config.source.files
    index = _core.index_tree(path=file, file_number=0, **config.source.ids._asdict())
    files = [FileIndex.from_json(file, index)]
    plan = make_plan(config, files)
    conditions = prefetch_conditions([], config.prefetch, plan.units, 1, quiet=True)
    branches = InputBranches.of(files)
    schedule = build_schedule(ScheduleInput(config, branches, conditions, plan.units))
    guard = ConditionGuard([], config.memory.check_conditions)
    guard.remember(schedule.modules)
    job, shared = (
        Job(config, plan, schedule),
        SharedState.of(_all_of(plan), 0, np.zeros(len(plan.units), np.bool_)),
    )
    unit_files = UnitFiles(folder, config.outputs)
    timeline, settings = Timeline(folder.path), processor_settings(config)
    return Work(job, shared, unit_files, guard, timeline, settings)


def _all_of(plan: Plan) -> HandOut:
    return HandOut(plan, np.ones(len(plan.units), dtype=bool))
