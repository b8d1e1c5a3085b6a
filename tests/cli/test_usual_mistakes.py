"""The usual mistakes of somebody new: each message names the user's own file and line, or the key,
and what to do; none shows how the job runner is made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.files import write_events
from tests.support.jobs import Ended, forkrun

INSIDES = re.compile(
    r"site-packages|/forkrun/(modules|child|parent|schedule)/|PythonModule|EventBlock"
    r"|_core|Traceback|NotImplementedError|pydantic"
)
HEAD = "import awkward as ak\nimport hist\nimport numpy as np\nimport forkrun\n"
JOB = """
[source]
files = ["a.root"]

[[modules]]
label = "mine"
type = "python:mine.py:Mine"

[paths]
skim = ["mine"]

[[outputs]]
label = "events"
paths = ["skim"]
"""
NO_PATH = 'paths = ["skim"]'
"""Taken out of the job where the module is a producer."""


def a_filter(body: str, consumes: str = '"Jet_pt",') -> str:
    return (
        f"class Mine(forkrun.Filter):\n    consumes = ({consumes})\n\n"
        f"    def filter(self, block):\n        {body}\n"
    )


def a_producer(body: str, kind: str = "float32") -> str:
    return (
        'class Mine(forkrun.Producer):\n    consumes = ("Jet_pt",)\n'
        f'    produces = {{"HT": "{kind}"}}\n\n'
        f"    def produce(self, block):\n        {body}\n"
    )


def an_analyzer(body: str) -> str:
    return (
        'class Mine(forkrun.Analyzer):\n    consumes = ("Jet_pt",)\n\n'
        f"    def analyze(self, block):\n        {body}\n"
    )


GOOD = a_filter('return ak.num(block["Jet_pt"]) >= 2')
FILTER_LINE = "mine.py, line 8, in filter"
RETURNED = f"{FILTER_LINE}: def filter(self, block):"
PRODUCED = "mine.py, line 9, in produce: def produce(self, block):"


@dataclass(frozen=True)
class Mistake:
    """`code`: of the module's file, below the imports; `job`: texts of the job that are replaced;
    `says`: what the message has to say."""

    name: str
    code: str
    exit_code: int
    says: tuple[str, ...]
    job: tuple[tuple[str, str], ...] = ()
    is_producer: bool = False


MISTAKES = [
    Mistake(
        "a column that does not exist is consumed",
        a_filter('return ak.num(block["Jet_pT"]) >= 2', consumes='"Jet_pT",'),
        2,
        ('job.toml: module "mine" consumes "Jet_pT"', 'did you mean "Jet_pt"?'),
    ),
    Mistake(
        "a column has a typo in the code",
        a_filter('return ak.num(block["Jet_pT"]) >= 2'),
        5,
        ('"Jet_pT" is not in `consumes`', 'did you mean "Jet_pt"?', "mine.py, line 9, in filter"),
    ),
    Mistake(
        "a column is not declared",
        a_filter('return block["event"] > 2'),
        5,
        ('write consumes = ("Jet_pt", "event",)', "mine.py, line 9, in filter"),
    ),
    Mistake(
        "filter() does not return",
        a_filter('ak.num(block["Jet_pt"]) >= 2'),
        5,
        ("returned None", "`return` may be missing", RETURNED),
    ),
    Mistake(
        "filter() returns numbers",
        a_filter('return np.sqrt(block["event"])', consumes='"event",'),
        5,
        ("returned float64 numbers", "a comparison", RETURNED),
    ),
    Mistake(
        "filter() returns a mask of objects",
        a_filter('return block["Jet_pt"] > 30'),
        5,
        ("returned lists", "ak.any(mask, axis=1)", RETURNED),
    ),
    Mistake(
        "filter() returns a mask of another length",
        a_filter('return ak.to_numpy(ak.flatten(block["Jet_pt"])) > 30'),
        5,
        ("values for ", "one per object", RETURNED),
    ),
    Mistake(
        "a name is not defined",
        a_filter('return ak.num(block["Jet_pt"]) >= n_jets'),
        5,
        ("NameError: name 'n_jets' is not defined", "mine.py, line 9, in filter"),
    ),
    Mistake(
        "a key is missing in a dict of the user's",
        a_filter('return ak.num(block["Jet_pt"]) >= {"n": 2}["m"]'),
        5,
        ("KeyError: 'm'", "mine.py, line 9, in filter"),
    ),
    Mistake(
        "`and` between arrays",
        a_filter('return block["event"] > 2 and block["event"] < 9', consumes='"event",'),
        5,
        ("write & | ~ instead of and, or, not", "mine.py, line 9, in filter"),
    ),
    Mistake(
        "a column is changed in place",
        a_filter('block["event"][0] = 1', consumes='"event",'),
        5,
        ("columns are read-only: change a copy", "mine.py, line 9, in filter"),
    ),
    Mistake(
        "the method is missing",
        'class Mine(forkrun.Filter):\n    consumes = ("Jet_pt",)\n',
        2,
        ("has no method filter(self, events)", "mine.py, line 5: class Mine(forkrun.Filter):"),
    ),
    Mistake(
        "the method is misspelt",
        GOOD.replace("def filter(", "def filtr("),
        2,
        ("has no method filter(self, events)", "rename its filtr()", "mine.py, line 5"),
    ),
    Mistake(
        "the method takes no block",
        GOOD.replace("(self, block)", "(self)"),
        2,
        ("write def filter(self, events)", "mine.py, line 8, in filter: def filter(self):"),
    ),
    Mistake(
        "a producer's column has another length",
        a_producer('return {"HT": ak.flatten(block["Jet_pt"])}'),
        5,
        ('column "HT": wanted one entry for each of ', "one per object", PRODUCED),
        is_producer=True,
    ),
    Mistake(
        "a producer's column has another type",
        a_producer('return {"HT": ak.sum(block["Jet_pt"], axis=1)}', kind="int32"),
        5,
        ("wanted int32, got float", '.astype("int32")', "`produces`", PRODUCED),
        is_producer=True,
    ),
    Mistake(
        "a producer's column has lists",
        a_producer('return {"HT": block["Jet_pt"]}'),
        5,
        ('declare "float32[]"', PRODUCED),
        is_producer=True,
    ),
    Mistake(
        "a producer returns a column of another name",
        a_producer('return {"Ht": ak.sum(block["Jet_pt"], axis=1)}'),
        5,
        ('did not return column "HT"', 'it returned "Ht"', PRODUCED),
        is_producer=True,
    ),
    Mistake(
        "a producer returns no dict",
        a_producer('return ak.sum(block["Jet_pt"], axis=1)'),
        5,
        ("returns a dict of columns, not Array", 'return {"HT": …}', PRODUCED),
        is_producer=True,
    ),
    Mistake(
        "a producer is on a path",
        a_producer('return {"HT": ak.sum(block["Jet_pt"], axis=1)}'),
        2,
        ('job.toml: path "skim" names "mine", a producer', "made on demand"),
    ),
    Mistake(
        "a path names an unknown module",
        GOOD,
        2,
        ('job.toml: paths.skim[0]: no module has the label "mien"', 'did you mean "mine"?'),
        (('["mine"]', '["mien"]'),),
    ),
    Mistake(
        "an input file does not exist",
        GOOD,
        3,
        ("b.root: file not found", 'did you mean "a.root"?', "source.files"),
        (('"a.root"', '"b.root"'),),
    ),
    Mistake(
        "a glob matches nothing",
        GOOD,
        3,
        ("data/*.root: no file matches this pattern", "source.files"),
        (('"a.root"', '"data/*.root"'),),
    ),
    Mistake(
        "the file has no such tree",
        GOOD,
        3,
        ('a.root: no tree "events"', "its trees are: Events", "source.tree"),
        (("[source]", '[source]\ntree = "events"'),),
    ),
    Mistake(
        "a value has the wrong type",
        GOOD,
        2,
        ("job.toml: forking.children: should be a valid integer, not 'four'",),
        (("[paths]", '[forking]\nchildren = "four"\n\n[paths]'),),
    ),
    Mistake(
        "a column of keep has a typo",
        GOOD,
        2,
        ('outputs "events": keep:', '"Jet_pT"', 'did you mean "Jet_pt"?'),
        ((NO_PATH, f'{NO_PATH}\nkeep = ["Jet_pT"]'),),
    ),
    Mistake(
        "a histogram that is filled does not exist",
        an_analyzer('self.pt.fill(ak.flatten(block["Jet_pt"]))'),
        5,
        ("has no attribute 'pt'", "mine.py, line 9, in analyze"),
    ),
    Mistake(
        "a histogram is booked without a name",
        an_analyzer("pass")
        + "\n    def __init__(self):\n        self.book(hist.Hist.new.Reg(9, 0, 9).Double())\n",
        2,
        ("missing 1 required positional argument: 'histogram'", "mine.py, line 12: self.book("),
    ),
    Mistake(
        "a condition's file is missing",
        GOOD,
        2,
        ('condition "sf": file not found', "sf.json"),
        (("[paths]", '[[conditions]]\nlabel = "sf"\ntype = "json"\nfile = "sf.json"\n\n[paths]'),),
    ),
    Mistake(
        "the module's file has a wrong syntax",
        GOOD.replace("block):", "block)"),
        2,
        ("SyntaxError: expected ':'", "mine.py, line 8: def filter(self, block)"),
    ),
    Mistake(
        "the module imports what is not there",
        "import nupmy\n" + GOOD,
        2,
        ("No module named 'nupmy'", "mine.py, line 5: import nupmy"),
    ),
    Mistake(
        "the class has another name",
        GOOD,
        2,
        ("has no class 'Mein'", 'did you mean "Mine"?'),
        (("mine.py:Mine", "mine.py:Mein"),),
    ),
    Mistake(
        "an object is accumulated that cannot be added",
        an_analyzer('self.accumulate("pt", np.random.default_rng())'),
        5,
        ("a Generator cannot be accumulated", "book a histogram", "mine.py, line 9, in analyze"),
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_events(tmp_path / "a.root", [(1, 1, 100), (1, 2, 100)])
    return tmp_path


def write(folder: Path, code: str, job: str = JOB) -> None:
    (folder / "mine.py").write_text(HEAD + code)
    (folder / "job.toml").write_text(job)


def make(folder: Path, mistake: Mistake) -> None:
    job = JOB
    if mistake.is_producer:
        job = job.replace('[paths]\nskim = ["mine"]\n', "").replace(NO_PATH, "")
    for old, new in mistake.job:
        assert old in job
        job = job.replace(old, new)
    write(folder, mistake.code, job)


def check_message(ended: Ended, mistake: Mistake) -> None:
    assert ended.code == mistake.exit_code, ended.err
    for part in mistake.says:
        assert part in ended.err
    assert not INSIDES.search(ended.err), ended.err


@pytest.mark.quick_cases(10)
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_check_says_what_is_wrong_where_and_what_to_do(folder: Path, mistake: Mistake) -> None:
    make(folder, mistake)
    check_message(forkrun("check", "job.toml", cwd=folder), mistake)


IN_EVENTS = [mistake for mistake in MISTAKES if mistake.exit_code == 5]


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("mistake", IN_EVENTS[::3], ids=lambda mistake: mistake.name)
def test_a_job_says_the_same(folder: Path, mistake: Mistake) -> None:
    make(folder, mistake)
    one_block = ["--set", "threads.block_size=1000", "--set", "forking.min_unit_events=1000"]
    ended = forkrun("run", "job.toml", "-q", "--children", 1, *one_block, cwd=folder)
    assert ended.code == 5
    for part in mistake.says:
        if "200" not in part:
            assert part in ended.err
    assert not INSIDES.search(ended.err), ended.err
    assert "nothing is committed yet: fix the module, and run the same command again" in ended.err


def test_a_job_that_committed_nothing_begins_anew_when_its_module_is_mended(folder: Path) -> None:
    write(folder, a_filter('return ak.num(block["Jet_pt"]) >= n_jets'))
    command = ("run", "job.toml", "-q", "--children", 1)
    assert forkrun(*command, cwd=folder).code == 5
    write(folder, GOOD)
    ended = forkrun(*command, cwd=folder)
    assert (ended.code, ended.err) == (0, "")


def test_all_that_is_wrong_is_said_at_once(folder: Path) -> None:
    """Two files, two conditions and a class: each would have hidden the next."""
    job = JOB.replace('"a.root"', '"a.root", "b.root", "c.root"')
    for label in ("sf", "jec"):
        job += f'[[conditions]]\nlabel = "{label}"\ntype = "json"\nfile = "{label}.json"\n'
    write(folder, GOOD.replace("def filter(", "def filtr("), job)
    ended = forkrun("check", "job.toml", cwd=folder)
    assert ended.code == 2
    assert "5 problems" in ended.err
    for part in ("b.root", "c.root", "sf.json", "jec.json", "rename its filtr()"):
        assert part in ended.err


WARNED = """
N = 0

class Mine(forkrun.Analyzer):
    consumes = ("Jet_pt",)

    def __init__(self):
        self.n_jets = 0
        self.pt = hist.Hist.new.Reg(9, 0, 90).Double()

    def analyze(self, block):
        global N
        N += len(block)
        self.n_jets += len(ak.flatten(block["Jet_pt"]))
        self.pt.fill(ak.flatten(block["Jet_pt"]))
        print("in", len(block))

class Highest(forkrun.Producer):
    consumes = ("Jet_pt",)
    produces = {"Jet_highest": "float32"}

    def produce(self, block):
        return {"Jet_highest": ak.max(block["Jet_pt"], axis=1)}

class Idle(Highest):
    produces = {"Jet_idle": "float32"}

class Cut(forkrun.Filter):
    def filter(self, block):
        return block.events > 3
"""
WARNED_JOB = """
[source]
files = ["a.root"]

[forking]
children = 2

[[outputs]]
label = "events"
keep = ["Jet_highest"]
""" + "".join(
    f'[[modules]]\nlabel = "{name.lower()}"\ntype = "python:mine.py:{name}"\n'
    for name in ("Mine", "Highest", "Idle", "Cut")
)
WARNINGS = (
    'module "idle": no module or output uses its columns (Jet_idle), so it does not run',
    'module "cut": a filter on no path does not run',
    'module "mine": the histogram self.pt is not booked',
    'module "mine": self.n_jets changed in children',
    'module "mine": the global N changed in children',
    'column "Jet_highest" has None for some events: NaN was written',
)


def test_what_is_lost_is_said_once_in_the_report(folder: Path) -> None:
    write(folder, WARNED, WARNED_JOB)
    ended = forkrun("run", "job.toml", "-o", "run", cwd=folder)
    assert ended.code == 0, ended.err
    assert "  Warning   " in ended.out
    report = " ".join((folder / "run/report.txt").read_text().split())
    for warning in (*WARNINGS, "modules or libraries printed something: it is in"):
        assert report.count(warning) == 1, report
    assert "in 10" not in ended.err
    shown = forkrun("run", "job.toml", "-o", "run-2", "--logs", cwd=folder)
    assert re.search(r"^child \d: in \d+$", shown.err, re.MULTILINE)


def test_strict_makes_warnings_errors(folder: Path) -> None:
    write(folder, WARNED, WARNED_JOB)
    ended = forkrun("check", "job.toml", cwd=folder)
    assert ended.code == 0, ended.err
    assert all(f"forkrun: warning: job.toml: {warning}" in ended.err for warning in WARNINGS)
    strict = forkrun("check", "job.toml", "--strict", cwd=folder)
    assert strict.code == 2
    assert all(f"job.toml: {warning}" in strict.err for warning in WARNINGS)


def test_a_job_without_doubts_has_no_warnings(folder: Path) -> None:
    write(folder, GOOD)
    ended = forkrun("run", "job.toml", "-o", "run", cwd=folder)
    assert ended.code == 0, ended.err
    assert "Warning" not in ended.out
    assert forkrun("check", "job.toml", "--strict", cwd=folder).code == 0
