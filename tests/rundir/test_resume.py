"""Running the same command again resumes the job: what is committed is verified, not trusted."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from forkrun import _core
from forkrun.config.read import validate
from forkrun.errors import InputError, JobError
from forkrun.merge import parts
from forkrun.rundir.build import build_identity, release
from forkrun.rundir.fingerprint import fingerprint
from forkrun.rundir.ledger import SumsPart, read_ledgers, read_on
from tests.support.files import write_events
from tests.support.jobs import (
    PATIENCE_S,
    Ended,
    environment,
    forkrun,
    jets_job,
    ledger_units,
    lumi_by_lumi,
    module,
    output_digests,
    running,
    wait_for,
    write_job,
)
from tests.support.mounts import in_own_mounts

N_UNITS = 24
OTHER_BUILD = f"{release()}.99+0123456789ab"
HANGS = 7
"""The unit whose child hangs in a run that is interrupted."""


def job_in(folder: Path) -> dict[str, Any]:
    """Six lumis of 40 events, in units of 10; a commit has one to four of them."""
    events = folder / "a.root"
    if not events.exists():
        write_events(events, [(1, lumi, 40) for lumi in range(1, 7)])
    return lumi_by_lumi(jets_job([events], forking={"children": 2}))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The input, an undisturbed run of the job in "whole", an interrupted one in "run"."""
    folder = tmp_path_factory.mktemp("template")
    file = write_job(folder, job_in(folder))
    assert forkrun("run", file, "-o", "whole", "-q", cwd=folder).code == 0
    interrupted(folder, job_in(folder))
    return folder


@pytest.fixture
def job(template: Path) -> dict[str, Any]:
    return job_in(template)


@pytest.fixture
def whole(template: Path) -> dict[str, str]:
    """Digests of the outputs of the undisturbed run."""
    return output_digests(template / "whole")


@pytest.fixture
def stopped(template: Path, tmp_path: Path) -> list[int]:
    """Units that the interrupted run, now "run" of the test, has committed."""
    return ledger_units(Path(shutil.copytree(template / "run", tmp_path / "run")))


def run(folder: Path, job: dict[str, Any], *options: object) -> Ended:
    return forkrun("run", write_job(folder, job), "-o", "run", *options, cwd=folder)


def interrupted(folder: Path, job: dict[str, Any], number: int = signal.SIGKILL) -> list[int]:
    """A run whose parent gets a signal when all other lumis are done. Gives the units that it has
    committed."""
    chaos = [{"fault": "hang", "at": "begin", "unit": HANGS, "times": 9}]
    done = folder / "run/ledger"
    others = {unit for unit in range(N_UNITS) if unit // 4 != HANGS // 4}
    with running(
        "run", write_job(folder, job), "-o", "run", "-q", "--set", "recovery.grace=0.2",
        cwd=folder, env=environment(FORKRUN_CHAOS=json.dumps(chaos)),
    ) as process:  # fmt: skip
        wait_for(lambda: done.exists() and others <= set(ledger_units(folder / "run")))
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (-signal.SIGKILL, 128 + number)
    units = ledger_units(folder / "run")
    assert HANGS not in units
    return units


def before(n_units: int) -> str:
    return f"{n_units} units ({10 * n_units} events) committed before"


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_a_job_whose_parent_was_killed_goes_on_and_gives_the_same_bytes(
    tmp_path: Path, job: dict[str, Any], whole: dict[str, str], number: int
) -> None:
    done = interrupted(tmp_path, job, number)
    ended = run(tmp_path, job)
    assert ended.code == 0, ended.err
    assert before(len(done)) in ended.err
    assert ledger_units(tmp_path / "run") == list(range(N_UNITS))
    assert output_digests(tmp_path / "run") == whole


def test_resume_takes_the_run_directory_and_another_number_of_children(
    tmp_path: Path, stopped: list[int], whole: dict[str, str]
) -> None:
    ended = forkrun("resume", "run", "--children", 3, "--threads", 2, "--no-plots", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "run") == whole
    assert forkrun("resume", "none", cwd=tmp_path).code == 2


@pytest.mark.parametrize(
    "distribution",
    ["lumi", *(pytest.param(d, marks=pytest.mark.long) for d in ("contiguous", "round-robin"))],
)
def test_other_distributions_survive_a_child_too(
    tmp_path: Path, job: dict[str, Any], distribution: str
) -> None:
    job["forking"]["distribution"] = distribution
    file = write_job(tmp_path, job)
    assert forkrun("run", file, "-o", "whole", "-q", cwd=tmp_path).code == 0
    chaos = [{"fault": "SIGKILL", "at": "before_rename", "unit": unit} for unit in (1, 4)]
    env = environment(FORKRUN_CHAOS=json.dumps(chaos))
    ended = forkrun("run", file, "-o", "run", cwd=tmp_path, env=env)
    assert ended.code == 0, ended.err
    assert ended.err.count("killed by signal 9 (SIGKILL)") == 2
    assert output_digests(tmp_path / "run") == output_digests(tmp_path / "whole")


@pytest.mark.parametrize(
    "damage",
    [
        "changed",
        *(pytest.param(d, marks=pytest.mark.long) for d in ("truncated", "removed", "histograms")),
    ],
)
def test_damaged_temporary_outputs_are_made_again(
    tmp_path: Path, job: dict[str, Any], stopped: list[int], whole: dict[str, str], damage: str
) -> None:
    name = "histograms.bin" if damage == "histograms" else "events.fragment"
    commit = max(read_ledgers(tmp_path / "run/ledger"), key=lambda commit: commit.n_units)
    file = tmp_path / f"run/units/{commit.unit:06d}" / name
    content = file.read_bytes()
    match damage:
        case "truncated":
            file.write_bytes(content[:-20])
        case "removed":
            file.unlink()
        case _:
            middle = len(content) // 2
            file.write_bytes(content[:middle] + b"\xff\x00\xff" + content[middle + 3 :])
    ended = run(tmp_path, job)
    assert ended.code == 0, ended.err
    assert f"unit {commit.unit}: units/{commit.unit:06d}/{name}" in ended.err
    assert "it is processed again" in ended.err
    assert before(len(stopped) - commit.n_units) in ended.err
    assert ledger_units_that_hold(tmp_path / "run") == list(range(N_UNITS))
    assert output_digests(tmp_path / "run") == whole


def ledger_units_that_hold(run: Path) -> list[int]:
    return sorted(unit for commit in read_ledgers(run / "ledger") for unit in commit.units)


def test_a_line_of_a_ledger_cut_short_is_no_commit(
    tmp_path: Path, job: dict[str, Any], stopped: list[int], whole: dict[str, str]
) -> None:
    ledger = max((tmp_path / "run/ledger").glob("child-*.jsonl"), key=lambda f: f.stat().st_size)
    text = ledger.read_text()
    n_lost = json.loads(text.splitlines()[-1])["n_units"]
    ledger.write_text(text[:-20])
    ended = run(tmp_path, job)
    assert ended.code == 0, ended.err
    assert before(len(stopped) - n_lost) in ended.err
    assert output_digests(tmp_path / "run") == whole


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"job": {"seed": 5}}, "configuration: job", marks=pytest.mark.long),
        pytest.param(
            {"source": {"max_events": 100}}, "configuration: source", marks=pytest.mark.long
        ),
        ({"forking": {"max_unit_events": 1}}, "units of work"),
        ({"threads": {"block_size": 5}}, "threads.block_size"),
    ],
)
def test_another_configuration_does_not_go_on(
    tmp_path: Path, job: dict[str, Any], stopped: list[int], change: dict[str, Any], words: str
) -> None:
    for section, values in change.items():
        job[section] = {**job.get(section, {}), **values}
    ended = run(tmp_path, job)
    assert ended.code == 4
    assert f"belongs to another job; what has changed: {words}" in ended.err
    assert ledger_units(tmp_path / "run") == stopped


@pytest.mark.slow
def test_changed_code_and_changed_input_do_not_go_on(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    own = tmp_path / "own.py"
    own.write_text(
        "import forkrun, numpy as np\n"
        "class All(forkrun.Filter):\n"
        "    consumes = ('Jet_pt',)\n"
        "    def filter(self, block): return np.ones(len(block), bool)\n"
    )
    job["modules"].append({"label": "all", "type": f"python:{own}:All"})
    job["paths"]["skim"].insert(0, "all")
    interrupted(tmp_path, job)
    own.write_text(own.read_text() + "# another remark\n")
    ended = run(tmp_path, job)
    assert ended.code == 4
    assert f"what has changed: code: {own}" in ended.err
    write_events(tmp_path / "a.root", [(1, lumi, 41) for lumi in range(1, 7)])
    ended = run(tmp_path, job)
    assert ended.code == 4
    assert f"input: {tmp_path / 'a.root'}" in ended.err


def of_another_build(run: Path, build: str, release: str = release()) -> None:
    """Makes a run directory one that was begun by another forkrun."""
    file = run / "fingerprint.json"
    fingerprint = json.loads(file.read_text())
    fingerprint |= {"build": build, "version": {**fingerprint["version"], "forkrun": release}}
    file.write_text(json.dumps(fingerprint))
    for ledger in (run / "ledger").glob("child-*.jsonl"):
        commits = [replace(commit, build=build) for commit in read_on(ledger, 0)[0]]
        ledger.write_text("".join(commit.to_line() for commit in commits))


def test_another_build_of_the_release_resumes_a_run_and_says_so(
    tmp_path: Path, job: dict[str, Any], stopped: list[int], whole: dict[str, str]
) -> None:
    n_done = len(stopped)
    of_another_build(tmp_path / "run", OTHER_BUILD)
    ended = run(tmp_path, job)
    assert ended.code == 0
    words = f"they were processed by forkrun {OTHER_BUILD}; this is {build_identity()}"
    assert f"warning: {words}" in ended.err
    report = json.loads((tmp_path / "run/report.json").read_text())
    rest = "1 unit" if n_done == N_UNITS - 1 else f"{N_UNITS - n_done} units"
    assert report["warnings"][0] == (
        f"several builds of forkrun processed this run: {n_done} units by {OTHER_BUILD},"
        f" {rest} by {build_identity()}"
    )
    assert report["job"]["host"]["versions"]["forkrun"] == build_identity()
    assert output_digests(tmp_path / "run") == whole


def test_another_release_does_not_resume_a_run(
    tmp_path: Path, job: dict[str, Any], stopped: list[int]
) -> None:
    of_another_build(tmp_path / "run", "0.0.1+0123456789ab", release="0.0")
    ended = run(tmp_path, job)
    assert ended.code == 4
    assert "belongs to another job; what has changed: version: forkrun" in ended.err
    assert ledger_units(tmp_path / "run") == stopped


def test_one_build_is_no_warning(tmp_path: Path, job: dict[str, Any], stopped: list[int]) -> None:
    assert "by forkrun" not in run(tmp_path, job).err
    assert json.loads((tmp_path / "run/report.json").read_text())["warnings"] == []


def test_a_run_directory_in_use_is_left_alone(
    tmp_path: Path, job: dict[str, Any], stopped: list[int]
) -> None:
    lock = tmp_path / "run/lock"
    lock.write_text(json.dumps({"host": socket.gethostname(), "pid": os.getppid()}))
    ended = run(tmp_path, job)
    assert ended.code == 4
    assert "another forkrun works in this run directory" in ended.err
    lock.write_text(json.dumps({"host": "another-node", "pid": 1}))
    assert run(tmp_path, job).code == 4
    long_ago = lock.stat().st_mtime - 1000
    os.utime(lock, (long_ago, long_ago))
    assert run(tmp_path, job).code == 0
    assert not lock.exists()


def test_only_processes_the_events_named(tmp_path: Path, job: dict[str, Any]) -> None:
    job["modules"] = [module("plots", "Plots")]
    job["paths"] = {"skim": ["plots"]}
    ended = run(tmp_path, job, "-q", "--only", "1:4:150", "--only", "1:1:7")
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["events"]["n_events_read"] == 2
    assert report["events"]["digests_agree"] is True
    ended = forkrun("run", tmp_path / "job.json", "-o", "b", "--only", "1:4:7", cwd=tmp_path)
    assert ended.code == 3
    assert "the input has no event 1:4:7" in ended.err
    ended = forkrun("run", tmp_path / "job.json", "-o", "b", "--only", "1:4", cwd=tmp_path)
    assert ended.code == 2
    assert "'1:4' is not of the form RUN:LUMI:EVENT" in ended.err


def test_a_file_of_a_condition_that_cannot_be_read_is_an_error_of_input(tmp_path: Path) -> None:
    """Reading /proc/self/mem from its beginning gives EIO."""
    weights = tmp_path / "weights.npy"
    weights.symlink_to("/proc/self/mem")
    config = validate({"source": {"files": ["a.root"]}}, "job")
    with pytest.raises(InputError, match=r"weights\.npy: cannot be read: Input/output error"):
        fingerprint(config, {}, "", [], [str(weights)])


def test_a_run_directory_that_cannot_be_read_is_not_taken_for_another_folder(
    tmp_path: Path,
) -> None:
    """Reading the memory of a process from its beginning gives EIO."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").touch()
    ended = in_own_mounts(
        "mount --bind /proc/$$/mem run/config.json; $PY -m forkrun resume run", tmp_path
    )
    assert ended.returncode == 3
    assert "config.json: cannot be read: Input/output error" in ended.stderr


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_file_that_this_process_may_not_open_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / "a").write_bytes(b"1234")

    def refuse(file: str) -> int:
        raise InputError(f"{file}: {os.strerror(number)}")

    monkeypatch.setattr(_core, "file_checksum", refuse)
    with pytest.raises(JobError, match="this process may not open more files"):
        parts.is_as_written(tmp_path, SumsPart("a", 4, 0))
