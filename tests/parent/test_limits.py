"""Limits of time and memory, recycling, hanging children: with real processes."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forkrun import _core
from forkrun.base.quantities import parse_duration, parse_size
from forkrun.fork.signals import PYTHON_STACKS
from forkrun.monitoring.job_memory import JobMemory, total_bytes
from forkrun.parent.deadline import (
    find_deadline,
    slurm_time_left_s,
    time_to_make_outputs_s,
    time_to_merge_s,
)
from forkrun.parent.hang_watch import HangWatch
from forkrun.parent.memory_guard import (
    Demand,
    MemoryGuard,
    MemoryLimit,
    Relief,
    find_limit,
)
from tests.support.files import write_events
from tests.support.jobs import (
    PATIENCE_S,
    forkrun,
    jets_job,
    ledger_units,
    lumi_by_lumi,
    module,
    running,
    wait_for,
    write_job,
)


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("2 GB", 2 * 10**9), ("500MiB", 500 * 2**20), ("1.5 kB", 1500), ("12", 12), (7, 7)],
)
def test_sizes_are_read_as_people_write_them(text: object, n_bytes: int) -> None:
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90 s", 90), ("1h30m", 5400), ("30min", 1800), ("07:45:00", 27_900), ("12:30", 750),
     ("1-02:00:00", 93_600), ("12.5", 12.5), (3, 3)],
)  # fmt: skip
def test_times_are_read_as_people_and_slurm_write_them(text: object, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "fast", "2 apples", "-3 s", "1h and 2m"])
def test_what_is_no_amount_is_an_error(text: str) -> None:
    for parse in (parse_size, parse_duration):
        with pytest.raises(ValueError, match="write a"):
            parse(text)


def test_a_wrong_amount_is_said_with_its_key(tmp_path: Path) -> None:
    ended = forkrun("run", write_job(tmp_path, {"limits": {"memory": "much"}}), cwd=tmp_path)
    assert ended.code == 2
    assert 'limits.memory: write a size as "2 GB", "500 MiB" or a number of bytes' in ended.err


def test_slurm_says_how_much_time_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert slurm_time_left_s({}) is None
    left_s = slurm_time_left_s(
        {"SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": str(int(time.time()) + 600)}
    )
    assert left_s == pytest.approx(600, abs=2)
    squeue = tmp_path / "squeue"  # as it answers `squeue --noheader --jobs 7 --format %L`
    squeue.write_text('#!/bin/sh\n[ "$3" = 7 ] && echo "1-00:00:10"\n')
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert slurm_time_left_s({"SLURM_JOB_ID": "7"}) == 86_410
    assert slurm_time_left_s({"SLURM_JOB_ID": "8"}) is None


def test_a_merge_takes_longer_the_more_has_to_be_made_anew() -> None:
    nothing, few, many, all_ = (time_to_make_outputs_s(1000, n, 1e5) for n in (0, 10, 900, 1000))
    assert nothing == 0
    assert nothing < few < many
    assert all_ < many  # whole clusters are copied
    assert time_to_merge_s(many) > many


def test_the_earlier_deadline_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert find_deadline(None, 5.0) is None
    own = find_deadline(100.0, 5.0)
    assert own
    assert (own.at_s, own.why) == (105.0, "limits.walltime = 100 s")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_END_TIME", str(int(time.time()) + 60))
    slurm = find_deadline(1000.0, time.monotonic())
    assert slurm
    assert slurm.why == "the allocation of Slurm job 7"


def test_the_smaller_limit_holds(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text("0::/\n")
    (tmp_path / "memory.max").write_text("2000\n")
    cgroup = MemoryLimit(2000, f"{tmp_path}/memory.max", tmp_path)
    assert find_limit(None, tmp_path, tmp_path) == cgroup
    assert find_limit(3000, tmp_path, tmp_path) == cgroup
    assert find_limit(1000, tmp_path, tmp_path) == MemoryLimit(1000, "limits.memory")
    assert find_limit(None, tmp_path, tmp_path / "none") is None


@pytest.fixture
def sleeper() -> Any:
    """A forked process with 50 MB of its own."""
    ready, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        block = bytearray(os.urandom(50_000_000))
        os.write(write, b"x")
        while block:
            time.sleep(10)
    os.read(ready, 1)
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("share", "n_children", "relief"),
    [(0.5, 2, None), (0.93, 2, Relief.RECYCLE), (0.97, 2, Relief.KILL), (0.97, 1, Relief.KILL)],
)
def test_the_largest_child_makes_room(
    sleeper: int, share: float, n_children: int, relief: Relief | None
) -> None:
    running = {1: sleeper, 2: os.getpid()} if n_children == 2 else {1: sleeper}
    memory = memory_of(running)
    limit = MemoryLimit(round(total_bytes(memory.estimate()) / share), "limits.memory")
    demand = MemoryGuard(limit, memory).check(running)
    assert (demand.relief if demand else None) is relief
    if demand and n_children == 1:
        assert demand.child == 1
    if demand:
        assert "are used (limits.memory); child" in demand.words


def memory_of(running: dict[int, int]) -> JobMemory:
    """Of this process and children, all of them read."""
    memory = JobMemory(os.getpid())
    for child, pid in running.items():
        memory.add_child(child, pid)
    for process in memory.processes:
        memory.read(process)
    memory.note_in_common()
    return memory


def test_a_child_that_was_killed_is_waited_for_before_the_next_one_is(sleeper: int) -> None:
    running = {1: sleeper, 2: os.getpid()}
    memory = memory_of(running)
    guard = MemoryGuard(MemoryLimit(total_bytes(memory.estimate()), "limits.memory"), memory)
    demands = checks_of(guard, running)
    first = next(demands)
    assert first
    assert first.relief is Relief.KILL
    assert [next(demands) for _ in range(3)] == [None] * 3
    memory.remove_child(first.child)
    del running[first.child]
    assert next(demands) is None


def checks_of(guard: MemoryGuard, running: dict[int, int]) -> Iterator[Demand | None]:
    """Checks, one after the other, that are due."""
    while True:
        guard.check_at_s = 0.0
        yield guard.check(running)


def test_no_child_can_make_room_where_the_parent_has_it_all(sleeper: int) -> None:
    running = {1: sleeper}
    memory = memory_of(running)
    demand = MemoryGuard(MemoryLimit(1_000_000, "limits.memory"), memory).check(running)
    assert demand
    assert demand.relief is Relief.NONE


@pytest.mark.parametrize(("n_children", "relief"), [(2, Relief.KILL), (1, Relief.RECYCLE)])
def test_the_last_child_is_not_ended_for_what_others_have_in_its_cgroup(
    sleeper: int, tmp_path: Path, n_children: int, relief: Relief
) -> None:
    (tmp_path / "memory.current").write_text("1000000000\n")
    running = {1: sleeper, 2: os.getpid()} if n_children == 2 else {1: sleeper}
    guard = MemoryGuard(MemoryLimit(10**9, "a limit", tmp_path), memory_of(running))
    demand = guard.check(running)
    assert demand
    assert demand.relief is relief


def test_memory_that_was_shared_and_is_copied_is_found(tmp_path: Path) -> None:
    """Nothing grows that the kernel counts at once; each page is a fault."""
    shared = bytearray(60_000_000)
    shared[::4096] = b"x" * len(shared[::4096])
    go, done = tmp_path / "go", tmp_path / "done"
    pid = os.fork()
    if pid == 0:
        while not go.exists():
            time.sleep(0.01)
        shared[::4096] = b"y" * len(shared[::4096])
        done.touch()
        time.sleep(PATIENCE_S)
    try:
        memory = memory_of({0: pid})
        # Half of what is copied reaches the share of the limit at which a child is ended.
        limit = int((total_bytes(memory.estimate()) + 30_000_000) / 0.96)
        guard = MemoryGuard(MemoryLimit(limit, "limits.memory"), memory)
        go.touch()
        wait_for(done.exists)

        def asks_to_kill() -> bool:
            demand = guard.check({0: pid})
            return demand is not None and demand.relief is Relief.KILL

        wait_for(asks_to_kill)
        assert memory.estimate()[0, pid]["private_bytes"] > 60_000_000
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_child_without_progress_shows_its_stacks_is_asked_and_then_killed() -> None:
    board = _core.StatusBoard(1)
    board.set_state(0, "processing")
    watch = HangWatch(board, timeout_s=10, grace_s=5)
    running = {0: os.getpid()}
    watch.started(0, 100.0)
    assert watch.tick(running, 109.0) == {}
    board.beat(0)
    assert watch.tick(running, 110.0) == {}
    assert watch.tick(running, 119.0) == {}
    assert watch.tick(running, 121.0) == {0: PYTHON_STACKS}
    _core.write_stacks_on_signal()  # this process is the child that is asked
    assert watch.tick(running, 121.1) == {0: signal.SIGTERM}
    assert watch.tick(running, 123.0) == {}
    assert watch.tick(running, 127.0) == {0: signal.SIGKILL}
    assert HangWatch(board, timeout_s=0, grace_s=5).tick(running, 1e9) == {}


def test_the_time_of_a_child_without_progress_counts_from_its_start_up_on() -> None:
    board = _core.StatusBoard(1)
    watch = HangWatch(board, timeout_s=10, grace_s=5)
    running = {0: os.getpid()}
    watch.started(0, 100.0)
    board.set_state(0, "starting")
    assert watch.tick(running, 1800.0) == {}
    board.set_state(0, "processing")
    assert watch.tick(running, 1810.0) == {}
    assert watch.tick(running, 1819.0) == {}
    assert watch.tick(running, 1821.0) == {0: PYTHON_STACKS}


def test_a_child_that_does_not_begin_at_all_hangs_after_half_an_hour() -> None:
    watch = HangWatch(_core.StatusBoard(1), timeout_s=10, grace_s=5)
    watch.started(0, 100.0)
    assert watch.tick({0: os.getpid()}, 1899.0) == {}
    assert watch.tick({0: os.getpid()}, 1901.0) == {0: PYTHON_STACKS}


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    """Six lumis of 40 events, in units of 10."""
    events = write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])
    return jets_job([events], forking={"children": 2})


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("limit", [{"recycle_events": 30}, {"recycle_memory": "1 MB"}])
def test_recycled_children_are_forked_again_and_nothing_changes(
    tmp_path: Path, job: dict[str, Any], limit: dict[str, Any]
) -> None:
    job["forking"] |= limit
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    lines = (tmp_path / "run/monitoring/events.jsonl").read_text().splitlines()
    forks = [line for line in map(json.loads, lines) if line["event"] == "fork"]
    assert len(forks) >= 8  # 240 events; no unit is begun after 30 in a life
    assert ledger_units(tmp_path / "run") == list(range(24))
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["job"]["outcome"] == "done"
    assert report["recovery"] == []


def test_a_job_out_of_time_ends_with_9_and_goes_on_later(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    file = write_job(tmp_path, job | {"merge": {"when_stopped": True}})
    run = ["run", file, "-o", "run"]
    ended = forkrun(*run, "--max-walltime", "0.1 s", cwd=tmp_path)
    assert ended.code == 9
    assert "out of time (limits.walltime = 0.1 s)" in ended.err
    assert forkrun(*run, "-q", cwd=tmp_path).code == 0
    assert ledger_units(tmp_path / "run") == list(range(24))


@pytest.mark.slow
def test_a_stopped_job_merges_what_is_complete_if_asked(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    import uproot

    go_on = tmp_path / "go-on"
    job["modules"].append(module("waits", "Waits", until=str(go_on), event=95))
    job["paths"]["skim"].insert(0, "waits")
    job["outputs"] = [{"label": "all"}]
    job["forking"]["children"] = 1
    file = write_job(tmp_path, lumi_by_lumi(job) | {"merge": {"when_stopped": True}})
    with running("run", file, "-o", "run", "--no-plots", cwd=tmp_path) as process:
        wait_for(lambda: len(ledger_units(tmp_path / "run")) >= 8)  # two lumis
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: "stopping: " in (tmp_path / "run/logs/parent.log").read_text())
        go_on.touch()
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 143
    done = ledger_units(tmp_path / "run")
    with uproot.open(tmp_path / "run/output/all.root") as output:
        events = output["Events"]["event"].array(library="np").tolist()
    assert events == list(range(1, 10 * len(done) + 1))
    assert forkrun("resume", "run", "-q", cwd=tmp_path).code == 0
    with uproot.open(tmp_path / "run/output/all.root") as output:
        assert output["Events"]["event"].array(library="np").tolist() == list(range(1, 241))


@pytest.mark.slow
def test_sigusr1_finishes_the_lumis_that_were_begun(tmp_path: Path, job: dict[str, Any]) -> None:
    go_on = tmp_path / "go-on"
    job["modules"].append(module("waits", "Waits", until=str(go_on), event=95))
    job["paths"]["skim"].insert(0, "waits")
    file = write_job(tmp_path, lumi_by_lumi(job))
    with running("run", file, "-o", "run", "--no-plots", cwd=tmp_path) as process:
        wait_for(lambda: '"child_first_event"' in _text(tmp_path / "run/monitoring/events.jsonl"))
        wait_for(lambda: len(ledger_units(tmp_path / "run")) > 8)
        process.send_signal(signal.SIGUSR1)
        wait_for(lambda: "lumis that have been begun" in _text(tmp_path / "run/logs/parent.log"))
        go_on.touch()
        process.communicate(timeout=PATIENCE_S)
    done = ledger_units(tmp_path / "run")
    assert done == list(range(len(done)))
    assert len(done) % 4 == 0  # four units make a lumi
    assert process.returncode == (128 + signal.SIGUSR1 if len(done) < 24 else 0)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
