"""The usual mistakes of somebody who builds a job in Python: what the program shows when it ends
has the line of the program, what is wrong and what to do, once, and nothing of the job runner."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.files import write_events
from tests.support.jobs import ROOT, Ended, program

HEAD = 'import awkward as ak\nimport forkrun\njob = forkrun.Job("a.root")\n'
RUN = "job.run(children=1, quiet=True)\n"
INSIDES = re.compile(
    rf"{ROOT}/forkrun|site-packages|functions\.py|PythonModule|_per_event|<expression"
)


@dataclass(frozen=True)
class Mistake:
    """`code`: from the fourth line on; `says`: what has to be shown."""

    name: str
    code: str
    says: tuple[str, ...]


MISTAKES = [
    Mistake(
        "a column of an expression has a typo",
        'job.hist("Jet_pT", (50, 0, 100))\n',
        (
            'neither the input nor a module has "Jet_pT"; did you mean "Jet_pt"?',
            'analysis.py, line 4, in expression: job.hist("Jet_pT", (50, 0, 100))',
        ),
    ),
    Mistake(
        "an expression has a wrong syntax",
        'job.define("a", "event")\njob.filter("event >= ")\n',
        ("analysis.py, line 5): 'event >= ' is not an expression",),
    ),
    Mistake(
        "a collection has a typo",
        "@job.filter\ndef two(block):\n    return ak.num(block.Jat) >= 2\n",
        ('has "Jat"; did you mean "Jet"?', "analysis.py, line 6, in two: return ak.num("),
    ),
    Mistake(
        "a filter gives a value per object",
        "@job.filter\ndef hard(block):\n    return block.Jet.pt > 20\n",
        (
            "hard() returned lists",
            "use ak.any(mask, axis=1)",
            "analysis.py, line 5, in hard: def hard(block):",
        ),
    ),
    Mistake(
        "the expression of a filter gives a value per object",
        'job.filter("Jet_pt > 20")\n',
        (
            "the expression returned lists",
            'analysis.py, line 4, in expression: job.filter("Jet_pt > 20")',
        ),
    ),
    Mistake(
        "`return` is missing",
        "@job.filter\ndef late(block):\n    block.event > 20\n",
        ("late() returned None", "`return` may be missing", "line 5, in late: def late(block):"),
    ),
    Mistake(
        "a column of integers has no value for some events",
        'job.define("lead", "argmax(Jet_pt[9:])").hist("lead", (9, 0, 9))\n',
        (
            "column 'lead' has missing values (None), which only floating-point numbers may be:"
            " take fill_none(…, 0)",
            'analysis.py, line 4, in expression: job.define("lead"',
        ),
    ),
    Mistake(
        "a name is not defined in a function that another calls",
        "def cut(jets):\n    return jets.pt > minimum\n\n\n@job.filter\ndef hard(block):\n"
        "    return ak.any(cut(block.Jet), axis=1)\n",
        ("name 'minimum' is not defined", "analysis.py, line 5, in cut: return jets.pt > minimum"),
    ),
    Mistake(
        "a histogram has no axes",
        'job.hist("event")\n',
        ('job.hist("event", (50, 0, 200))', 'line 4, in <module>\n    job.hist("event")'),
    ),
    Mistake(
        "a histogram is there twice",
        'job.hist("event", (9, 0, 9))\njob.hist("event", (20, 0, 9))\n',
        ("line 4) and", "line 5); give one another name: name=", "line 5, in <module>"),
    ),
    Mistake(
        "a section is misspelt",
        'job.configure(thread={"per_child": 2}).hist("event", (9, 0, 9))\n',
        ('thread: unknown key; did you mean "threads"?', "line 5, in <module>"),
    ),
    Mistake(
        "comparisons stand beside & without parentheses",
        'job.filter("event >= 2 & event > 1.5")\n',
        ("line 4): 'event >= 2 & event > 1.5': write && and ||, or put",),
    ),
    Mistake(
        "events are chosen by a mask of objects",
        "@job.filter\ndef hard(block):\n    return block[block.Jet.pt > 3].event > 2\n",
        ("events[…] takes the name of a column, or one bool per event", "line 6, in hard"),
    ),
]


def done_by(folder: Path, code: str) -> Ended:
    (folder / "analysis.py").write_text(HEAD + code)
    return program("analysis.py", cwd=folder)


def shown(folder: Path, code: str) -> str:
    """What the program shows of its error."""
    done = done_by(folder, code)
    assert done.code == 1
    assert done.out == ""
    return done.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_events(tmp_path / "a.root", [(1, 1, 100), (1, 2, 100)])
    return tmp_path


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_program_shows_its_own_line_and_what_to_do(folder: Path, mistake: Mistake) -> None:
    text = shown(folder, mistake.code + RUN)
    for part in mistake.says:
        assert part in text, text
    assert not INSIDES.search(text), text
    assert text.count("Error: ") <= 2  # forkrun's, and that of the module
    assert text.count(mistake.says[0]) == 1, text


LATE = """
@job.filter(consumes=("event",))
def odd(block):
    if (block.event == 137).any():
        raise ValueError("odd")
    return block.event > 0


units = {"distribution": "lumi"}
"""
STOPS = re.compile(r"in one process: (job\.configure.*)")


def test_what_a_program_is_told_to_do_stops_at_the_very_event(folder: Path) -> None:
    text = shown(folder, LATE + "job.configure(forking=units)\n" + RUN)
    found = STOPS.search(text)
    assert found
    again = shown(folder, f"{LATE}{found[1]}\n")
    assert 'module "odd" failed at 1:2, event 137: ValueError: odd' in again


def test_errors_that_are_caught_or_are_not_of_forkrun_are_as_ever(folder: Path) -> None:
    caught = "try:\n    job.hist('event')\nexcept forkrun.ConfigError as error:\n    raise KeyError"
    text = shown(folder, caught)
    assert "During handling of the above exception" in text
    assert "job.py" in text or "path.py" in text


HARD = """
import numpy as np
@job.filter
def hard(block):
    return ak.any(block.Jet.pt > 20, axis=1)
"""


def test_a_program_checks_its_job_without_running_it(folder: Path) -> None:
    done = done_by(folder, f"{HARD}job.check()\n")
    assert done.code == 0, done.err
    assert "analysis.py: this job can run: 200 events" in done.out
    assert "modules were called with the first 200 events" in done.out
    assert sorted(path.name for path in folder.iterdir()) == ["a.root", "analysis.py"]


def test_a_check_names_all_problems_with_the_programs_lines(folder: Path) -> None:
    files = "job.configure(source={'files': ['a.root', 'b.root']})\n"
    text = shown(folder, f"{HARD}{files}job.hist('Jet_pT', (50, 0, 100))\njob.check()\n")
    assert "b.root: file not found" in text
    assert 'neither the input nor a module has "Jet_pT"; did you mean "Jet_pt"?' in text
    assert "analysis.py, line 10, in expression: job.hist('Jet_pT'" in text
    assert not INSIDES.search(text), text


def test_warnings_are_problems_of_a_strict_check(folder: Path) -> None:
    code = f"{HARD}job.define('twice', '2 * Jet_pt')\n"
    warned = done_by(folder, f"{code}job.check()\n")
    assert warned.code == 0, warned.err
    assert "warning: " in warned.err
    assert "twice" in shown(folder, f"{code}job.check(strict=True)\n")
