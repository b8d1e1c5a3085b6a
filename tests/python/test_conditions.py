"""Conditions of every type, and what is said of those that cannot be loaded."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun.conditions import load_conditions
from forkrun.config import ConditionConfig
from forkrun.errors import ConfigError


def load(kind: str, file: Path | None) -> Any:
    config = ConditionConfig(label="sf", type=kind, file=str(file) if file else None)
    return load_conditions([config])["sf"]


@pytest.fixture
def values() -> np.ndarray[Any, Any]:
    return np.array([[1.5, 2.5], [3.5, 4.5]])


def test_arrays_are_loaded_and_read_only(tmp_path: Path, values: np.ndarray[Any, Any]) -> None:
    np.savez(tmp_path / "sf.npz", muon=values, jet=values[0])
    np.save(tmp_path / "sf.npy", values)
    (tmp_path / "sf.pkl").write_bytes(pickle.dumps({"muon": [values]}))
    loaded = load("npz", tmp_path / "sf.npz")
    arrays = [loaded["muon"], load("npy", tmp_path / "sf.npy")]
    arrays.append(load("pickle", tmp_path / "sf.pkl")["muon"][0])
    assert sorted(loaded) == ["jet", "muon"]
    for array in arrays:
        assert np.array_equal(array, values)
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 7


def test_tables_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "sf.json").write_text(json.dumps({"muon": [1, 2]}))
    (tmp_path / "sf.toml").write_text("muon = [1, 2]")
    assert load("json", tmp_path / "sf.json") == load("toml", tmp_path / "sf.toml")


def test_a_function_of_a_file_makes_a_condition(tmp_path: Path) -> None:
    maker = tmp_path / "maker.py"
    maker.write_text("import numpy as np\ndef make(file=None):\n    return np.zeros(2), file\n")
    array, file = load(f"python:{maker}:make", tmp_path / "x.txt")
    assert file == str(tmp_path / "x.txt")
    assert not array.flags.writeable
    assert load(f"python:{maker}:make", None)[1] is None


def test_all_conditions_that_fail_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    maker = tmp_path / "maker.py"
    maker.write_text("def make():\n    raise KeyError('eta')\n")
    kinds = {"npz": "none.npz", "json": "bad.json", f"python:{maker}:made": None}
    kinds[f"python:{maker}:make"] = None
    configs = [
        ConditionConfig(label=f"c{n}", type=kind, file=str(tmp_path / file) if file else None)
        for n, (kind, file) in enumerate(kinds.items())
    ]
    with pytest.raises(ConfigError) as caught:
        load_conditions(configs)
    assert [problem.split(": ")[0] for problem in caught.value.problems] == [
        f'condition "c{n}"' for n in range(4)
    ]
    assert caught.value.problems[0].endswith(f"there is no file {tmp_path}/none.npz")
    assert "bad.json cannot be read as json" in caught.value.problems[1]
    assert 'has no function "made"; did you mean "make"?' in caught.value.problems[2]
    assert "raised KeyError: 'eta'" in caught.value.problems[3]
