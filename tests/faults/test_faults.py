"""Calls of the system fail; `make faults` does many rounds."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import uproot

from tests.faults import writing
from tests.faults.bench import Bench, Fault, compiled
from tests.faults.rounds import Plan, run_round
from tests.support.jobs import environment

_PROGRAM = Path(writing.__file__)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("library"))


def write_files(
    library: Path, folder: Path, faults: list[Fault]
) -> tuple[dict[str, str], tuple[int, ...]]:
    """What became of files, each with a fault of its own (file 0 has none); how many of each
    fault's calls there were."""
    names = [f"file-{number:03d}.root" for number in range(len(faults) + 1)]
    (folder / "counts").write_bytes(bytes(8 * 512))
    pairs = zip(names[1:], faults, strict=True)
    entries = [fault.entry({"run": folder / name}) for name, fault in pairs]
    variables = {
        "LD_PRELOAD": str(library),
        "FAULTS_PLAN": ";".join(entries),
        "FAULTS_COUNTS": str(folder / "counts"),
    }
    done = subprocess.run(
        [sys.executable, _PROGRAM, folder, *names],
        env=environment(**variables), capture_output=True, text=True, check=True,
    )  # fmt: skip
    counts = (folder / "counts").read_bytes()[: 8 * len(faults)]
    return json.loads(done.stdout), struct.unpack(f"{len(faults)}q", counts)


@pytest.fixture(scope="module")
def n_calls_of(library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How many calls of each kind a file takes; it takes no seek."""
    kinds = ("write", "read", "sync", "close", "open")
    faults = [Fault(kind, "count", "any", "run") for kind in kinds]
    _, counts = write_files(library, tmp_path_factory.mktemp("counts"), faults)
    assert min(counts) > 0
    return dict(zip(kinds, counts, strict=True))


def assert_readable(file: Path) -> None:
    assert_tree_readable(file)
    with uproot.open(file) as opened:
        assert opened["plots/h"].values().tolist() == [1.0, 2.0]


def assert_tree_readable(file: Path) -> None:
    with uproot.open(file) as opened:
        columns = opened["Events"].arrays(library="np")
    assert columns["event"].tolist() == list(range(writing.N_EVENTS))
    assert np.concatenate(columns["x"]).tolist() == list(range(writing.N_EVENTS))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("write", "EIO"), ("write", "ENOSPC"), ("write", "EINTR"), ("write", "short"),
        ("read", "EIO"), ("read", "EINTR"), ("read", "short"), ("sync", "EIO"),
        ("close", "EIO"), ("open", "EMFILE"), ("open", "EIO"),
    ],
)  # fmt: skip
def test_whichever_call_fails_a_file_is_whole_or_there_is_an_error(
    tmp_path: Path, library: Path, n_calls_of: dict[str, int], kind: str, error: str
) -> None:
    n_calls = n_calls_of[kind]
    faults = [Fault(kind, error, "any", "run", first) for first in range(1, n_calls + 1)]
    outcomes, _ = write_files(library, tmp_path, faults)
    assert len(outcomes) == n_calls + 1
    for name, problem in outcomes.items():
        if not problem:
            assert_readable(tmp_path / name)
    problems = list(outcomes.values())[1:]
    if error in ("EINTR", "short"):
        assert problems == [""] * n_calls
    else:
        assert all(problem.startswith("OutputError: ") for problem in problems), problems


@pytest.mark.slow
def test_what_was_written_elsewhere_than_it_should_is_an_error_not_a_file(
    tmp_path: Path, library: Path, n_calls_of: dict[str, int]
) -> None:
    """As if a disk had lost some of what was written and said nothing of it. What is checked is the
    file's own structure, and the objects in its top folder: here the tree."""
    n_writes = n_calls_of["write"]
    faults = [Fault("write", "lost", "any", "run", first) for first in range(1, n_writes + 1)]
    outcomes, _ = write_files(library, tmp_path, faults)
    for name, problem in outcomes.items():
        if not problem:
            assert_tree_readable(tmp_path / name)
        else:
            assert "what was written cannot be read back" in problem, problem


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.make(tmp_path_factory.mktemp("faults"))


@pytest.mark.long
@pytest.mark.parametrize(
    "plan",
    [
        "run / open:EIO:index:input:1:1",
        "run / fork:ENOMEM:parent:-:2:0",
        "run / open:EIO:child:run:1:1",
        "run / write:ENOSPC:child:run:40:1 rename:kill:child:run:12:1",
        "run / sync:EIO:child:run:20:1 close:ENOSPC:child:run:40:1",
        "run / mkdir:kill:child:run:5:1 sync:kill:merge:run:4:1",
        "run-alone / write:EIO:parent:run:80:1",
        "run-alone / map:ENOMEM:parent:-:5:1 / read:short:parent:run:1:0",
        "resume / sync:ENOSPC:child:run:10:1 mkdir:EIO:child:run:3:1 rename:EROFS:child:run:8:2",
        "merge / rename:ENOSPC:merge:run:3:1 / read:EIO:merge:run:40:1",
        "report / rename:EROFS:parent:run:2:1",
        "report / open:EIO:parent:run:8:1",
        "report / rename:kill:parent:run:3:1",
        "run / open:EACCES:parent:conditions:1:1",
        # An output on its way: a child writes its fragment, the merge reads that and the input.
        "run / write:ENOSPC:child:fragment:2:1",
        "run / write:short:child:fragment:1:0",
        "run / write:kill:child:fragment:5:1",
        "run / sync:EIO:child:fragment:1:1",
        "run / rename:EIO:child:fragment:1:1",
        "run / rename:kill:child:fragment:1:1",
        "merge / read:EIO:merge:fragment:1:1",  # its checksum
        "merge / read:EIO:merge:fragment:3:1",  # what is in it
        "merge / read:EIO:merge:fragment:3:0",
        "merge / read:short:merge:fragment:1:0",
        "merge / read:EIO:merge:input:100:1",
        "merge / read:kill:merge:input:100:1",
        "merge / write:ENOSPC:merge:output:5:1",
        "merge / write:kill:merge:output:5:1",
        "merge / sync:EIO:merge:output:1:1",
        "merge / unlink:kill:parent:run:28:1",
        "resume / unlink:EIO:parent:run:32:1",
        "run / rename:kill:child:run:29:1",
        "merge / rename:EROFS:merge:output:1:1",
        "run-alone / write:kill:parent:output:5:1",
    ],
)
def test_a_job_whose_calls_fail_can_be_brought_to_its_end(
    bench: Bench, plan: str, tmp_path: Path
) -> None:
    """Each fault of the plan has met a call."""
    planned = Plan.parse(plan)
    done = run_round(bench, planned, tmp_path.name)
    assert done.violations == []
    met = {tuple(line.split()[:2]) for line in done.injected}
    assert met == {(fault.error, fault.kind) for faults in planned.sessions for fault in faults}
