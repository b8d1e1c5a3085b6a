from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from forkrun.base.json_lines import read_json_lines
from forkrun.monitoring.process_reading import ProcessReader, read_process
from forkrun.monitoring.records import Sample, read_records
from forkrun.monitoring.report.memory import memory_against_time
from forkrun.monitoring.sampler import Sampler, SamplerSettings, sample_self
from forkrun.monitoring.timeline import Timeline

# As recorded from a Python process with a name that holds spaces and parentheses.
ROLLUP = """5583e82b8000-7ffea4a98000 ---p 00000000 00:00 0                          [rollup]
Rss:              102400 kB
Pss:               40960 kB
Pss_Dirty:         20480 kB
Shared_Clean:      30720 kB
Shared_Dirty:      40960 kB
Private_Clean:      1024 kB
Private_Dirty:     29696 kB
Shared_Hugetlb:        0 kB
Private_Hugetlb:       0 kB
"""
PAGE = os.sysconf("SC_PAGE_SIZE")
RSS_PAGES, FILE_PAGES = 102400 * 1024 // PAGE, 20480 * 1024 // PAGE
STATM = "99999 {pages} {of_files} 1 0 50000 0"
STATUS = "Name:\ta (b) c\nVmHWM:\t  122880 kB\nVmRSS:\t  102400 kB\n"
STAT = "{pid} (a (b) c) S 1 7 7 0 -1 4194560 153 0 0 0 250 75 0 0 20 0 1 0 100 0 {pages} 0"
IO = "rchar: 5000000\nwchar: 10\nsyscr: 400\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 0\n"

READ_ONCE = SamplerSettings(max_cost=1e-6, slice_s=10.0)

RecordProcess = Callable[[int], Path]


@pytest.fixture
def record_process(tmp_path: Path) -> RecordProcess:
    """Adds a process to a /proc tree and gives its root."""

    def record(pid: int) -> Path:
        folder = tmp_path / "proc" / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "smaps_rollup").write_text(ROLLUP)
        (folder / "stat").write_text(STAT.format(pid=pid, pages=1000))
        (folder / "statm").write_text(STATM.format(pages=RSS_PAGES, of_files=FILE_PAGES))
        (folder / "status").write_text(STATUS)
        (folder / "io").write_text(IO)
        return tmp_path / "proc"

    return record


def samples(run_dir: Path) -> list[dict[str, Any]]:
    return read_json_lines(run_dir / "monitoring" / "samples.jsonl")


def read_samples(run_dir: Path) -> list[Sample]:
    return [convert(line, Sample) for line in samples(run_dir)]


def test_a_recorded_process_is_read_to_the_last_digit(record_process: RecordProcess) -> None:
    reading = read_process(7, record_process(7))
    assert reading is not None
    assert (reading.pss_bytes, reading.rss_bytes) == (40960 * 1024, 102400 * 1024)
    assert reading.uss_bytes == reading.private_bytes == 30720 * 1024
    assert reading.shared_bytes == reading.rss_bytes - reading.private_bytes
    assert (reading.cpu_user_s, reading.cpu_system_s) == (2.5, 0.75)
    assert (reading.read_calls, reading.read_bytes) == (400, 5_000_000)
    assert reading.most_rss_bytes == 122880 * 1024


def test_a_process_that_has_gone_gives_nothing(tmp_path: Path) -> None:
    assert read_process(7, tmp_path) is None


@pytest.mark.parametrize("name", ["smaps_rollup", "stat", "io"])
def test_a_process_that_vanishes_while_it_is_read_gives_nothing(
    record_process: RecordProcess, name: str
) -> None:
    proc = record_process(7)
    (proc / "7" / name).write_text("")
    assert read_process(7, proc) is None


def test_a_sample_has_every_process_with_its_events(
    tmp_path: Path, record_process: RecordProcess
) -> None:
    for pid in (1, 2):
        record_process(pid)
    sampler = Sampler(tmp_path, parent_pid=1, proc=record_process(3))
    sampler.add_child(0, 2, now_s=10.0)
    sampler.add_child(1, 3, now_s=10.0)
    assert sampler.tick(20.0, {0: 5, 1: 6})
    lines = samples(tmp_path)
    assert [(s["time_s"], s["role"], s["child"], s["n_events_done"]) for s in lines] == [
        (20.0, "parent", None, 0),
        (20.0, "child", 0, 5),
        (20.0, "child", 1, 6),
    ]
    assert {(s["complete"], s["n_sampled"]) for s in lines} == {(0, 3)}
    assert {s["private_bytes"] for s in lines} == {30720 * 1024}


def test_a_child_that_ended_is_sampled_no_more(
    tmp_path: Path, record_process: RecordProcess
) -> None:
    for pid in (1, 2):
        record_process(pid)
    proc = record_process(3)
    sampler = Sampler(tmp_path, parent_pid=1, proc=proc)
    sampler.add_child(0, 2, now_s=0.0)
    sampler.add_child(1, 3, now_s=0.0)
    sampler.remove_child(0)
    (proc / "3" / "statm").write_text("0 0 0 0 0 0 0")  # it has ended, and was not waited for
    sampler.tick(5.0)
    assert [s["child"] for s in samples(tmp_path)] == [None]


def test_memory_that_a_child_takes_after_its_reading_is_its_own(
    tmp_path: Path, record_process: RecordProcess
) -> None:
    record_process(1)
    proc = record_process(2)
    sampler = Sampler(tmp_path, READ_ONCE, parent_pid=1, proc=proc)
    sampler.add_child(0, 2, now_s=0.0)
    sampler.tick(5.0)
    (proc / "2" / "statm").write_text(STATM.format(pages=RSS_PAGES + 1000, of_files=FILE_PAGES))
    sampler.tick(6.0)
    before, after = (s for s in samples(tmp_path) if s["child"] == 0)
    for name in ("private_bytes", "pss_bytes", "rss_bytes"):
        assert after[name] - before[name] == 1000 * PAGE
    assert after["shared_bytes"] == before["shared_bytes"]


def test_what_all_have_in_common_does_not_grow_when_some_of_them_end(
    tmp_path: Path, record_process: RecordProcess
) -> None:
    pids = range(1, 7)
    for pid in pids:
        proc = record_process(pid)
    sampler = Sampler(tmp_path, READ_ONCE, parent_pid=1, proc=proc)
    for child, pid in enumerate(pids[1:]):
        sampler.add_child(child, pid, now_s=0.0)
    sampler.tick(5.0)
    for child in range(4):
        sampler.remove_child(child)
    sampler.tick(8.0)
    totals = memory_against_time(read_records(tmp_path))
    assert [total.n_processes for total in totals] == [6, 2]
    assert [total.shared_bytes for total in totals] == [6 * 10240 * 1024] * 2


@pytest.mark.parametrize("n_children", [1, 24, pytest.param(256, marks=pytest.mark.slow)])
def test_samples_are_complete_however_many_children_there_are(
    tmp_path: Path, record_process: RecordProcess, n_children: int
) -> None:
    for child in range(n_children):
        record_process(2 + child)
    sampler = Sampler(tmp_path, parent_pid=1, proc=record_process(1))
    for child in range(n_children):
        sampler.add_child(child, 2 + child, now_s=0.0)
    for tick in range(20):
        sampler.tick(0.1 * tick, dict.fromkeys(range(n_children), tick))
    totals = memory_against_time(read_records(tmp_path))
    assert {total.n_processes for total in totals} == {1 + n_children}
    assert totals[-1].private_bytes == (1 + n_children) * 30720 * 1024
    assert sampler.cost_s < 1.5


def test_children_are_read_when_all_have_begun_and_after_their_first_events(
    tmp_path: Path, record_process: RecordProcess
) -> None:
    for pid in (1, 2):
        record_process(pid)
    settings = SamplerSettings(first_reading_s=10.0, max_cost=1e-6)
    sampler = Sampler(tmp_path, settings, parent_pid=1, proc=record_process(3))
    sampler.add_child(0, 2, now_s=0.0)
    sampler.add_child(1, 3, now_s=1.0)
    assert 30720 * 1024 not in private_of_children(sampler, tmp_path, 10.5, {0: 0, 1: 0})
    assert private_of_children(sampler, tmp_path, 11.0, {0: 0, 1: 0}) == [30720 * 1024] * 2
    write_more(record_process, 2, 3)
    assert private_of_children(sampler, tmp_path, 12.0, {0: 9, 1: 0}) == [30720 * 1024] * 2
    assert private_of_children(sampler, tmp_path, 13.0, {0: 9, 1: 1}) == [31744 * 1024] * 2


def write_more(record_process: RecordProcess, *pids: int) -> None:
    """A MiB that was shared becomes private; no memory is new."""
    text = ROLLUP.replace("Private_Clean:      1024", "Private_Clean:      2048")
    for pid in pids:
        record_process(pid).joinpath(str(pid), "smaps_rollup").write_text(text)


def private_of_children(
    sampler: Sampler, run_dir: Path, now_s: float, done: dict[int, int]
) -> list[int]:
    """As written at a tick."""
    assert sampler.tick(now_s, done)
    last = [s for s in samples(run_dir) if s["time_s"] == now_s]
    return [s["private_bytes"] for s in last if s["child"] is not None]


def test_ticks_before_the_interval_are_free(tmp_path: Path, record_process: RecordProcess) -> None:
    settings = SamplerSettings(min_interval_s=1.0, max_cost=1.0)
    sampler = Sampler(tmp_path, settings, parent_pid=1, proc=record_process(1))
    assert [sampler.tick(t) for t in (0.0, 0.5, 0.99, 1.5, 2.0, 2.6)] == [
        True, False, False, True, False, True,
    ]  # fmt: skip


def test_the_interval_grows_until_the_cost_is_below_its_limit(
    tmp_path: Path, record_process: RecordProcess
) -> None:
    settings = SamplerSettings(
        min_interval_s=0.0, max_cost=1e-4, readings_grant_s=0.0, estimates_grant_s=0.0
    )
    sampler = Sampler(tmp_path, settings, parent_pid=1, proc=record_process(1))
    for tick in range(20_000):
        sampler.tick(tick * 0.01)
    assert sampler.cost_s < 2 * 1e-4 * 200
    assert 1 < len(samples(tmp_path)) < 2000


def test_closing_writes_what_sampling_cost(tmp_path: Path, record_process: RecordProcess) -> None:
    sampler = Sampler(tmp_path, parent_pid=1, proc=record_process(1))
    sampler.tick(100.0)
    sampler.close(now_s=110.0)
    cost = json.loads((tmp_path / "monitoring" / "sampler.json").read_text())
    assert (cost["n_samples"], cost["elapsed_s"]) == (2, 10.0)
    assert cost["cpu_s"] == sampler.cost_s > 0
    assert cost["cpu_fraction"] == cost["cpu_s"] / 10


def test_a_child_takes_a_last_sample_of_itself(tmp_path: Path) -> None:
    sample_self(tmp_path, 3, 42)
    (line,) = samples(tmp_path)
    assert (line["child"], line["pid"], line["n_events_done"]) == (3, os.getpid(), 42)
    assert 0 < line["uss_bytes"] <= line["pss_bytes"] <= line["rss_bytes"]


def test_the_timeline_keeps_order_and_details(tmp_path: Path) -> None:
    timeline = Timeline(tmp_path)
    timeline.record("job_start", time_s=1.0)
    timeline.record("child_exit", child=2, pid=7, time_s=2.0, exit_code=-9)
    timeline.close()
    assert read_json_lines(tmp_path / "monitoring" / "events.jsonl") == [
        {"time_s": 1.0, "event": "job_start", "child": None, "pid": None},
        {"time_s": 2.0, "event": "child_exit", "child": 2, "pid": 7, "exit_code": -9},
    ]


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 2**40))
def test_shared_and_private_add_up_to_rss(
    tmp_path_factory: pytest.TempPathFactory, a: int, b: int, c: int, d: int
) -> None:
    proc = tmp_path_factory.mktemp("proc")
    (proc / "1").mkdir()
    sizes = {"Rss": a + b + c + d, "Pss": a, "Shared_Clean": a, "Shared_Dirty": b,
             "Private_Clean": c, "Private_Dirty": d}  # fmt: skip
    text = "0-1 [rollup]\n" + "".join(f"{k}: {v} kB\n" for k, v in sizes.items())
    (proc / "1" / "smaps_rollup").write_text(text)
    (proc / "1" / "stat").write_text(STAT.format(pid=1, pages=1000))
    (proc / "1" / "status").write_text(STATUS)
    (proc / "1" / "io").write_text(IO)
    reading = read_process(1, proc)
    assert reading is not None
    assert reading.shared_bytes + reading.private_bytes == reading.rss_bytes


@pytest.mark.parametrize("change", ["exits", "joins", "none"])
def test_an_exact_sample_counts_only_if_the_same_processes_shared_memory_all_the_time(
    tmp_path: Path, record_process: RecordProcess, change: str
) -> None:
    for pid in (1, 2):
        record_process(pid)
    proc = record_process(3)
    sampler = Sampler(tmp_path, SamplerSettings(is_exact=True), parent_pid=1, proc=proc)
    sampler.add_child(0, 2, now_s=0.0)
    sampler.add_child(1, 3, now_s=0.0)
    if change == "exits":  # its memory is given back, and it was not waited for
        (proc / "2" / "statm").write_text("0 0 0 0 0 0 0")
    elif change == "joins":
        (proc / "2" / "smaps_rollup").write_text("")
    assert sampler.tick(3.0) == (change == "none")
    assert len(memory_against_time(read_records(tmp_path))) == (change == "none")


def test_a_process_too_large_for_a_rollup_is_read_in_pieces() -> None:
    reader = ProcessReader(max_stop_s=0.0)
    for _ in range(100):
        exact, pieces = read_process(os.getpid()), reader.read(os.getpid())
        later = read_process(os.getpid())
        assert exact is not None
        assert pieces is not None
        assert later is not None
        if later.uss_bytes == pytest.approx(exact.uss_bytes, rel=0.01):
            break  # else other processes begin or end meanwhile, which map the same libraries
    assert exact is not None
    assert pieces is not None
    assert (exact.pss_is_exact, pieces.pss_is_exact) == (True, False)
    assert pieces.rss_bytes == pytest.approx(exact.rss_bytes, rel=0.05)
    assert pieces.anonymous_bytes == pytest.approx(exact.anonymous_bytes, rel=0.05)
    assert pieces.uss_bytes == pytest.approx(exact.uss_bytes, rel=0.05)
    assert pieces.shared_bytes + pieces.private_bytes == pieces.rss_bytes
    assert 0 < reader.longest_stop_s < 0.1


def test_what_processes_share_is_divided_among_them() -> None:
    reader = ProcessReader(max_stop_s=0.0)
    one, four = reader.read(os.getpid(), 1), reader.read(os.getpid(), 4)
    assert one is not None
    assert four is not None
    assert one.pss_bytes == one.rss_bytes
    assert four.pss_bytes == four.private_bytes + four.shared_bytes // 4
