"""Input files that differ in their branches, as eras do in their trigger menus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun as package
from forkrun import _core
from forkrun.config.source import FilledBranches
from forkrun.errors import ConfigError
from forkrun.index.model import Branch, FileIndex
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.problems import disagreements
from tests.support.jobs import environment, forkrun, write_job

IDS = [("run", "uint32"), ("luminosityBlock", "uint32"), ("event", "uint64")]
N = 40
N_FILLED = 85
"""Of the real files: branches of one, in the other."""
ERAS = (
    ("a.root", 0, {"HLT_A": "bool", "HLT_B": "bool", "Jet_pt": "float32[]", "Tau_pt": "float32[]"}),
    ("b.root", N, {"HLT_A": "bool", "HLT_C": "bool", "Jet_pt": "float32[]", "Jet_id": "uint8[]"}),
)


def values(name: str, kind: str, events: Any) -> Any:
    """Trigger bits, and n % 3 objects of n."""
    if not kind.endswith("[]"):
        return events % (2 + ord(name[-1]) % 5) == 0
    counts = (events % 3).astype(np.int64)
    of_all = np.repeat(events, counts).astype(kind.removesuffix("[]"))
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), of_all


def write_eras(folder: Path) -> list[str]:
    for file, first, columns in ERAS:
        writer = _core.TreeWriter(str(folder / file), "Events", [*IDS, *columns.items()], "zstd:1")
        events = np.arange(first + 1, first + N + 1, dtype=np.uint64)
        ids = {"run": np.full(N, 1, np.uint32), "event": events}
        ids["luminosityBlock"] = np.full(N, 1 + first, np.uint32)
        writer.write(
            {**ids, **{name: values(name, kind, events) for name, kind in columns.items()}}
        )
        writer.close()
    return [str(folder / file) for file, _, _ in ERAS]


def run(folder: Path, branches: object, **changes: Any) -> ak.Array:
    """Events of a job that keeps all branches."""
    job = {
        "source": {"files": write_eras(folder), "branches": branches},
        "outputs": [{"label": "all"}],
        "merge": {"carry": False},
        **changes,
    }
    ended = forkrun("run", write_job(folder, job), "-o", "run", "--force", cwd=folder)
    assert ended.code == 0, ended.err
    with uproot.open(folder / "run/output/all.root") as file:
        return file["Events"].arrays(library="ak")


FILL = {"fill": {"HLT_*": False, "Jet_id": 7, "nTau": 0, "Tau_pt": -1.5}}


@pytest.mark.parametrize("children", [0, 2])
def test_filled_branches_are_in_the_output_of_all_events(tmp_path: Path, children: int) -> None:
    events = run(tmp_path, FILL, forking={"children": children})
    number = np.asarray(events.event)
    assert number.tolist() == list(range(1, 2 * N + 1))
    is_a = number <= N
    b, c = values("HLT_B", "bool", number), values("HLT_C", "bool", number)
    assert np.asarray(events.HLT_B).tolist() == (b & is_a).tolist()
    assert np.asarray(events.HLT_C).tolist() == (c & ~is_a).tolist()
    assert ak.num(events.Jet_id).tolist() == (number % 3).tolist()
    assert ak.all(events.Jet_id[is_a] == 7)
    assert events.Jet_id[~is_a].tolist() == [int(n % 3) * [n] for n in number[~is_a]]
    assert np.asarray(events.nTau).tolist() == np.where(is_a, number % 3, 0).tolist()
    assert ak.num(events.Tau_pt).tolist() == np.asarray(events.nTau).tolist()


def test_outputs_of_filled_branches_are_the_same_bytes_for_any_children(tmp_path: Path) -> None:
    files = []
    for children in (1, 3):
        run(tmp_path, FILL, forking={"children": children, "max_unit_events": 10})
        files.append((tmp_path / "run/output/all.root").read_bytes())
    assert files[0] == files[1]


def test_common_branches_are_those_of_all_files(tmp_path: Path) -> None:
    events = run(tmp_path, "common")
    assert set(events.fields) == {"run", "luminosityBlock", "event", "HLT_A", "nJet", "Jet_pt"}
    assert len(events) == 2 * N


def test_expressions_and_modules_read_filled_branches_as_any(tmp_path: Path) -> None:
    trigger = {"label": "fired", "type": "expression:HLT_B | HLT_C", "kind": "filter"}
    (tmp_path / "mods.py").write_text(
        "import forkrun\n"
        "class Jets(forkrun.Filter):\n"
        "    def filter(self, block):\n"
        "        import awkward as ak\n"
        "        no_jet_of_b = ak.all(block['Jet_id'] == 7, axis=1)\n"
        "        return no_jet_of_b | ak.any(block['Tau_pt'] > 0, axis=1)\n"
    )
    jets = {"label": "jets", "type": "python:mods.py:Jets"}
    events = run(
        tmp_path, FILL, modules=[trigger, jets], paths={"p": ["fired", "jets"]},
        outputs=[{"label": "all", "paths": ["p"]}],
    )  # fmt: skip
    number = np.arange(1, 2 * N + 1)
    b, c = values("HLT_B", "bool", number), values("HLT_C", "bool", number)
    fired = np.where(number <= N, b, c)
    wanted = fired & ((number <= N) | (number % 3 == 0))
    assert np.asarray(events.event).tolist() == number[wanted].tolist()
    assert 0 < wanted.sum() < fired.sum()


def test_files_that_differ_are_an_error_with_both_remedies(tmp_path: Path) -> None:
    job = {"source": {"files": write_eras(tmp_path)}, "outputs": [{"label": "all"}]}
    ended = forkrun("check", write_job(tmp_path, job), cwd=tmp_path)
    assert ended.code == 3
    assert "b.root: this file lacks branches HLT_B, nTau, Tau_pt" in ended.err
    assert 'source.branches = { fill = { "HLT_B" = false, "Tau_pt" = 0 } }' in ended.err


@pytest.mark.parametrize(
    ("branches", "words"),
    [
        ("commom", "source.branches"),
        ({"fill": {}}, "source.branches"),
        ({"fill": {"HLT_*": "no"}}, "source.branches"),
        ({"fill": {"HLT_*": 0.5}}, '"HLT_B" is bool, which cannot be 0.5'),
        ({"fill": {"*": 300}}, '"Jet_id" is uint8[], which cannot be 300'),
        ("common", "some files lack it"),
    ],
)
def test_what_is_wrong_is_said_with_the_key(tmp_path: Path, branches: object, words: str) -> None:
    job = {
        "source": {"files": write_eras(tmp_path), "branches": branches},
        "modules": [{"label": "fired", "type": "expression:HLT_B", "kind": "filter"}],
        "paths": {"p": ["fired"]},
    }
    ended = forkrun("check", write_job(tmp_path, job), cwd=tmp_path)
    assert ended.code == 2, ended.err
    assert words in ended.err


def index(*names: Sequence[str]) -> list[FileIndex]:
    return [
        FileIndex(f"{n}.root", "", 10, (0, 10), (), tuple(Branch(b, "bool", "") for b in each))
        for n, each in enumerate(names)
    ]


def test_the_first_pattern_that_matches_gives_the_value() -> None:
    rule = FilledBranches(fill={"HLT_B": True, "HLT_*": False})
    seen = InputBranches.of(index(["HLT_A", "HLT_B"], ["HLT_A", "HLT_C"]), rule)
    assert seen.fills == {"HLT_B": (1.0, ""), "HLT_C": (0.0, "")}
    with pytest.raises(ConfigError, match="cannot be 2"):
        InputBranches.of(index(["HLT_A"], ["HLT_B"]), FilledBranches(fill={"*": 2}))


def test_many_branches_are_not_listed() -> None:
    names = [f"HLT_{n}" for n in range(100)]
    (problem,) = disagreements(InputBranches.of(index(names, names[:10])), names)
    assert 'leave out what not all files have: source.branches = "common"' in problem
    assert "HLT_50" not in problem


@pytest.mark.slow
def test_real_files_of_two_eras_go_into_one_output(tmp_path: Path, real_data: Path) -> None:
    """Trigger bits, a branch of each era, and one whose collection only one of them has."""
    files = [real_data / "nano_dy.root", real_data / "nanoAOD_2015_CMS_Open_Data_ttbar.root"]
    keep = ["run", "luminosityBlock", "event", "HLT_Iso*", "Electron_*", "Jet_pt", "FatJet_*"]
    job = {
        "source": {"files": [str(f) for f in files], "branches": {"fill": {"*": 0}}},
        "outputs": [{"label": "all", "keep": keep}],
        "merge": {"carry": False},
    }
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "--children", 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    n_filled = at = 0
    with uproot.open(tmp_path / "run/output/all.root") as output:
        found = output["Events"].arrays()
    for file in files:
        with uproot.open(file) as era:
            tree = era["Events"]
            part = found[at : at + tree.num_entries]
            at += tree.num_entries
            for name in found.fields:
                if name in tree:
                    assert ak.array_equal(part[name], tree[name].array(), equal_nan=True), name
                else:
                    n_filled += 1
                    assert not ak.any(ak.flatten(part[name], axis=None)), name
    assert (at, n_filled) == (len(found), N_FILLED)


@pytest.mark.parametrize("children", [0, 1])
def test_columns_of_floats_may_be_filled_with_nan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: int
) -> None:
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.chdir(tmp_path)
    values_of_nothing = {"MET_x": math.nan, "HLT_*": False}
    for file, extra in (("a.root", [("MET_x", "float32")]), ("b.root", [])):
        writer = _core.TreeWriter(str(tmp_path / file), "Events", [*IDS, *extra], "zstd:1")
        number = np.arange(N, dtype=np.uint64) + (N if extra else 0)
        ids = {"run": np.full(N, 1, np.uint32), "event": number}
        ids["luminosityBlock"] = np.full(N, 1 + len(extra), np.uint32)
        writer.write({**ids, **{name: number.astype(np.float32) for name, _ in extra}})
        writer.close()
    job = package.Job(["a.root", "b.root"], source={"branches": {"fill": values_of_nothing}})
    job.filter("(MET_x != MET_x) | (MET_x > 50)").output("all").configure(merge={"carry": False})
    assert '[source.branches.fill]\nMET_x = nan\n"HLT_*" = false\n' in job.to_toml()
    result = job.run(children=children, output="run", quiet=True, plots=False)
    with uproot.open(result.outputs["all"]) as output:
        met = output["Events"]["MET_x"].array(library="np")
    assert met[: N - 11].tolist() == list(range(51, 2 * N))
    assert np.isnan(met[N - 11 :]).all()
    assert len(met) == 2 * N - 11
