"""Lists within lists within lists, in trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun
from forkrun import _core
from forkrun.modules.columns import as_array
from tests.support.deep_lists_file import COLUMNS, N_EVENTS, write_deep

IDS = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_deep(tmp_path_factory.mktemp("deep") / "deep.root")


def expected(e: int) -> dict[str, Any]:
    lists = [range((e + i) % 4) for i in range(e % 3)]
    return {
        "deep": [[[e + i + 0.25 * j] * ((i + j) % 3) for j in js] for i, js in enumerate(lists)],
        "deeper": [[[], [[e, i], []]] for i in range(e % 3)],
        "words": [[chr(ord("a") + e % 26) * (90 * j) for j in js] for js in lists],
        "hits.charges": [[[0.5 * e] * j for j in js] for js in lists],
        "hits.words": [["b" * j for j in js] for js in lists],
    }


def test_lists_of_any_depth_are_columns(file: Path) -> None:
    types = {column.name: column.type for column in forkrun.Job(file, source=IDS).columns()}
    assert {name: types.get(name) for name in COLUMNS} == COLUMNS
    found = _core.read_columns(str(file), "Events", list(COLUMNS))
    with uproot.open(file) as one:
        for name, column in found.items():
            ours = ak.to_list(ak.Array(as_array(column)))
            assert ours == [expected(e)[name] for e in range(N_EVENTS)], name
            if name in ("deep", "words"):
                assert ours == ak.to_list(one["Events"][name].array(library="ak")), name


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_they_are_kept_selected_and_made_anew(file: Path, tmp_path: Path, format: str) -> None:
    job = forkrun.Job(file, source=IDS)

    @job.define
    def twice(block: forkrun.EventBlock) -> Any:
        return block["deep"] * 2

    @job.define
    def spoken(block: forkrun.EventBlock) -> Any:
        return block["words"]

    @job.filter
    def even(block: forkrun.EventBlock) -> Any:
        return np.asarray(block["event"]) % 2 == 0

    job.output("new", keep=["deep", "deeper", "twice", "spoken", "hits.charges"], format=format)
    result = job.run(2, output=tmp_path / "run", quiet=True, plots=False)
    path = str(result.output("new"))
    names = ["deep", "deeper", "twice", "spoken", "hits.charges"]
    found = _core.read_columns(path, "Events", names)
    for name, column in found.items():
        of = {"twice": "deep", "spoken": "words"}.get(name, name)
        wanted = [expected(e)[of] for e in range(0, N_EVENTS, 2)]
        values = ak.Array(as_array(column))
        assert ak.to_list(values / 2 if name == "twice" else values) == wanted, name
    with uproot.open(path) as new:
        assert ak.to_list(new["Events"]["twice"].array()) == ak.to_list(as_array(found["twice"]))
