"""Jobs that fail: their messages, what is kept, and that nothing half-done looks done."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from forkrun.errors import InputError, JobError, OutputError
from forkrun.fork.helper import ask_helper
from forkrun.parent.merging import crash_of_merge
from forkrun.rundir.directory import RunDirectory
from tests.support.files import write_events
from tests.support.jobs import (
    PATIENCE_S,
    Ended,
    forkrun,
    jets_job,
    ledger_units,
    lumi_by_lumi,
    module,
    running,
    wait_for,
    write_job,
)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Six lumis of 40 events: 1 to 240."""
    return write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])


def failing_job(events: Path, how: str) -> dict[str, Any]:
    job = jets_job([events], forking={"children": 2}, threads={"block_size": 10})
    job["modules"].append(module("fails", "Fails", event=150, how=how))
    job["paths"]["skim"].insert(0, "fails")
    return job


def no_output(run: Path) -> bool:
    return list((run / "output").iterdir()) == []


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV"])
def test_a_killed_child_is_named_with_its_signal_last_events_and_log(
    events: Path, tmp_path: Path, name: str
) -> None:
    job = write_job(tmp_path, failing_job(events, name))
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    number = getattr(signal, name).value
    assert ended.code == 5
    assert f"failed: killed by signal {number} ({name})" in ended.err
    assert "event 1:4:150 crashes the child that processes it" in ended.err
    assert f"the event 1:4:150 is entry 149 of {events}" in ended.err
    (log,) = [line.split("log: ")[1] for line in ended.err.splitlines() if "its log: " in line]
    assert Path(log).exists()
    assert no_output(tmp_path / "run")
    assert 14 not in ledger_units(tmp_path / "run")


@pytest.mark.parametrize("children", [0, 2])
def test_an_exception_in_a_module_is_said_with_module_and_events(
    events: Path, tmp_path: Path, children: int
) -> None:
    job = failing_job(events, "raise")
    job["forking"]["children"] = children
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    assert "the calibration has no such jet" in ended.err
    assert '"fails"' in ended.err
    assert "150" in ended.err
    assert no_output(tmp_path / "run")
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["job"]["outcome"] == "failed"
    assert report["events"]["digests_agree"] is None
    assert "DIFFER" not in (tmp_path / "run/report.txt").read_text()


TYPO = """
import numpy as np
import forkrun

class Typo(forkrun.Analyzer):
    consumes = ("event",)

    def analyze(self, block):
        self.look(block["event"])

    def look(self, numbers):
        np.sqrt(numbres)
"""


@pytest.mark.parametrize("on_bad_event", ["stop", "skip"])
def test_a_typo_ends_the_job_with_the_users_own_lines(
    events: Path, tmp_path: Path, on_bad_event: str
) -> None:
    """Nothing is tried again, and no event is blamed, left out or offered to be."""
    (tmp_path / "mine.py").write_text(TYPO)
    job = jets_job([events], forking={"children": 2}, recovery={"on_bad_event": on_bad_event})
    job["modules"].append({"label": "m", "type": f"python:{tmp_path / 'mine.py'}:Typo"})
    job["paths"]["skim"].insert(0, "m")
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 5
    lines = ended.err.splitlines()
    assert lines[0].startswith('forkrun: module "m" failed at 1:')
    assert lines[0].endswith("NameError: name 'numbres' is not defined")
    mine = tmp_path / "mine.py"
    assert lines[1].strip() == f'{mine}, line 9, in analyze: self.look(block["event"])'
    assert lines[2].strip() == f"{mine}, line 12, in look: np.sqrt(numbres)"
    assert "skip" not in ended.err.replace("--skip-events", "")  # where another unit failed first
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["job"]["outcome"] == "failed"
    if on_bad_event == "stop":
        assert report["recovery"] == []
    assert ledger_units(tmp_path / "run") == []


def test_what_was_committed_before_a_failure_is_kept(events: Path, tmp_path: Path) -> None:
    job = lumi_by_lumi(failing_job(events, "raise"))
    job["forking"] = {"children": 1, "distribution": "lumi"}
    assert forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path).code == 5
    assert ledger_units(tmp_path / "run") == [0, 1, 2]
    for unit in ("000000", "000001", "000002"):
        assert (tmp_path / "run/units" / unit / "events.fragment").stat().st_size > 0
    assert not list((tmp_path / "run").rglob("*.part"))
    ended = forkrun("merge", "run", cwd=tmp_path)
    assert ended.code == 6
    assert "3 of 6 units not committed: 3, 4, 5" in ended.err
    assert no_output(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("children", "number", "code"),
    [
        (0, signal.SIGTERM, 143),
        (2, signal.SIGINT, 130),
        pytest.param(0, signal.SIGINT, 130, marks=pytest.mark.long),
        pytest.param(2, signal.SIGTERM, 143, marks=pytest.mark.long),
    ],
)
def test_a_signal_stops_the_job_cleanly(
    events: Path, tmp_path: Path, number: int, code: int, children: int
) -> None:
    go_on = tmp_path / "go-on"
    job = jets_job([events], forking={"children": children})
    job["modules"].append(module("waits", "Waits", until=str(go_on)))
    job["paths"]["skim"].insert(0, "waits")
    file = write_job(tmp_path, job)
    with running("run", file, "-o", "run", cwd=tmp_path, preexec_fn=_block_signals) as process:
        wait_for(lambda: '"child_first_event"' in text(tmp_path / "run/monitoring/events.jsonl"))
        process.send_signal(number)
        if children:
            wait_for(lambda: "stopping: " in text(tmp_path / "run/logs/parent.log"))
        go_on.touch()
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code
    assert f"stopped by signal {number} ({signal.Signals(number).name})" in err
    assert "Traceback" not in err
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["job"]["outcome"] == "unfinished"
    assert report["events"]["digests_agree"] is None
    assert "forkrun resume RUNDIR" in report["job"]["problem"]
    assert "FAILED" not in (tmp_path / "run/report.txt").read_text()
    assert no_output(tmp_path / "run")
    assert len(ledger_units(tmp_path / "run")) <= max(children, 1)


def _block_signals() -> None:
    """As some batch systems start a job."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_thread_in_the_parent_is_an_error_that_names_it(events: Path, tmp_path: Path) -> None:
    job = jets_job([events])
    job["modules"].append(module("server", "StartsThread"))
    job["paths"]["skim"].append("server")
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 7
    assert 'thread jet-server, since module "server" was constructed' in ended.err


def test_a_finished_run_is_replaced_by_a_changed_one_or_by_force(
    events: Path, tmp_path: Path
) -> None:
    job = write_job(tmp_path, jets_job([events]))
    assert forkrun("run", job, "-o", "run", "-q", cwd=tmp_path).code == 0
    before = (tmp_path / "run/report.json").read_text()
    again = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert again.code == 0
    assert "already done; --force does it again" in again.err
    other = [job, "-o", "run", "-q", "--set", "modules.jets.params.n=3"]
    ended = forkrun("run", *other, cwd=tmp_path)
    assert ended.code == 0
    changed = (tmp_path / "run/report.json").read_text()
    assert changed != before
    stranger = {**jets_job([events]), "modules": [], "paths": {}, "outputs": [{"label": "others"}]}
    ended = forkrun("run", write_job(tmp_path, stranger), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 4
    assert "belongs to another job; what has changed: configuration: modules" in ended.err
    assert (tmp_path / "run/report.json").read_text() == changed
    write_job(tmp_path, jets_job([events]))
    assert forkrun("run", job, "-o", "run", "-q", "--force", cwd=tmp_path).code == 0
    assert (tmp_path / "run/report.json").read_text() != before


def test_force_never_removes_what_is_not_ours(events: Path, tmp_path: Path) -> None:
    job = write_job(tmp_path, jets_job([events]))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").touch()
    ended = forkrun("run", job, "-o", "run", "-q", "--force", cwd=tmp_path)
    assert ended.code == 4
    assert "holds something else as well (thesis.tex)" in ended.err
    assert (tmp_path / "run" / "thesis.tex").exists()


def test_a_full_disk_says_which_file_and_what_to_do(events: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small tmpfs can only be mounted by root")
    try:
        job = write_job(tmp_path, jets_job([big_file(tmp_path)]))
        ended = forkrun("run", job, "-o", small / "run", "-q", cwd=tmp_path)
        _check_no_space(ended, small / "run")
        assert "No space left on device" in ended.err
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.slow
def test_a_limit_on_file_sizes_says_which_file(tmp_path: Path) -> None:
    job = write_job(tmp_path, jets_job([big_file(tmp_path)]))
    ended = forkrun("run", job, "-o", "run", "-q", cwd=tmp_path, preexec_fn=_limit_files)
    _check_no_space(ended, tmp_path / "run")


def big_file(folder: Path) -> Path:
    return write_events(folder / "big.root", [(1, 1, 20_000), (1, 2, 20_000)])


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))


def _check_no_space(ended: Ended, run: Path) -> None:
    assert ended.code == 4
    assert str(run) in ended.err
    assert not list((run / "output").glob("*"))


# --- the merge -----------------------------------------------------------------------------------


def unmerged(events: Path, folder: Path) -> Path:
    job = write_job(folder, jets_job([events], forking={"children": 2}))
    assert forkrun("run", job, "-o", "run", "-q", "--no-merge", cwd=folder).code == 0
    return folder / "run"


def test_a_run_can_be_merged_later_and_once(events: Path, tmp_path: Path) -> None:
    run = unmerged(events, tmp_path)
    assert no_output(run)
    ended = forkrun("merge", "run", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert {f.name for f in (run / "output").iterdir()} == {"events.root", "histograms.root"}
    assert not (run / "units").exists()
    ended = forkrun("merge", "run", cwd=tmp_path)
    assert ended.code == 2
    assert "has been merged already" in ended.err


def test_a_merge_that_lacks_units_names_the_commands_that_help(
    events: Path, tmp_path: Path
) -> None:
    run = unmerged(events, tmp_path)
    for ledger in run.glob("ledger/child-*.jsonl"):
        ledger.unlink()
    ended = forkrun("merge", "run", cwd=tmp_path)
    assert ended.code == 6, ended.err
    assert "processes what is missing, then forkrun merge " in ended.err
    assert forkrun("resume", "run", "-q", cwd=tmp_path).code == 0
    assert no_output(run)
    assert forkrun("merge", "run", "-q", cwd=tmp_path).code == 0
    assert (run / "output/events.root").exists()


def without_checksums(ledger: Path) -> list[dict[str, Any]]:
    """Lines of a ledger, to be written again with something else in them."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in ledger.read_text().splitlines()]
    for line in lines:
        del line["crc32"]
    return lines


def test_a_ledger_that_says_other_than_the_files_fails_verification(
    events: Path, tmp_path: Path
) -> None:
    run = unmerged(events, tmp_path)
    ledger = run / "ledger/child-000.jsonl"
    lines = without_checksums(ledger)
    lines[0]["outputs"]["events"]["digest"] = "0" * 31 + "1"
    ledger.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ended = forkrun("merge", "run", cwd=tmp_path)
    assert ended.code == 6
    assert "the digest of the merged events is" in ended.err
    assert no_output(run)
    assert (run / "units").is_dir()


def test_a_unit_that_read_other_events_fails_verification(events: Path, tmp_path: Path) -> None:
    run = unmerged(events, tmp_path)
    ledger = run / "ledger/child-000.jsonl"
    lines = without_checksums(ledger)
    lines[0]["digest"] = "0" * 31 + "1"
    ledger.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ended = forkrun("merge", "run", cwd=tmp_path)
    assert ended.code == 6
    assert "an input file may have changed" in ended.err


def test_files_are_merged_in_the_order_named(tmp_path: Path) -> None:
    import uproot

    write_events(tmp_path / "a.root", [(1, 1, 3)])
    write_events(tmp_path / "b.root", [(1, 2, 2)], first_event=10)
    ended = forkrun("merge", "out.root", "b.root", "a.root", cwd=tmp_path)
    assert ended.code == 0
    entries, baskets = ended.out.splitlines()
    assert entries == "out.root: Events: 5 entries"
    assert baskets.startswith("out.root: Events: 10 baskets of 2 files, ")
    with uproot.open(tmp_path / "out.root") as file:
        assert list(file["Events"]["event"].array(library="np")) == [10, 11, 1, 2, 3]
    again = forkrun("merge", "out.root", "b.root", cwd=tmp_path)
    assert again.code == 4
    assert "this file exists; replace it with --force" in again.err
    assert forkrun("merge", "out.root", "b.root", "--force", cwd=tmp_path).code == 0
    missing = forkrun("merge", "other.root", "a.root", "none.root", cwd=tmp_path)
    assert missing.code == 3
    assert "none.root" in missing.err
    assert not list(tmp_path.glob("other.root*"))


def test_a_merge_whose_log_cannot_be_written_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunDirectory(tmp_path)
    folder.log("merge", os.getpid()).parent.mkdir()

    def work(_: Any) -> None:
        full = os.open("/dev/full", os.O_WRONLY)  # as where the log's disk is
        os.dup2(full, 1)
        os.dup2(full, 2)
        print("a message that nobody will read")
        raise OutputError("events.root: cannot write: No space left on device")

    ended = ask_helper(work, log=folder.log("merge", os.getpid()))
    assert ended.exit_code == OutputError.exit_code
    assert isinstance(ended.failure, OutputError)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_file_that_crashes_the_merging_process_is_named(number: signal.Signals) -> None:
    error = crash_of_merge(-number, Path("merge.log"), "input.root")
    assert isinstance(error, InputError)
    assert "input.root: the merging process ended while it read this file" in str(error)


@pytest.mark.parametrize("file", ["input.root", ""])
def test_a_merging_process_that_is_killed_blames_no_file(file: str) -> None:
    error = crash_of_merge(-signal.SIGKILL, Path("merge.log"), file)
    assert isinstance(error, JobError)
    assert "input.root" not in str(error)
