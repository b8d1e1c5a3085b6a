"""Modules are tried with the first event, then with more as long as that takes little time."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forkrun.config.read import validate
from forkrun.errors import ConfigError, ForkrunError, JobError, ModuleError
from forkrun.index import read as cache
from forkrun.parent.preparation import prepare
from tests.support.files import write_events
from tests.support.jobs import forkrun as command
from tests.support.jobs import write_job

NOTE = """
import json, os, signal, time
import numpy as np
import forkrun

def note(block):
    with open(os.environ["NOTES"], "a") as file:
        print(len(block), file=file)

def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """Numbers of events of each call of `note`."""
    file = tmp_path / "notes"
    file.touch()
    monkeypatch.setenv("NOTES", str(file))
    return lambda: [int(line) for line in file.read_text().split()]


def described(folder: Path, code: str, n_events: int = 3000, **more: Any) -> dict[str, Any]:
    """A job of the functions and classes `make`, `cut`, `read` of this code."""
    (folder / "own.py").write_text(NOTE + code)
    file = write_events(folder / "events.root", [(1, 1, n_events)])
    kinds = {"make": "producer", "cut": "filter", "read": "analyzer", "Make": None, "Read": None}
    modules = [
        {"label": name, "type": f"python:{folder}/own.py:{name}"} | ({"kind": kind} if kind else {})
        for name, kind in kinds.items()
        if f"def {name}(" in code or f"class {name}(" in code
    ]
    on_path = [m["label"] for m in modules if m["label"] in ("cut", "read", "Read")]
    job = {"source": {"files": [str(file)]}, "forking": {"children": 1}, "modules": modules}
    return {**job, "paths": {"p": on_path} if on_path else {}, **more}


def prepared(folder: Path, code: str, n_events: int = 3000, **more: Any) -> Any:
    return prepare(validate(described(folder, code, n_events, **more), "the job"))


def test_fast_functions_are_tried_with_a_thousand_events(
    tmp_path: Path, notes: Callable[[], list[int]]
) -> None:
    code = "def make(block):\n    note(block)\n    return {'z': block['nJet'] * 1.0}\n"
    job = prepared(tmp_path, code)
    sizes = notes()
    assert (sizes[0], sizes[-1]) == (1, 1000)
    assert job.schedule.found.n_tried == 1000
    assert job.schedule.found.modules == {"make": (["nJet"], {"z": "float64"})}


def test_modules_are_tried_again_only_if_the_answer_may_be_another(tmp_path: Path) -> None:
    """Kept findings are changed here by a column, which shows that they are used."""
    code = (
        "LEAST = 2\ndef least():\n    return LEAST\n"
        "class Read(forkrun.Analyzer):\n"
        "    def analyze(self, block):\n        block['nJet'] > least()\n"
        "def cut(block):\n    return block['nJet'] > 0\n"
        "def read(block):\n    block['Jet_pt'] > 1\n"
    )
    first = write_events(tmp_path / "first.root", [(1, 1, 1500)])
    more = write_events(tmp_path / "more.root", [(1, 2, 100)])

    def n_used(code: str, *files: Path) -> int:
        """Modules whose kept findings a job uses."""
        kept = tmp_path / "cache"
        for place in kept.glob("index/*/*.msgpack"):
            found = cache._read(str(place)) or {}
            if "reads" in found:
                read = {"cut": "run", "read": "event"}.get(found["label"], "luminosityBlock")
                cache._write(str(place), {**found, "reads": [*found["reads"], read]})
        job = described(tmp_path, code, 1, source={"files": [str(each) for each in files]})
        env = {**os.environ, "FORKRUN_CACHE": str(kept)}
        checked = command("check", write_job(tmp_path, job), cwd=tmp_path, env=env)
        assert checked.code == 0, checked.err
        return int(re.search(r"read (\d+) of", checked.out)[1]) - 2  # type: ignore[index]

    # Lengths differ: Python does not see an edit of the same second and length.
    assert n_used(code, first) == 0
    assert n_used(f"# comment\n{code}", first, more) == 3
    assert n_used(code.replace("LEAST = 2", "LEAST = 30"), first) == 1  # of `read`
    assert n_used(code.replace("> 0", "> 100"), first) == 0
    outside = code.replace("block['Jet_pt'] > 1", "block['Jet_pt'] > len(os.environ)")
    assert n_used(outside, first) == 1  # of `Read`


@pytest.mark.slow
def test_slow_functions_are_tried_with_one_event(
    tmp_path: Path, notes: Callable[[], list[int]]
) -> None:
    code = (
        "def make(block):\n    note(block)\n    busy(1.5 * len(block))\n"
        "    return {'z': block['nJet'] * 1.0}\n"
    )
    job = prepared(tmp_path, code)
    assert notes() == [1]
    assert job.schedule.found.modules == {"make": (["nJet"], {"z": "float64"})}


@pytest.mark.slow
def test_time_for_more_events_is_that_of_two_seconds(
    tmp_path: Path, notes: Callable[[], list[int]]
) -> None:
    code = (
        "def make(block):\n    note(block)\n    busy(0.05 * len(block))\n"
        "    return {'z': block['nJet'] * 1.0}\n"
    )
    prepared(tmp_path, code)
    assert sum(notes()) * 0.05 <= 2.0


@pytest.mark.slow
def test_a_round_that_takes_longer_than_it_should_is_ended(
    tmp_path: Path, notes: Callable[[], list[int]]
) -> None:
    code = (
        "def make(block):\n    note(block)\n    busy(600 * (len(block) > 1))\n"
        "    return {'z': block['nJet'] * 1.0}\n"
    )
    start_s = time.monotonic()
    job = prepared(tmp_path, code)
    assert notes()[0] == 1
    assert time.monotonic() - start_s < 300
    assert job.schedule.found.modules == {"make": (["nJet"], {"z": "float64"})}


def test_a_type_that_the_first_event_does_not_show_is_that_of_more(tmp_path: Path) -> None:
    code = (
        "def make(block):\n"
        "    return {'x': [[] if e % 10 else [1, 2] for e in block.events],"
        " 'y': [1 if e < 20 else 1.5 for e in block.events]}\n"
    )
    found = prepared(tmp_path, code).schedule.found
    assert found.modules["make"][1] == {"x": "int64[]", "y": "float64"}


def test_columns_that_the_first_event_does_not_need_are_those_of_more(tmp_path: Path) -> None:
    code = (
        "def make(block):\n"
        "    z = block['nJet'] * 1.0\n"
        "    return {'z': z + block['event'] if len(block) > 100 else z}\n"
    )
    assert prepared(tmp_path, code).schedule.found.modules["make"][0] == ["nJet", "event"]


@pytest.mark.slow
def test_columns_named_in_a_slow_function_are_read_whether_its_first_event_needs_them(
    tmp_path: Path,
) -> None:
    code = (
        "def make(block):\n"
        "    busy(1.5 * len(block))\n"
        "    if (block.events > 100).any():\n"
        "        return {'z': block['nJet'] + block.Jet.pt[:, 0]}\n"
        "    return {'z': block['event'] * 1.0}\n"
    )
    found = prepared(tmp_path, code).schedule.found.modules["make"]
    assert (sorted(found[0]), found[1]) == (["Jet_pt", "event", "nJet"], {"z": "float64"})


def test_a_function_that_fails_with_one_event_alone_is_tried_with_more(tmp_path: Path) -> None:
    code = (
        "def make(block):\n"
        "    if len(block) == 1: raise ValueError('too few')\n"
        "    return {'z': block['nJet'] * 1.0}\n"
    )
    found = prepared(tmp_path, code).schedule.found
    assert found.modules["make"] == (["nJet"], {"z": "float64"})


def test_a_function_that_no_event_comes_to_is_called_with_the_first_all_the_same(
    tmp_path: Path,
) -> None:
    code = (
        "def cut(block):\n    return block['nJet'] > 1000\n"
        "def read(block):\n    block['nJ' + 'et']\n    block.selected['Jet' + '_pt'].nothing\n"
    )
    found = prepared(tmp_path, code).schedule.found
    assert found.modules["read"][0] == ["nJet", "Jet_pt"]


def test_a_filter_that_refuses_all_is_not_tried_with_more(
    tmp_path: Path, notes: Callable[[], list[int]]
) -> None:
    prepared(tmp_path, "def cut(block):\n    note(block)\n    return block['nJet'] > 1000\n")
    assert max(notes()) == 1000


_FAILS = """
def inner(block):
    if (block.events == EVENT).any():
        FAIL
def make(block):
    inner(block)
    return {'z': block['nJet'] * 1.0}
"""
_KILL = "os.kill(os.getpid(), signal.SIGSEGV)"


def failing(event: int, how: str) -> str:
    return _FAILS.replace("EVENT", str(event)).replace("FAIL", how)


def error_of(folder: Path, code: str, **more: Any) -> ForkrunError:
    with pytest.raises(ForkrunError) as caught:
        prepared(folder, code, 3000, **more)
    return caught.value


@pytest.mark.parametrize("place", [0, 700])
def test_an_exception_names_the_event_and_the_line(tmp_path: Path, place: int) -> None:
    events = event_numbers(tmp_path)
    error = error_of(tmp_path, failing(events[place], "raise ValueError('no such jet')"))
    assert type(error) is ModuleError
    first, *lines = str(error).splitlines()
    assert first == f'module "make" failed at 1:1, event {events[place]}: ValueError: no such jet'
    assert re.search(r"own\.py, line \d+, in make: inner\(block\)", lines[0])
    assert re.search(r"own\.py, line \d+, in inner: raise ValueError", lines[1])


def event_numbers(folder: Path) -> list[int]:
    file = write_events(folder / "numbers.root", [(1, 1, 3000)])
    import uproot

    with uproot.open(file) as opened:
        return [int(n) for n in opened["Events"]["event"].array()]


def test_a_crash_at_the_first_event_names_it_with_the_lines(tmp_path: Path) -> None:
    first = event_numbers(tmp_path)[0]
    error = error_of(tmp_path, failing(first, _KILL))
    assert type(error) is JobError
    said, *lines = str(error).splitlines()
    assert said == f'module "make" failed at 1:1, event {first}: killed by signal 11 (SIGSEGV)'
    assert re.search(r"own\.py, line \d+, in make: inner\(block\)", lines[0])
    assert re.search(r"own\.py, line \d+, in inner: os\.kill", lines[1])
    assert lines[2] == (
        f"it is entry 0 of {tmp_path}/events.root; leave such events out:"
        ' recovery.on_bad_event = "skip"'
    )


@pytest.mark.slow
def test_a_hang_at_the_first_event_names_it_with_the_lines(tmp_path: Path) -> None:
    first = event_numbers(tmp_path)[0]
    error = error_of(tmp_path, failing(first, "time.sleep(1e6)"), recovery={"hang_timeout": 1})
    said, *lines = str(error).splitlines()
    assert said == (
        f'module "make" failed at 1:1, event {first}: it did not end within 1 s'
        " (recovery.hang_timeout)"
    )
    assert re.search(r"own\.py, line \d+, in inner: time\.sleep", lines[1])


@pytest.mark.parametrize("how", ["raise ValueError('no such jet')", _KILL])
def test_an_event_that_is_to_be_left_out_does_not_end_the_trial(tmp_path: Path, how: str) -> None:
    first = event_numbers(tmp_path)[0]
    job = prepared(tmp_path, failing(first, how), recovery={"on_bad_event": "skip"})
    assert job.schedule.found.modules["make"] == (["nJet"], {"z": "float64"})


def test_a_module_that_crashes_at_any_event_ends_the_job_all_the_same(tmp_path: Path) -> None:
    code = f"def make(block):\n    {_KILL}\n"
    error = error_of(tmp_path, code, recovery={"on_bad_event": "skip"})
    assert "killed by signal 11 (SIGSEGV)" in str(error)


@pytest.mark.slow
def test_a_crash_at_a_later_event_is_that_of_the_job(tmp_path: Path) -> None:
    late = event_numbers(tmp_path)[700]
    job = described(tmp_path, failing(late, _KILL), outputs=[{"label": "o"}])
    ended = command("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 5
    assert f"event 1:1:{late} crashes the child that processes it" in ended.err


def test_a_callback_that_fails_is_named(tmp_path: Path) -> None:
    code = (
        "class Make(forkrun.Producer):\n"
        "    def begin_job(self):\n        raise OSError('no model')\n"
        "    def produce(self, block):\n        return {'z': block['nJet']}\n"
    )
    error = error_of(tmp_path, code)
    assert str(error).startswith('module "Make" failed in begin_job(): OSError: no model\n')
    assert re.search(r"own\.py, line \d+, in begin_job: raise OSError", str(error))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"paths": {"p": ["make"]}}, 'path "p" names "make", a producer'),
        (
            {"modules": [{"label": "x", "kind": "filter", "consumes": ["nJett"]}]},
            'module "x" consumes "nJett", which no module makes; did you mean "nJet"?',
        ),
    ],
)
def test_what_needs_no_call_is_said_before_any(
    tmp_path: Path, notes: Callable[[], list[int]], more: dict[str, Any], words: str
) -> None:
    code = "def make(block):\n    note(block)\n    return {'z': block['nJet'] * 1.0}\n"
    job = described(tmp_path, code)
    job["modules"][0]["produces"] = {"z": "float64"}
    own = {"type": job["modules"][0]["type"]}
    job["modules"] += [module | own for module in more.pop("modules", [])]
    with pytest.raises(ConfigError, match=re.escape(words)):
        prepare(validate(job | more, "the job"))
    assert notes() == []


@pytest.mark.slow
def test_a_slow_filter_and_what_stands_behind_it_start_with_two_calls(
    tmp_path: Path, notes: Callable[[], list[int]]
) -> None:
    code = (
        "def cut(block):\n    note(block)\n    busy(1.2 * len(block))\n"
        "    return block['nJet'] > 1000\n"
        "def read(block):\n    note(block)\n    busy(1.2 * len(block))\n    block['event']\n"
    )
    found = prepared(tmp_path, code).schedule.found
    assert notes() == [1, 1]
    assert found.modules["read"][0] == ["event"]


def test_parts_of_first_events_are_those_of_the_whole(tmp_path: Path) -> None:
    """Entries, lumis and event numbers of a part, in files and lumis that it cuts."""
    from forkrun.schedule.input_branches import InputBranches
    from forkrun.schedule.trial.first_events import first_events

    files = [
        write_events(tmp_path / f"{n}.root", [(1, 2 * n, 5), (1, 2 * n + 1, 4)]) for n in (1, 2)
    ]
    job = prepare(validate({"source": {"files": [str(f) for f in files]}}, "the job"))
    whole = first_events(
        job.config.source, InputBranches.of(list(_index(job))), job.plan.units,
        range(len(job.plan.units)), 100, one_lumi=False,
    )  # fmt: skip
    assert len(whole) == 18
    for first in range(18):
        for last in range(first, 19):
            part = whole.part(first, last)
            assert part.events.tolist() == whole.events[first:last].tolist()
            spans = [(lumi, end - begin) for _, lumi, begin, end in part.lumis]
            expected = [
                (lumi, min(end, last) - max(begin, first))
                for _, lumi, begin, end in whole.lumis
                if min(end, last) > max(begin, first)
            ]
            assert spans == expected
            assert [begin for *_, begin, _ in part.lumis] == [
                sum(n for _, n in spans[:k]) for k in range(len(spans))
            ]


def _index(job: Any) -> Any:
    from forkrun.parent.preparation import PlannedJob

    return PlannedJob.of(job.config, None, time.time()).index
