"""A small job with everything in it, the commands that faults can meet, and the calls they make."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.support.jobs import (
    environment,
    forkrun,
    jets_job,
    lumi_by_lumi,
    running,
    sha256,
    write_job,
)

HERE = Path(__file__).resolve().parent
TIME_LIMIT_S = 120.0
KINDS = (
    "open", "read", "write", "seek", "sync", "rename", "map", "fork", "close", "mkdir", "unlink",
    "truncate",
)  # fmt: skip
_WHO = ("parent", "index", "forked", "child", "merge")
_PLACES = ("run", "fragment", "output", "input", "cache", "conditions", "-")
_MOST_FAULTS = 512  # as in inject.c
_SAMPLE = ("--events", 120, "--lumis", 3, "--runs", 1)

Calls = dict[tuple[str, str, str], int]
"""Number of calls by kind, process and place."""


@dataclass(frozen=True)
class Fault:
    """One entry of inject.c's plan. `place`: one of `_PLACES`, of which the fragment is that of the
    first unit; `n`: 0 is all from `first` on."""

    kind: str
    error: str
    who: str
    place: str
    first: int = 1
    n: int = 1

    def entry(self, paths: Mapping[str, Path]) -> str:
        path = paths.get(self.place, "-")
        return f"{self.kind},{self.error},{self.who},all,{self.first},{self.n},{path}"

    def __str__(self) -> str:
        return f"{self.kind}:{self.error}:{self.who}:{self.place}:{self.first}:{self.n}"

    @classmethod
    def parse(cls, text: str) -> Fault:
        kind, error, who, place, first, n = text.split(":")
        return cls(kind, error, who, place, int(first), int(n))


@dataclass(frozen=True)
class Station:
    """A command, and how it finds the run directory: as a copy of `base`, a folder of the bench,
    or not at all (""). `again`: what a person does if it fails."""

    arguments: tuple[str, ...]
    base: str
    again: tuple[str, ...]


def _run(children: int) -> tuple[str, ...]:
    return ("run", "job.json", "-o", "RUN", "--no-plots", "--children", str(children))


RESUME = ("resume", "RUN", "--no-plots")
STATIONS = {
    "run": Station(_run(2), "", _run(2)),
    "run-alone": Station(_run(0), "", _run(0)),
    "resume": Station(RESUME, "half", RESUME),
    "merge": Station(("merge", "RUN"), "unmerged", (*RESUME, "--set", "merge.enabled=true")),
    "report": Station(("report", "RUN", "--no-plots"), "whole", ("report", "RUN", "--no-plots")),
}


@dataclass(frozen=True)
class Ended:
    """How a command ended. `code`: None if it did not within the time; `injected`: a line for
    each call that failed (inject.c)."""

    code: int | None
    out: str
    err: str
    injected: tuple[str, ...]


@dataclass(frozen=True)
class Bench:
    """`truth`: what the job leaves if nothing fails; `calls`: of each station, undisturbed."""

    folder: Path
    library: Path
    truth: dict[str, str]
    calls: dict[str, Calls]

    @classmethod
    def make(cls, folder: Path) -> Bench:
        """Compiles the library and does each command once."""
        folder.mkdir(parents=True, exist_ok=True)
        bench = cls(folder, compiled(folder), {}, {})
        _write_job(folder)
        bench._must("whole", _run(2))
        bench._must("unmerged", (*_run(2), "--no-merge"))
        bench._make_half()
        bench.truth.update(contents(folder / "whole"))
        for name, station in STATIONS.items():
            bench.calls[name] = bench._count(name, station)
        return bench

    def _must(self, name: str, arguments: Sequence[str]) -> None:
        """Runs what must succeed, and keeps the run directory."""
        folder = self.folder / f"make-{name}"
        folder.mkdir()
        ended = self.run(arguments, folder)
        if ended.code:
            raise RuntimeError(f"{name}: exit code {ended.code}: {ended.err}")
        (folder / "run").rename(self.folder / name)

    def _make_half(self) -> None:
        """A run directory whose parent was killed when half of the units were done."""
        folder = self.folder / "make-half"
        folder.mkdir()
        chaos = [{"fault": "kill_parent", "at": "after_ledger", "unit": 3}]
        ended = self.run(_run(2), folder, FORKRUN_CHAOS=json.dumps(chaos))
        if ended.code != -9:
            raise RuntimeError(f"half: exit code {ended.code}: {ended.err}")
        (folder / "run").rename(self.folder / "half")

    def _count(self, name: str, station: Station) -> Calls:
        folder = self.prepare(station, f"count-{name}")
        wanted = [Fault(k, "count", who, at) for k in KINDS for who in _WHO for at in _PLACES]
        ended = self.run(station.arguments, folder, wanted)
        if ended.code:
            raise RuntimeError(f"{name}: exit code {ended.code}: {ended.err}")
        counts = struct.unpack(f"{_MOST_FAULTS}q", (folder / "counts").read_bytes())
        pairs = zip(wanted, counts, strict=False)
        return {(fault.kind, fault.who, fault.place): n for fault, n in pairs if n}

    def prepare(self, station: Station, name: str) -> Path:
        """A folder for one round, with the run directory that the command is to find."""
        folder = self.folder / name
        folder.mkdir()
        if station.base:
            shutil.copytree(self.folder / station.base, folder / "run")
            shutil.copytree(self.folder / "make-whole" / "cache", folder / "cache")
        return folder

    def run(
        self, arguments: Sequence[str], folder: Path, faults: Sequence[Fault] = (), **more: str
    ) -> Ended:
        """A command of a round. FAULTS_FOLDER marks all processes that it starts."""
        (folder / "tmp").mkdir(exist_ok=True)
        variables = {
            "FAULTS_FOLDER": str(folder),
            "FORKRUN_CACHE": str(folder / "cache"),
            "TMPDIR": str(folder / "tmp"),
            **(self._injection(folder, faults) if faults else {}),
            **more,
        }
        named = [str(folder / "run") if word == "RUN" else word for word in arguments]
        record = folder / "record"
        record.unlink(missing_ok=True)
        with running(*named, cwd=self.folder, env=environment(**variables)) as process:
            try:
                out, err = process.communicate(timeout=TIME_LIMIT_S)
            except subprocess.TimeoutExpired:
                return Ended(None, "", "", _lines(record))
        return Ended(process.returncode, out, err, _lines(record))

    def _injection(self, folder: Path, faults: Sequence[Fault]) -> dict[str, str]:
        (folder / "counts").write_bytes(bytes(8 * _MOST_FAULTS))
        paths = {
            "run": folder / "run",
            "fragment": folder / "run/units/000000/skim.fragment",
            "output": folder / "run/output/skim/first.root",
            "cache": folder / "cache",
            "input": self.folder / "input.root",
            "conditions": self.folder / "scale.npy",
        }
        return {
            "LD_PRELOAD": str(self.library),
            "FAULTS_PLAN": ";".join(fault.entry(paths) for fault in faults),
            "FAULTS_COUNTS": str(folder / "counts"),
            "FAULTS_RECORD": str(folder / "record"),
        }


def _lines(file: Path) -> tuple[str, ...]:
    return tuple(file.read_text().splitlines()) if file.exists() else ()


def contents(run: Path) -> dict[str, str]:
    """SHA-256 of what a job must leave whatever happens to it: outputs and lumi accounting."""
    files = [*(run / "output").rglob("*"), *run.glob("*Lumis.json")]
    return {str(file.relative_to(run)): sha256(file) for file in sorted(files) if file.is_file()}


def compiled(folder: Path) -> Path:
    """The library that is preloaded."""
    library = folder / "inject.so"
    source = HERE / "inject.c"
    command = [
        "cc",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fPIC",
        "-shared",
        "-o",
        str(library),
        str(source),
    ]
    subprocess.run(command, check=True)
    return library


def _write_job(folder: Path) -> None:
    """A filter, producers, an analyzer, two outputs of two datasets whose lumis have the same
    numbers, histograms and a condition; each lumi is committed by itself at most."""
    files = {"first": folder / "input.root", "second": folder / "more.root"}
    for seed, file in enumerate(files.values()):
        made = forkrun("sample", file, *_SAMPLE, "--seed", seed + 1, cwd=folder)
        if made.code:
            raise RuntimeError(made.err)
    np.save(folder / "scale.npy", np.array([1.5]))
    datasets = [{"name": name, "files": [str(file)]} for name, file in files.items()]
    job = lumi_by_lumi(jets_job([], datasets=datasets))
    modules = HERE.parent / "conditions" / "modules.py"
    job["modules"].append({"label": "scale", "type": f"python:{modules}:Scale"})
    job["conditions"] = [{"label": "scale", "type": "npy", "file": str(folder / "scale.npy")}]
    job["outputs"] = [{"label": "skim", "paths": ["skim"]}, {"label": "all"}]
    write_job(folder, job)
