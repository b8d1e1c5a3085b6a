"""A format that another package brings: indexed, planned, processed, skimmed and merged by name."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

from forkrun.formats import format_of
from tests.support.files import write_events as write_root_events
from tests.support.jobs import Ended, forkrun, write_job

TOY = Path(__file__).with_name("csv_columns.py")
MODULE = """
from forkrun import Filter, Producer

class Twice(Producer):
    consumes = ["x"]
    produces = {"twice": "float64"}
    def produce(self, block):
        return {"twice": block.x * 2.0}

class Above(Filter):
    consumes = ["twice"]
    def filter(self, block):
        return block.twice > 100.0
"""
IDS = {"run_branch": "run", "lumi_branch": "luminosityBlock", "event_branch": "event"}


@pytest.fixture
def package(tmp_path: Path) -> dict[str, str]:
    """Environment in which a package with the toy format is installed."""
    folder = tmp_path / "site"
    entries = folder / "toy-1.0.dist-info" / "entry_points.txt"
    entries.parent.mkdir(parents=True)
    copy(TOY, folder)
    entries.write_text("[forkrun.formats]\ncsv = csv_columns:CsvColumns\n")
    (entries.parent / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    return {**os.environ, "PYTHONPATH": str(folder)}


def write_events(file: Path, first: int, n: int) -> Path:
    lines = ["run:uint32,luminosityBlock:uint32,event:uint64,x:float32"]
    lines += [f"1,{1 + i // 50},{i},{i % 70}.5" for i in range(first, first + n)]
    file.write_text("\n".join(lines) + "\n")
    return file


def job(tmp_path: Path, **more: Any) -> Path:
    (tmp_path / "twice.py").write_text(MODULE)
    settings = {
        "source": {"files": ["*.csv"], "tree": "", **IDS},
        "modules": [
            {"label": "twice", "type": "python:twice.py:Twice"},
            {"label": "above", "type": "python:twice.py:Above"},
        ],
        "paths": {"main": ["above"]},
        "outputs": [{"label": "skim", "paths": ["main"], "format": "csv", "drop": ["x"], **more}],
    }
    return write_job(tmp_path, settings)


def rows_of(file: Path) -> list[list[str]]:
    return list(csv.reader(file.read_text().splitlines()))


def run(tmp_path: Path, package: dict[str, str], children: int, *more: str) -> Ended:
    name = f"run{children}{len(more)}"
    arguments = ["-o", tmp_path / name, "--children", children, *more]
    return forkrun("run", job(tmp_path), *arguments, cwd=tmp_path, env=package)


@pytest.mark.slow
def test_a_skim_has_what_the_rows_say_for_any_number_of_children(
    tmp_path: Path, package: dict[str, str]
) -> None:
    write_events(tmp_path / "a.csv", 0, 330)
    write_events(tmp_path / "b.csv", 330, 170)
    assert TOY.read_text().count("\n") <= 150
    checked = forkrun("check", job(tmp_path), cwd=tmp_path, env=package)
    assert checked.code == 0, checked.err
    planned = forkrun("plan", job(tmp_path), "--json", cwd=tmp_path, env=package)
    assert planned.code == 0, planned.err
    expected = [["run:uint32", "luminosityBlock:uint32", "event:uint64", "twice:float64"]]
    for i in range(500):
        if i % 70 > 49:
            x = i % 70 + 0.5
            expected.append(["1", str(1 + i // 50), str(i), str(2 * x)])
    made = set()
    for children in (0, 1, 3):
        ended = run(tmp_path, package, children)
        assert ended.code == 0, ended.err
        skim = tmp_path / f"run{children}0" / "output" / "skim.csv"
        assert rows_of(skim) == expected
        made.add(skim.read_bytes())
        again = forkrun("resume", tmp_path / f"run{children}0", cwd=tmp_path, env=package)
        assert again.code == 0, again.err
        assert skim.read_bytes() in made
    assert len(made) == 1


def test_outputs_of_a_job_may_be_of_several_formats(
    tmp_path: Path, package: dict[str, str]
) -> None:
    events = write_root_events(tmp_path / "a.root", [(1, 1, 30), (1, 2, 20)])
    keep = ["run", "luminosityBlock", "event"]
    of_root = {
        "source": {"files": [str(events)]},
        "outputs": [
            {"label": "trees", "keep": keep},
            {"label": "lines", "keep": keep, "format": "csv"},
        ],
    }
    file = write_job(tmp_path, of_root)
    ended = forkrun("run", file, "-o", "of_root", "--children", 2, cwd=tmp_path, env=package)
    assert ended.code == 0, ended.err
    rows = [["1", str(1 + (i > 30)), str(i)] for i in range(1, 51)]
    assert rows_of(tmp_path / "of_root/output/lines.csv")[1:] == rows
    pq = pytest.importorskip("pyarrow.parquet")
    write_events(tmp_path / "a.csv", 0, 330)
    file = job(tmp_path, format="parquet")
    ended = forkrun("run", file, "-o", "of_csv", "--children", 2, cwd=tmp_path, env=package)
    assert ended.code == 0, ended.err
    table = pq.read_table(tmp_path / "of_csv/output/skim.parquet")
    assert table["event"].to_pylist() == [i for i in range(330) if i % 70 > 49]


def test_its_columns_are_listed(tmp_path: Path, package: dict[str, str]) -> None:
    write_events(tmp_path / "a.csv", 0, 10)
    ended = forkrun("columns", "a.csv", "--tree", "", "x", cwd=tmp_path, env=package)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "name  type", "x     float32", "", f"1 column; sizes are those of {tmp_path / 'a.csv'}",
    ]  # fmt: skip


def test_files_are_merged(tmp_path: Path, package: dict[str, str]) -> None:
    first, second = (write_events(tmp_path / f"{n}.csv", n * 10, 10) for n in (0, 1))
    ended = forkrun("merge", tmp_path / "all.csv", first, second, cwd=tmp_path, env=package)
    assert ended.code == 0, ended.err
    assert rows_of(tmp_path / "all.csv") == [*rows_of(first), *rows_of(second)[1:]]


def test_input_of_two_formats_and_output_of_another_are_refused(
    tmp_path: Path, package: dict[str, str]
) -> None:
    write_events(tmp_path / "a.csv", 0, 10)
    ended = forkrun("check", job(tmp_path, format="ttree"), cwd=tmp_path, env=package)
    assert ended.code == 2
    assert 'outputs.skim: format "ttree" cannot be made of files of format "csv"' in ended.err


def test_a_file_of_no_known_format_is_taken_for_one_of_root(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("not a file of ROOT")
    assert format_of(str(file)).name == "ttree"
    assert format_of("root://server//some.csv").name == "ttree"
    os.mkfifo(tmp_path / "pipe.csv")
    assert format_of(str(tmp_path / "pipe.csv")).name == "ttree"


def test_events_that_are_there_twice_are_found(tmp_path: Path, package: dict[str, str]) -> None:
    write_events(tmp_path / "a.csv", 0, 60)
    write_events(tmp_path / "b.csv", 40, 60)
    ended = forkrun("check", job(tmp_path), cwd=tmp_path, env=package)
    assert ended.code == 0, ended.err
    assert "20 events are in the input more than once; the first is 1:1:40" in ended.err
    dropped = {"source": {"files": ["*.csv"], "tree": "", "duplicates": "drop", **IDS}}
    file = write_job(tmp_path, {**dropped, "outputs": [{"label": "all", "format": "csv"}]})
    ended = forkrun("run", file, "-o", "dropped", cwd=tmp_path, env=package)
    assert ended.code == 0, ended.err
    events = [int(row[2]) for row in rows_of(tmp_path / "dropped/output/all.csv")[1:]]
    assert events == list(range(100))


def test_a_column_of_events_is_not_taken_for_the_sum_of_a_file(
    tmp_path: Path, package: dict[str, str]
) -> None:
    lines = ["run:uint32,luminosityBlock:uint32,event:uint64,genEventSumw:float64"]
    lines += [f"1,1,{event},7" for event in range(10)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    dataset = {"name": "signal", "files": ["a.csv"], "cross_section": 2.0}
    source = {"source": {"tree": "", **IDS}, "datasets": [dataset]}
    outputs = [{"label": "all", "format": "csv"}]
    file = write_job(tmp_path, {"job": {"luminosity": 1.0}, **source, "outputs": outputs})
    ended = forkrun("check", file, cwd=tmp_path, env=package)
    assert ended.code == 2
    assert "has no tree Runs with genEventSumw; give sum_of_weights of the dataset" in ended.err


@pytest.mark.long
def test_results_in_blocks_of_several_sizes_are_compared(
    tmp_path: Path, package: dict[str, str]
) -> None:
    write_events(tmp_path / "a.csv", 0, 60)
    ended = forkrun("check", job(tmp_path), "--blocks", cwd=tmp_path, env=package)
    assert ended.code == 0, ended.err
    assert "no result depends on blocks" in ended.out
