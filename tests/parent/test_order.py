"""Events come in the order of the input, or lumi by lumi, however they are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from tests.parent.test_stretches import MODULES, blocks
from tests.support.files import Lumi, write_events
from tests.support.jobs import Ended, forkrun, output_digests, write_job

SAME_NUMBERS: list[list[Lumi]] = [[(1, lumi, 10) for lumi in range(1, 13)]] * 3
"""Three files of simulation."""
SCATTERED: list[list[Lumi]] = [
    [(1, 1 + (5 * n) % 7, 1) for n in range(120)],
    [(1, 1 + (3 * n) % 7, 1) for n in range(60)],
]
"""Lumis of which each event lies somewhere else, but for one pair over the end of a file."""

CUTS = """
import awkward as ak
import forkrun

class Cut(forkrun.Filter):
    consumes = ("Jet_pt",)

    def filter(self, block):
        return ak.num(block["Jet_pt"]) != 2

class Sums(forkrun.Producer):
    consumes = ("Jet_pt",)
    produces = {"sum_pt": "float64", "New_pt": "float32[]"}

    def produce(self, block):
        return {"sum_pt": ak.sum(block["Jet_pt"], axis=1), "New_pt": 2 * block["Jet_pt"]}

class OneDataset(forkrun.Analyzer):
    consumes = ("event",)

    def analyze(self, block):
        names = {"a": range(1, 121), "b": range(1001, 1241)}
        assert set(block["event"].tolist()) <= set(names[block.dataset.name])
"""

ODD = """
import forkrun

class Odd(forkrun.Filter):
    consumes = ("event", "luminosityBlock")

    def filter(self, block):
        assert (block["luminosityBlock"] == block["event"] % 50 + 1).all()
        return block["event"] % 2 == 1
"""


def inputs(folder: Path, lumis: Sequence[Sequence[Lumi]]) -> list[str]:
    files, first = [], 1
    for number, of_file in enumerate(lumis):
        files.append(str(write_events(folder / f"{number}.root", of_file, first)))
        first += sum(n for _, _, n in of_file)
    return files


@pytest.mark.parametrize("children", [1, 2])
def test_a_child_reads_a_file_of_scattered_lumis_once(tmp_path: Path, children: int) -> None:
    """Whether or not a thread of it reads ahead: both share what stays unpacked."""
    n_events = 20_000
    events = np.arange(1, n_events + 1, dtype=np.uint64)
    with uproot.recreate(tmp_path / "a.root") as file:
        tree = file.mktree("Events", {"run": "u4", "luminosityBlock": "u4", "event": "u8"})
        for part in np.split(events, 10):
            one, lumi = np.ones(len(part), np.uint32), (part % 50 + 1).astype(np.uint32)
            tree.extend({"run": one, "luminosityBlock": lumi, "event": part})
    with uproot.open(tmp_path / "a.root") as file:
        n_bytes = sum(branch.compressed_bytes for branch in file["Events"].values())
    (tmp_path / "odd.py").write_text(ODD)
    job = {
        "source": {"files": [str(tmp_path / "a.root")], "order": "lumi"},
        "modules": [{"label": "odd", "type": "python:odd.py:Odd"}],
        "paths": {"p": ["odd"]},
        "forking": {"children": children},
        "threads": {"block_size": 400, "read_ahead": True},
    }
    write_job(tmp_path, job)
    ended = run(tmp_path, "run")
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "run/report.json").read_text())
    n_read = [child["read_bytes"] for child in report["children"]]
    assert all(n <= 1.05 * n_bytes for n in n_read)
    assert sum(n_read) >= n_bytes


def skim(folder: Path, lumis: Sequence[Sequence[Lumi]], **sections: Any) -> None:
    (folder / "cuts.py").write_text(CUTS)
    job = {
        "source": {"files": inputs(folder, lumis), **sections.pop("source", {})},
        "modules": [
            {"label": "cut", "type": "python:cuts.py:Cut"},
            {"label": "sums", "type": "python:cuts.py:Sums"},
            {
                "label": "notes",
                "type": f"python:{MODULES}:{sections.pop('noting', 'Weighted')}",
                "params": {"notes": str(folder / "notes")},
            },
        ],
        "paths": {"p": ["notes", "cut"]},
        "outputs": [{"label": "skim", "paths": ["p"], "decisions": True}],
        **sections,
    }
    write_job(folder, job)


def run(folder: Path, name: str, *options: object) -> Ended:
    return forkrun("run", "job.json", "-o", name, "-q", *options, cwd=folder)


def rows(output: Path) -> list[tuple[int, int, list[float], float, list[float]]]:
    """(event, lumi, pt of jets, their sum, pt of new jets) of each event."""
    names = ("event", "luminosityBlock", "Jet_pt", "sum_pt", "New_pt")
    with uproot.open(output) as file:
        columns = file["Events"].arrays(names)
    return list(zip(*(ak.to_list(columns[name]) for name in names), strict=True))


def expected(events: Sequence[int], lumis: Sequence[Sequence[Lumi]]) -> list[Any]:
    """What the skim has of these events, in this order."""
    lumi_of = [lumi for of_file in lumis for _, lumi, n in of_file for _ in range(n)]
    found = []
    for event in events:
        jets = [float(10 * (jet + 1) + event % 7) for jet in range(event % 5)]
        if len(jets) != 2:
            row = (event, lumi_of[event - 1], jets, sum(jets), [2 * pt for pt in jets])
            found.append(row)
    return found


@pytest.mark.parametrize("lumis", [SAME_NUMBERS, SCATTERED], ids=["files", "scattered"])
def test_blocks_go_on_over_lumis_and_files_in_the_order_of_the_input(
    tmp_path: Path, lumis: Sequence[Sequence[Lumi]]
) -> None:
    skim(tmp_path, lumis)
    ended = run(tmp_path, "run", "--children", 1)
    assert ended.code == 0, ended.err
    n_events = sum(n for of_file in lumis for _, _, n in of_file)
    assert len(blocks(tmp_path)) <= 4
    everything = expected(range(1, n_events + 1), lumis)
    assert rows(tmp_path / "run/output/skim.root") == everything
    plan = json.loads((tmp_path / "run/plan.json").read_text())
    assert (plan["order"], plan["order_reason"]) == ("input", "")


WAYS: list[tuple[object, ...]] = [
    ("--children", 2),
    ("--children", 1, "--threads", 2, "--set", "threads.block_size=1"),
    ("--children", 1, "--set", "threads.block_size=7"),
    ("--children", 3, "--distribution", "contiguous"),
    ("--children", 0),
]


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("order", "ways"),
    [
        ("input", WAYS),
        ("lumi", WAYS[:2]),
        ("sorted", WAYS[:2]),
        pytest.param("lumi", WAYS, marks=pytest.mark.long),
        pytest.param("sorted", WAYS, marks=pytest.mark.long),
    ],
)
def test_outputs_of_scattered_lumis_are_the_same_whoever_does_what(
    tmp_path: Path, order: str, ways: list[tuple[object, ...]]
) -> None:
    skim(tmp_path, SCATTERED, source={"order": order})
    for number, way in enumerate(ways):
        ended = run(tmp_path, str(number), *way)
        assert ended.code == 0, ended.err
    digests = [output_digests(tmp_path / str(number)) for number in range(len(ways))]
    assert all(each == digests[0] for each in digests)
    found = rows(tmp_path / "0/output/skim.root")
    assert sorted(found) == expected(range(1, 181), SCATTERED)
    lumis = [lumi for lumi, _ in groupby(row[1] for row in found)]
    if order == "input":
        assert len(lumis) > 100
    else:
        first = [1, 6, 4, 2, 7, 5, 3] if order == "lumi" else list(range(1, 8))
        assert lumis == first
        events = [row[0] for row in found]
        assert all(b > a or x[1] != y[1] for (a, b), (x, y) in
                   zip(pairwise(events), pairwise(found), strict=True))  # fmt: skip


def test_modules_with_callbacks_of_lumis_see_each_lumi_in_one_piece(tmp_path: Path) -> None:
    skim(tmp_path, SCATTERED, noting="WithCallbacks")
    ended = run(tmp_path, "run", "--children", 1)
    assert ended.code == 0, ended.err
    assert {n_lumis for _, n_lumis in blocks(tmp_path)} == {1}
    lumis = [lumi for lumi, _ in groupby(r[1] for r in rows(tmp_path / "run/output/skim.root"))]
    assert lumis == [1, 6, 4, 2, 7, 5, 3]
    report = " ".join((tmp_path / "run/report.txt").read_text().split())
    assert "each lumi in one piece, for modules with callbacks of lumis or runs" in report


def test_the_order_of_the_input_is_refused_where_a_module_needs_whole_lumis(
    tmp_path: Path,
) -> None:
    skim(tmp_path, SCATTERED, noting="OneLumi", source={"order": "input"})
    ended = run(tmp_path, "run")
    assert ended.code == 2
    assert "source.order: modules with callbacks of lumis or runs, or one_lumi need" in ended.err
    skim(tmp_path, SAME_NUMBERS[:1], noting="OneLumi", source={"order": "input"})
    assert run(tmp_path, "whole").code == 0


def test_a_block_is_of_one_dataset(tmp_path: Path) -> None:
    (tmp_path / "cuts.py").write_text(CUTS)
    lumis = [(1, lumi, 20) for lumi in range(1, 7)]
    for name, first in (("a", 1), ("b", 1001), ("c", 1121)):
        write_events(tmp_path / f"{name}.root", lumis, first)
    datasets = [{"name": "a", "files": ["a.root"]}, {"name": "b", "files": ["b.root", "c.root"]}]
    module = {"label": "m", "type": "python:cuts.py:OneDataset"}
    job = {"datasets": datasets, "modules": [module], "paths": {"p": ["m"]}}
    write_job(tmp_path, job)
    ended = run(tmp_path, "run", "--children", 1, "--set", "threads.block_size=1000")
    assert ended.code == 0, ended.err
    plan = json.loads((tmp_path / "run/plan.json").read_text())
    assert plan["n_lumis"] == 12


def test_a_skim_of_many_files_with_few_events_is_right(tmp_path: Path) -> None:
    lumis: list[list[Lumi]] = [[(1, 1 + n % 3, 1 + n % 4)] for n in range(40)]
    skim(tmp_path, lumis)
    ended = run(tmp_path, "run", "--children", 2)
    assert ended.code == 0, ended.err
    n_events = sum(n for of_file in lumis for _, _, n in of_file)
    assert rows(tmp_path / "run/output/skim.root") == expected(range(1, n_events + 1), lumis)
    assert len(blocks(tmp_path)) < 12


@pytest.mark.slow
def test_what_becomes_of_scattered_lumis_is_said(tmp_path: Path) -> None:
    skim(tmp_path, SCATTERED)
    words = {
        "input": "the input has its 7 lumis in 179 pieces, and so have the outputs; source.order =",
        "lumi": "the input has its 7 lumis in 179 pieces, which are gathered",
    }
    for order, text in words.items():
        ended = run(tmp_path, "run", "--force", "--set", f"source.order={order}")
        assert ended.code == 0, ended.err
        notes = json.loads((tmp_path / "run/report.json").read_text())["notes"]
        assert any(note.startswith(text) for note in notes)
