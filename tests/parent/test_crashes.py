"""Children that end without having done their work, in whatever way: all of it is still done, or
the job says who ended how."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, jets_job, ledger_units, write_job

MODULES = """
import ctypes
import os
import signal
import sys
import threading
import time

import numpy as np

import forkrun


def end(how):
    if how == "exec":
        os.execv("/bin/true", ["true"])
    if how == "sys.exit":
        sys.exit(0)
    if how == "os.abort":
        os.abort()
    if how == "raise":
        raise ValueError("the jets are gone")
    os._exit(int(how))


class Ends(forkrun.Filter):
    '''Ends its process at one event; only `times` times, counted by files in `notes`.'''

    consumes = ()

    def __init__(self, event: int, how: str, notes: str, times: int = 1_000_000, when: str = ""):
        self.event, self.how, self.notes, self.times, self.when = event, how, notes, times, when
        if when == "__init__":
            self.strike()

    def strike(self):
        n = len(os.listdir(self.notes))
        if n < self.times:
            open(os.path.join(self.notes, str(n)), "w").close()
            end(self.how)

    def filter(self, block):
        if self.event in block.events and not self.when:
            self.strike()
        time.sleep(0.01)
        return np.ones(len(block), dtype=bool)

    def begin_job(self):
        if self.when == "begin_job":
            self.strike()

    def end_job(self):
        if self.when == "end_job":
            self.strike()

    def pre_fork(self):
        if self.when == "pre_fork":
            self.strike()


class Forks(forkrun.Filter):
    '''Forks at one event; the copy returns from the call, as if it were the child.'''

    consumes = ()

    def __init__(self, event: int, how: str, notes: str):
        self.event, self.how, self.notes = event, how, notes

    def filter(self, block):
        if self.event in block.events and (pid := os.fork()) == 0:
            open(os.path.join(self.notes, f"copy-{os.getpid()}"), "w").close()
            if self.how == "sys.exit":
                sys.exit(3)
            if self.how == "raise":
                raise ValueError("in the copy")
        elif self.event in block.events:
            _, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            open(os.path.join(self.notes, f"ended-{code}"), "w").close()
        return np.ones(len(block), dtype=bool)


class Crashes(forkrun.Filter):
    '''Crashes in a thread of its own at one event, or whenever it is called first, as where a
    library is loaded that does not bear this process.'''

    consumes = ()

    def __init__(self, event: int, how: str, notes: str):
        self.event, self.how = event, how

    def filter(self, block):
        if self.how == "at first":
            ctypes.string_at(0)
        if self.how == "in a thread" and self.event in block.events:
            thread = threading.Thread(target=ctypes.string_at, args=(0,))
            thread.start()
            thread.join()
        return np.ones(len(block), dtype=bool)


class Closes(forkrun.Filter):
    '''Closes descriptors that are not its own.'''

    consumes = ()

    def __init__(self, event: int):
        self.event = event

    def filter(self, block):
        if self.event in block.events:
            os.closerange(3, 512)
        return np.ones(len(block), dtype=bool)
"""


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Six lumis of 40 events: 1 to 240."""
    return write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])


def crashing_job(events: Path, name: str, children: int = 2, **params: Any) -> Path:
    folder = events.parent
    (folder / "mods.py").write_text(MODULES)
    (folder / "notes").mkdir(exist_ok=True)
    if name != "Closes":
        params["notes"] = str(folder / "notes")
    job = jets_job([events], forking={"children": children}, threads={"block_size": 10})
    job["modules"].append(
        {"label": "evil", "type": f"python:{folder / 'mods.py'}:{name}", "params": params}
    )
    job["paths"]["skim"].insert(0, "evil")
    return write_job(folder, job)


def report_of(run: Path) -> Any:
    return json.loads((run / "report.json").read_text())


def n_forks(run: Path) -> int:
    lines = (run / "monitoring/events.jsonl").read_text().splitlines()
    return sum(json.loads(line)["event"] == "fork" for line in lines)


ENDS = {
    "0": "it ended itself (exit code 0) before its work was done",
    "3": "it ended itself (exit code 3) before its work was done",
    "exec": "it ended itself (exit code 0) before its work was done",
    "os.abort": "killed by signal 6 (SIGABRT)",
}


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("how", ENDS)
def test_a_module_that_ends_its_process_at_the_last_event_is_found(
    events: Path, tmp_path: Path, how: str
) -> None:
    job = crashing_job(events, "Ends", event=240, how=how)
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 5, ended.err
    assert f"failed: {ENDS[how]}" in ended.err
    assert "event 1:6:240 " in ended.err
    assert "child -1" not in ended.err
    assert n_forks(tmp_path / "run") <= 2 + 4  # the crash, again, all events, the one event


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("in a thread", "killed by signal 11 (SIGSEGV) in a thread of a library, which calls no"),
        ("at first", "no event is to blame, but a module, or a library that it loads"),
    ],
)
def test_a_crash_that_no_event_causes_is_blamed_on_none(
    events: Path, tmp_path: Path, how: str, words: str
) -> None:
    job = crashing_job(events, "Crashes", event=101, how=how)
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    assert words in ended.err
    assert "leave it out" not in ended.err


@pytest.mark.parametrize("how", ["0", "exec"])
def test_an_event_that_ends_its_process_is_left_out_if_that_is_wished(
    events: Path, tmp_path: Path, how: str
) -> None:
    job = crashing_job(events, "Ends", event=240, how=how)
    skip = ["--set", "recovery.on_bad_event=skip"]
    ended = forkrun("run", job, "-o", "run", *skip, cwd=tmp_path)
    assert ended.code == 8, ended.err
    (left_out,) = report_of(tmp_path / "run")["events"]["left_out"]
    assert left_out["event"] == "1:6:240"
    assert left_out["cause"].startswith("it ended itself (exit code 0)")


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("how", ENDS)
def test_units_of_a_child_that_ended_itself_once_are_done_by_another(
    events: Path, tmp_path: Path, how: str
) -> None:
    job = crashing_job(events, "Ends", event=240, how=how, times=1)
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    report = report_of(tmp_path / "run")
    assert report["events"]["n_events_read"] == 240
    assert report["events"]["digests_agree"] is True
    (recovered,) = report["recovery"]
    assert ENDS[how] in recovered["text"]


def test_a_module_that_calls_sys_exit_has_raised(events: Path, tmp_path: Path) -> None:
    job = crashing_job(events, "Ends", event=240, how="sys.exit")
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    assert 'module "evil" failed at 1:6, events 231…240: SystemExit: 0' in ended.err
    assert report_of(tmp_path / "run")["recovery"] == []


@pytest.mark.parametrize("when", ["begin_job", "end_job"])
def test_children_that_all_end_themselves_outside_of_units_end_the_job(
    events: Path, tmp_path: Path, when: str
) -> None:
    job = crashing_job(events, "Ends", children=1, event=0, how="0", when=when)
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    if when == "begin_job":
        assert ended.code == 5, ended.err
        assert "3 children ended outside of any unit" in ended.err
        assert "it ended itself (exit code 0) before its work was done" in ended.err
    else:  # all that there was to do is done, and what happened is reported
        assert ended.code == 0, ended.err
        (recovered,) = report_of(tmp_path / "run")["recovery"]
        assert "it ended itself (exit code 0)" in recovered["text"]


def test_a_probe_that_ends_without_a_word_has_not_survived(events: Path, tmp_path: Path) -> None:
    """With two events that end the process, also the second one is found."""
    job = json.loads(crashing_job(events, "Ends", children=1, event=238, how="0").read_text())
    second = json.loads(json.dumps(job["modules"][-1]))
    second["label"], second["params"]["event"] = "evil2", 240
    job["modules"].append(second)
    job["paths"]["skim"].insert(0, "evil2")
    skip = ["--set", "recovery.on_bad_event=skip"]
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", *skip, cwd=tmp_path)
    assert ended.code == 8, ended.err
    left_out = report_of(tmp_path / "run")["events"]["left_out"]
    assert [event["event"] for event in left_out] == ["1:6:238", "1:6:240"]


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("children", [0, 2])
@pytest.mark.parametrize(("how", "code"), [("return", 1), ("raise", 1), ("sys.exit", 3)])
def test_a_copy_that_a_module_forks_does_not_act_as_the_child(
    events: Path, tmp_path: Path, how: str, code: int, children: int
) -> None:
    job = crashing_job(events, "Forks", children, event=150, how=how)
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert len(list((tmp_path / "notes").glob("copy-*"))) == 1
    assert (tmp_path / f"notes/ended-{code}").exists()
    units = ledger_units(tmp_path / "run")
    assert len(units) == len(set(units)) == report_of(tmp_path / "run")["events"]["n_units_planned"]
    assert report_of(tmp_path / "run")["events"]["digests_agree"] is True


def test_a_module_that_closes_all_descriptors_writes_nothing_wrong(
    events: Path, tmp_path: Path
) -> None:
    job = crashing_job(events, "Closes", event=150)
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code in (3, 4, 5), ended.err
    assert signal.SIGKILL.name not in ended.err
    assert list((tmp_path / "run/output").iterdir()) == []
    units = ledger_units(tmp_path / "run")
    assert len(units) == len(set(units))


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("children", [0, 2])
@pytest.mark.parametrize("when", ["pre_fork", "begin_job", "end_job"])
@pytest.mark.parametrize("how", ["raise", "sys.exit"])
def test_an_error_in_a_callback_of_the_job_ends_the_job(
    events: Path, tmp_path: Path, when: str, how: str, children: int
) -> None:
    job = crashing_job(events, "Ends", children, event=0, how=how, when=when)
    ended = forkrun("run", job, "-o", "run", cwd=tmp_path)
    assert ended.code == 5, ended.err
    assert f'module "evil" failed in {when}: ' in ended.err
    assert ("ValueError: the jets are gone" if how == "raise" else "SystemExit: 0") in ended.err
    assert "internal error" not in ended.err


@pytest.mark.slow
def test_a_job_that_came_to_no_event_has_a_report(events: Path, tmp_path: Path) -> None:
    job = crashing_job(events, "Ends", event=0, how="raise", when="pre_fork")
    words = [sys.executable, "-m", "forkrun", "run", str(job), "-o", "run"]
    ended = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert ended.returncode == 5
    assert "the report could not be written" not in ended.stderr


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_module_that_exits_while_it_is_made_is_a_wrong_configuration(
    events: Path, tmp_path: Path, command: str
) -> None:
    job = crashing_job(events, "Ends", event=0, how="sys.exit", when="__init__")
    ended = forkrun(command, job, cwd=tmp_path)
    assert ended.code == 2, ended.err
    assert 'module "evil": SystemExit: 0' in ended.err
    (tmp_path / "mods.py").write_text("import sys\nsys.exit(0)\n")
    ended = forkrun(command, job, cwd=tmp_path)
    assert ended.code == 2, ended.err
    assert "cannot be imported: SystemExit: 0" in ended.err


def test_no_memory_for_what_is_shared_says_what_to_do(events: Path, tmp_path: Path) -> None:
    """The module leaves the process 20 MB to map; a note of each child takes 64 KiB."""
    job = json.loads(crashing_job(events, "Ends", 2000, event=0, how="0", when="never").read_text())
    limit = """

class Hungry(forkrun.Filter):
    consumes = ()

    def __init__(self):
        import resource

        from forkrun import _core

        _core.root_version()  # ROOT's interpreter is loaded now
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + 20_000_000,) * 2)

    def filter(self, block):
        return np.ones(len(block), dtype=bool)
"""
    (tmp_path / "mods.py").write_text(MODULES + limit)
    job["modules"][-1]["type"] = f"python:{tmp_path / 'mods.py'}:Hungry"
    job["modules"][-1]["params"] = {}
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 5, ended.err
    assert "use fewer children, or free memory" in ended.err
