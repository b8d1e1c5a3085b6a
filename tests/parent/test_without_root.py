"""ROOT's interpreter takes a quarter of a second to start: jobs that need none do not start it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import ROOT, environment, forkrun, jets_job, write_job

_INTERPRETER = "libCling.so"
_SIGNALS = """
import signal
from forkrun import _core

def caught():
    with open("/proc/self/status") as status:
        return [line for line in status if line.startswith("SigCgt")]

signal.signal(signal.SIGCHLD, lambda *_: None)
before = caught()
_core.warm_up()
assert "libCling.so" in open("/proc/self/maps").read()
assert caught() == before, (caught(), before)
"""


def processes_with_root(tmp_path: Path, *arguments: str) -> int:
    """Of a command and all that it starts; the loader notes what each of them loads."""
    notes = tmp_path / "loaded"
    notes.mkdir()
    loading = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(notes / "by")}
    ended = forkrun(
        *arguments,
        cwd=tmp_path,
        env=environment(FORKRUN_CACHE=str(tmp_path / "cache"), **loading),
    )
    assert ended.code == 0, ended.err
    texts = [note.read_text(errors="replace") for note in notes.iterdir()]
    assert any("libCore.so" in text for text in texts)  # the note would be there
    return sum(_INTERPRETER in text for text in texts)


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    return jets_job(write_sample(tmp_path / "a.root", SampleSettings(40, 1, 2)))


@pytest.mark.slow
def test_a_job_with_histograms_alone_does_not_start_root(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    path = write_job(tmp_path, {**job, "outputs": []})
    command = ("run", str(path), "-o", "run", "-q", "--no-plots", "--children", "2")
    assert processes_with_root(tmp_path, *command) == 0
    assert (tmp_path / "run/output/histograms.root").exists()


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [0, 2])
def test_a_job_with_outputs_of_plain_trees_does_not_start_root(
    tmp_path: Path, job: dict[str, Any], children: int
) -> None:
    path = write_job(tmp_path, job)
    command = ("run", str(path), "-o", "run", "-q", "--no-plots", "--children", str(children))
    assert processes_with_root(tmp_path, *command) == 0
    with uproot.open(tmp_path / "run/output/events.root") as output:
        assert set(output.keys(cycle=False)) >= {"Events", "Runs", "LuminosityBlocks"}


@pytest.mark.slow
def test_a_job_whose_input_has_more_than_plain_trees_starts_root(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    with uproot.update(tmp_path / "a.root") as file:
        file["histogram"] = (np.arange(3.0), np.arange(4.0))
    path = write_job(tmp_path, job)
    assert processes_with_root(tmp_path, "run", str(path), "-o", "run", "-q", "--no-plots") > 0
    with uproot.open(tmp_path / "run/output/events.root") as output:
        assert output["histogram"].values().tolist() == [0, 1, 2]


def test_files_of_plain_trees_are_merged_without_root(tmp_path: Path) -> None:
    sample = SampleSettings(40, 2, 3, n_files=3)
    files = [str(file) for file in write_sample(tmp_path / "a.root", sample)]
    assert processes_with_root(tmp_path, "merge", "merged.root", *files, "-q") == 0
    with uproot.open(tmp_path / "merged.root") as merged:
        assert merged["Events"].num_entries == 40


def test_starting_root_changes_no_handler_of_a_signal() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SIGNALS],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


_ABORTS = """
import ctypes, sys
from forkrun import _core

_core.warm_up()
if len(sys.argv) > 1:
    import ROOT

    ROOT.gEnv.SetValue("Root.Stacktrace", 1)
core = next(line.split()[-1] for line in open("/proc/self/maps") if "libCore.so" in line)
ctypes.CDLL(core)._Z5FatalPKcS0_z(b"here", b"it is over")
"""


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("asks", [False, True])
def test_where_root_aborts_no_debugger_is_started(tmp_path: Path, asks: bool) -> None:
    """That takes half a minute. `asks`: for one, as programs do that set nothing."""
    debugger, started = tmp_path / "gdb", tmp_path / "started"
    debugger.write_text(f"#!/bin/sh\ntouch {started}\n")
    debugger.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _ABORTS, *["asks"] * asks],
        cwd=tmp_path,
        env=environment(PATH=f"{tmp_path}:{os.environ['PATH']}"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGABRT, done.stderr
    assert "it is over" in done.stderr
    assert started.exists() == asks
