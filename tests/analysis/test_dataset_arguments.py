"""What a program says of a dataset, of every kind of value: it is used, or refused with its key."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

import forkrun
from forkrun.config.datasets import DatasetConfig
from tests.support.kinds import FILE, FILES, KINDS

NUMBERS = ("none", "integer", "float", "numpy")
TAKES: dict[str, Collection[str]] = {
    "files": FILES, "tree": ("none",),  # another than that of the job is refused
     "cross_section": NUMBERS, "is_data": ("true",),
    "sum_of_weights": NUMBERS, "metadata": ("dict",),
    "name": (),  # it is the key of the dataset
}  # fmt: skip


def dataset(key: str, value: Any) -> DatasetConfig:
    return forkrun.Job({"d": {"files": [FILE], key: value}}).config.datasets[0]


def test_the_table_has_every_key() -> None:
    assert DatasetConfig.known_keys.keys() == TAKES.keys()


@pytest.mark.parametrize("key", TAKES)
def test_a_key_takes_its_kinds_and_refuses_others_by_name(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, value in KINDS.items():
        if kind not in TAKES[key]:
            with pytest.raises(forkrun.ConfigError, match=key):
                pytest.fail(f"{key} takes {kind}: {dataset(key, value)!r}")
        elif key != "files":
            assert getattr(dataset(key, value), key) == value, kind
        else:
            names = [Path(file).name for file in dataset(key, value).files]
            given = value if isinstance(value, list) else [value]
            assert names == [Path(file).name for file in given], kind


def test_a_tree_of_other_datasets_is_compared_with_that_of_the_source() -> None:
    with pytest.raises(forkrun.ConfigError, match="one job reads one tree, not A, B"):
        _ = forkrun.Job({"d": {"files": FILE, "tree": "B"}}, tree="A").config
    assert dataset("tree", "Events").tree == "Events"
    with pytest.raises(forkrun.ConfigError, match=r"datasets\[0\]\.tree: b'A' is bytes"):
        dataset("tree", b"A")
