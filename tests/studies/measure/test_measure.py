"""`forkrun measure` and `forkrun plan --fit`, with real children."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.files import write_events
from tests.support.jobs import Ended, forkrun, write_job

MODULES = Path(__file__).with_name("modules.py")
MB = 1e6


def measure(*arguments: object, cwd: Path) -> Ended:
    return forkrun("measure", *arguments, cwd=cwd)


def read(file: Path) -> Any:
    return json.loads(file.read_text())


def rows_of(found: Any, owner: str, kind: str) -> list[Any]:
    """Rows of one type, wherever its objects lie; largest private memory first."""
    return [row for row in found["rows"] if (row["owner"], row["type"]) == (owner, kind)]


def total(rows: list[Any], name: str) -> float:
    return float(sum(row[name] for row in rows))


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Two modules, one of which reads conditions and one writes to memory of its own."""
    file = write_events(tmp_path / "in.root", [(1, lumi, 50) for lumi in range(1, 9)])
    return write_job(
        tmp_path,
        {
            "source": {"files": [str(file)]},
            "forking": {"children": 2},
            "conditions": [{"label": "numbers", "type": f"python:{MODULES}:numbers"}],
            "modules": [
                {"label": "reads", "type": f"python:{MODULES}:Reads"},
                {"label": "writes", "type": f"python:{MODULES}:Writes"},
            ],
            "paths": {"all": ["reads", "writes"]},
        },
    )


@pytest.mark.slow
def test_arrays_are_shared_by_all_children_of_the_reference_case(tmp_path: Path) -> None:
    sizes = ("--conditions-mb", 60, "--private-mb", 15, "--children", 3, "--processes", 1)
    options = ("--reference", "arrays", *sizes, "--json", "m.json", "--plots", "plots")
    ended = measure("memory", *options, cwd=tmp_path)
    assert ended.code == 0, ended.err
    found = read(tmp_path / "m.json")
    mix = found["separate"]["mix"]
    assert 60 * MB < mix["shared_bytes"] < 400 * MB
    assert 14 * MB < mix["private_bytes"] < 40 * MB
    assert found["forked"]["children"]["private_bytes"] < 15 * MB + 30 * MB  # not the conditions
    assert 0 < found["saving"] < 1
    assert found["total_separate_bytes"] > 3 * 75 * MB
    assert found["reference_saving"] == pytest.approx(2 * 60 / (3 * 75))
    assert {f.name for f in (tmp_path / "plots").iterdir()} == {
        "memory-processes.png", "memory-processes.svg", "memory-total.png", "memory-total.svg",
    }  # fmt: skip
    assert "points" in ended.out
    published = (740 + 375) * MB  # of a process, with 700 MB of conditions
    points = 100 * found["unshared_bytes_per_child"] / published
    assert points < (0.35 if sys.version_info >= (3, 12) else 0.5)


@pytest.mark.long
def test_every_owner_of_private_memory_is_named(job: Path) -> None:
    ended = measure("unshared", job, "--json", "u.json", "--plots", "plots", cwd=job.parent)
    assert ended.code == 0, ended.err
    found = read(job.parent / "u.json")
    owners = {owner["owner"]: owner for owner in found["owners"]}
    table = rows_of(found, "module writes", "array of float64")
    assert total(table, "at_fork_bytes") == pytest.approx(8 * MB, abs=0.05 * MB)
    assert total(table, "private_bytes") == pytest.approx(4 * MB, abs=0.05 * MB)
    assert next(iter(table[0]["after"])) == "writes"
    array = rows_of(found, "condition numbers", "array of float64")
    assert total(array, "at_fork_bytes") == pytest.approx(8 * MB, abs=0.05 * MB)
    assert total(array, "private_bytes") < 0.1 * MB
    if sys.version_info < (3, 12):  # reading counts references
        numbers = rows_of(found, "condition numbers", "float")
        assert total(numbers, "private_bytes") > 13 * MB
        assert next(iter(numbers[0]["after"])) == "reads"
    assert owners["condition numbers"]["at_fork_bytes"] > 20 * MB
    assert found["private_bytes_per_child"] == pytest.approx(
        sum(row["private_bytes"] for row in found["rows"])
    )
    assert (job.parent / "plots" / "unshared.svg").exists()


@pytest.mark.long
def test_kinds_of_memory_add_up_to_what_each_child_has(job: Path) -> None:
    assert forkrun("run", job, "--memory-detail", "-o", "run", "--quiet", cwd=job.parent).code == 0
    ended = measure("unshared", "run", cwd=job.parent)
    assert ended.code == 0, ended.err
    report, run = read(job.parent / "run/report.json"), job.parent / "run"
    detail = report["memory_detail"]
    assert "module writes" in ended.out
    for text in (ended.out, (run / "report.txt").read_text()):
        assert "Memory of a child by kind" in text
        assert "Became private, by owner, per child" in text
    logs = "".join(log.read_text() for log in (run / "logs").iterdir())
    told = [1024 * int(line.split()[1]) for line in logs.splitlines() if "private: " in line]
    mean = sum(told) / 2
    assert len(told) == 2
    kinds = {each["kind"]: each for each in detail["kinds"]}
    own = sum(each["private_bytes"] + each["new_bytes"] for each in kinds.values())
    assert own == pytest.approx(mean, abs=1 * MB)
    assert kinds["new in calls of modules"]["new_bytes"] == pytest.approx(16 * MB, abs=4 * MB)
    assert kinds["objects of modules"]["private_bytes"] == pytest.approx(4 * MB, abs=0.1 * MB)
    assert kinds["conditions"]["shared_bytes"] > 8 * MB
    at_end = next(each for each in detail["moments"] if each["process"] == "child at the end")
    assert at_end["private_bytes"] == pytest.approx(mean, abs=1 * MB)
    assert at_end["private_bytes"] == sum(at_end["private_by_use_bytes"].values())
    copied = detail["private_bytes_by_child"].values()
    assert sum(copied) / 2 == pytest.approx(detail["private_bytes_per_child"])


@pytest.mark.slow
def test_what_children_import_is_told_with_the_module_that_does_it(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import importlib, forkrun\n"
        "class Late(forkrun.Analyzer):\n"
        "    consumes = ('event',)\n"
        "    def analyze(self, block): importlib.import_module('color' + 'sys')\n"
    )
    file = write_events(tmp_path / "events.root", [(1, 1, 10)])
    description: dict[str, Any] = {"source": {"files": [str(file)]}, "forking": {"children": 1}}
    description["modules"] = [{"label": "late", "type": "python:own.py:Late"}]
    description["paths"] = {"p": ["late"]}
    ended = measure("unshared", write_job(tmp_path, description), "--json", "u.json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert read(tmp_path / "u.json")["imports"] == {"late": ["colorsys"]}
    line = 'module "late" imported 1 Python module in each child, after the fork: colorsys;'
    assert line in ended.out


@pytest.mark.slow
def test_a_run_that_was_not_watched_says_how_to(job: Path) -> None:
    assert forkrun("run", job, "-o", "run", "--quiet", cwd=job.parent).code == 0
    ended = measure("unshared", "run", cwd=job.parent)
    assert ended.code == 3
    assert "--memory-detail" in ended.err


@pytest.mark.long
def test_the_error_of_a_measured_job_is_told_as_its_own(job: Path) -> None:
    for what in ("memory", "unshared"):
        ended = measure(what, job, "--set", "modules.reads.params.x=1", cwd=job.parent)
        assert ended.code == 2
        assert "has no parameter 'x'" in ended.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("memory",), "give a CONFIG"),
        (("memory", "job.json", "--reference", "arrays"), "give a CONFIG"),
        (("memory", "job.json", "--processes", "0"), "at least one"),
        (("unshared", "job.json", "--children", "0"), "at least one child"),
        (("unshared", "."), "not a run directory"),
    ],
)
def test_what_is_asked_for_wrongly_is_said(job: Path, options: tuple[str, ...], words: str) -> None:
    ended = measure(*options, cwd=job.parent)
    assert ended.code == 2
    assert words in ended.err


@pytest.mark.long
def test_a_fit_shows_its_probes_and_what_it_chose_from(job: Path) -> None:
    ended = forkrun("plan", job, "--fit", "--fit-events", 100, "--cores", 2, "--json",
                    cwd=job.parent)  # fmt: skip
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert [probe["n_threads"] for probe in found["probes"]] in ([1], [1, 2])
    assert found["probes"][0]["shared_bytes"] > 30 * MB
    assert found["slot"]["cores"] == {"value": 2, "source": "asked for"}
    shapes = {(row["n_children"], row["n_threads"]) for row in found["rows"]}
    assert {(2, 1), (1, 2)} <= shapes
    assert found["chosen"] in found["rows"]


@pytest.mark.long
def test_a_job_that_fits_nowhere_is_said_to(job: Path) -> None:
    options = ("--fit", "--fit-events", 50, "--cores", 1, "--memory", "20 MB")
    ended = forkrun("plan", job, *options, cwd=job.parent)
    assert ended.code == 2
    assert "nothing fits" in ended.out
