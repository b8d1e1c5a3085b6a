"""`forkrun top`: a run directory that others write to, seen live."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from forkrun.cli import main
from forkrun.errors import InputError
from forkrun.monitoring.live.screen import RunningJob, render
from forkrun.monitoring.live.state import JsonTail, LiveJob, LiveRun, Rate, Tail

from .conftest import (
    CONFIG,
    MIB,
    T0,
    ledgers,
    sample_lines,
    timeline_lines,
    unit_line,
    write_lines,
)

WriteRun = Callable[..., Path]


def test_lines_come_once_and_only_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    tail = Tail(file)
    assert tail.lines() == []
    file.write_bytes(b"one\ntw")
    assert tail.lines() == [b"one"]
    with file.open("ab") as more:
        more.write(b"o\nthree\n")
    assert tail.lines() == [b"two", b"three"]
    assert tail.lines() == []
    file.write_bytes(b"anew\n")
    assert tail.lines() == [b"anew"]
    file.unlink()
    assert tail.lines() == []


def test_a_link_or_a_pipe_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("secret\n")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    os.mkfifo(tmp_path / "pipe")
    assert Tail(tmp_path / "link").lines() == Tail(tmp_path / "pipe").lines() == []


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\nnonsense\n[2]\n{"a": 3}\n')
    assert [value["a"] for value in JsonTail(tmp_path / "a.jsonl").values()] == [1, 3]


def test_a_job_is_followed_from_its_start_to_its_end(write_run: WriteRun) -> None:
    run = write_run(ledger={0: ledgers()[0][:1]}, timeline=timeline_lines()[:6])
    write_lines(run / "monitoring" / "samples.jsonl", sample_lines()[:6])
    job = LiveJob(LiveRun(run))
    job.look()
    assert (job.n_events, job.whole.n_planned, job.whole.phase) == (100, 600, "processes")
    assert [(w.name, w.n_events, w.what) for w in job.rows()] == [
        ("child 0", 100, "run 1, lumi 1"), ("child 1", 0, ""), ("child 2", 0, ""),
    ]  # fmt: skip
    assert job.memory == (4 * 30 * MIB, 40 * MIB)
    assert job.rate(T0 + 12) == 10  # 100 events from 2 to 12 s
    assert job.left_s(T0 + 12) == 50
    for child, lines in ledgers().items():
        write_lines(run / "ledger" / f"child-{child:03d}.jsonl", lines)
    write_lines(run / "monitoring" / "events.jsonl", timeline_lines())
    job.look()
    assert (job.n_events, job.whole.outcome) == (600, "ok")
    assert [worker.what for worker in job.rows()] == ["exit code 0"] * 3
    shutil.rmtree(run)
    job.look()
    assert job.whole.is_gone
    assert job.n_events == 600


def test_nodes_are_rows_of_their_own(write_run: WriteRun, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    (whole / "nodes").mkdir(parents=True)
    (whole / "config.json").write_text(json.dumps(CONFIG))
    for number in (1, 0):
        write_run().rename(whole / "nodes" / f"{number:04d}")
    job = LiveJob(LiveRun(whole))
    job.look()
    assert [(row.name, row.n_events, row.what) for row in job.rows()] == [
        ("node 0", 600, "ok"), ("node 1", 600, "ok"),
    ]  # fmt: skip

    # 27 s of three children with two threads, half of it on a CPU.
    (one, _) = job.rows()
    assert (one.rate, one.cpu_efficiency) == (3 * 600 / 27, 0.25)
    assert [worker.cpu_efficiency for worker in job.nodes[0].workers.values()] == [0.25] * 3


def test_the_gap_before_a_session_is_in_no_rate(write_run: WriteRun) -> None:
    resumed = {"time_s": T0 + 1000, "event": "job_start", "child": None, "pid": 300}
    ledger = {0: [*ledgers()[0], unit_line(5, 0, 1002, 1010)]}
    job = LiveJob(LiveRun(write_run(ledger=ledger, timeline=[*timeline_lines(), resumed])))
    job.look()
    assert job.n_events == 300
    assert job.rate(T0 + 1012) == 10  # 100 events from 1002 to 1012 s


@pytest.mark.parametrize(("commits", "rate"), [(1, 100 / 30), (40, 200.0)])
def test_the_rate_is_that_of_late_where_commits_are_many(commits: int, rate: float) -> None:
    measured = Rate()
    for n in range(commits):
        end_s = 30 - (n % 20) * 0.9 if commits > 1 else 5
        measured.add(0, end_s, 100)
    assert measured.at(30) == pytest.approx(rate)


def shown(job: LiveJob, width: int, height: int, order: str = "name", first: int = 0) -> list[str]:
    console = Console(width=width, height=height, no_color=True, file=io.StringIO())
    with console.capture() as capture:
        drawn = render(job, T0 + 12, width=width, height=height, order=order, first=first, note="")
        console.print(drawn)
    return capture.get().splitlines()


@pytest.mark.parametrize(("width", "height"), [(120, 40), (80, 24), (40, 12), (20, 10)])
def test_it_fits_any_terminal(write_run: WriteRun, width: int, height: int) -> None:
    many = {c: [{**line, "child": c} for line in ledgers()[0]] for c in range(64)}
    run = write_run(ledger=many, timeline=timeline_lines()[:6])
    (run / "logs").mkdir()
    (run / "logs" / "1-child-001.log").write_text("a\x1b[31mlong line " * 30 + "\n")
    job = LiveJob(LiveRun(run))
    job.look()
    lines = shown(job, width, height)
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    assert "\x1b[31m" not in "".join(lines)
    last = shown(job, width, height, first=1000)
    assert any(line.startswith("child 63"[: width // 5]) for line in last)
    assert last != lines


def test_rows_are_sorted_by_what_is_asked_for(write_run: WriteRun) -> None:
    few = ledgers()
    few[0] = few[0][:1]
    job = LiveJob(LiveRun(write_run(ledger=few, timeline=timeline_lines()[:6])))
    job.look()
    names = [line.split()[1] for line in shown(job, 100, 30, "events") if line.startswith("child ")]
    assert names[-1] == "0"


def test_without_a_terminal_it_is_printed_once(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["top", str(write_run())]) == 0
    assert "100.0 % · 600 of 600 events" in capsys.readouterr().out
    assert main(["top", str(tmp_path)]) == 3


class Terminal:
    """`forkrun top` in a pseudo-terminal."""

    def __init__(self, run: Path, rows: int = 30, columns: int = 100) -> None:
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (rows, columns))
        environment = {**os.environ, "TERM": "xterm"}
        environment.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "forkrun", "top", str(run)], stdin=slave, stdout=slave,
            stderr=slave, env=environment, start_new_session=True,
        )  # fmt: skip
        self._slave, self.text = slave, ""

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self._slave, (rows, columns))
        self.process.send_signal(signal.SIGWINCH)

    def see(self, wanted: str) -> None:
        """Waits until a text is written, after what was seen before."""
        until_s = time.monotonic() + 60
        while wanted not in self.text:
            assert time.monotonic() < until_s, self.text[-3000:]
            assert self.process.poll() is None, self.text[-3000:]
            if select.select([self.master], [], [], 1.0)[0]:
                self.text += os.read(self.master, 65536).decode("utf-8", "replace")
        self.text = self.text[self.text.index(wanted) + len(wanted) :]

    def ended(self) -> int:
        return self.process.wait(60)


def test_in_a_terminal_it_survives_a_resize_the_jobs_end_and_its_directory(
    write_run: WriteRun,
) -> None:
    run = write_run(timeline=timeline_lines()[:6])
    terminal = Terminal(run)
    terminal.see("600 of 600 events")
    terminal.resize(12, 50)
    terminal.press("o")
    terminal.see("child 2")
    terminal.press("s")
    terminal.see("y stops the job")
    terminal.press("y")
    terminal.see("does not run on this machine")
    write_lines(run / "monitoring" / "events.jsonl", timeline_lines())
    terminal.see(": ok")
    shutil.rmtree(run)
    terminal.see("its run directory is gone")
    terminal.press("q")
    assert terminal.ended() == 0


def test_programs_and_notebooks_see_what_the_terminal_shows(write_run: WriteRun) -> None:
    run = write_run(timeline=timeline_lines()[:6])
    job = RunningJob(run)
    assert not job.has_ended
    lines = str(job).splitlines()
    assert lines[0].startswith("dimuon: processes") or lines[0].startswith(run.name)
    assert "600 of 600 events" in lines[1]
    html = job._repr_html_()
    assert html.startswith("<pre")
    assert "600 of 600 events" in html
    write_lines(run / "monitoring" / "events.jsonl", timeline_lines())
    job.watch()  # returns, as the job has ended
    assert job.has_ended
    with pytest.raises(InputError, match=r"no job runs here: it has no config\.json"):
        RunningJob(run / "nothing")
