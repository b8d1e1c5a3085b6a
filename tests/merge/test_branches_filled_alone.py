"""Trees without entries whose branches have some: these were filled one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import uproot

import forkrun
from forkrun.errors import InputError
from tests.support.branches_filled_alone import merged_by_root, write_alone
from tests.support.jobs import forkrun as command

LENGTHS = {"a": (5, 2, 3), "b": (1, 0, 4)}
NUMBERS = {"a": [10, 11], "b": []}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("alone")
    for first, (name, lengths) in enumerate(LENGTHS.items(), 1):
        write_alone(str(path / f"{name}.root"), lengths, 10 * first)
    return path


def branches(path: Path) -> dict[str, list[Any]]:
    with uproot.open(path) as file:
        tree = file["Refs"]
        assert tree.num_entries == 0
        return {
            branch.name: branch.array(entry_stop=branch.num_entries).tolist()
            for branch in tree.branches
        }


def together(folder: Path, *names: str) -> dict[str, list[Any]]:
    found = [branches(folder / f"{name}.root") for name in names]
    return {key: [value for each in found for value in each[key]] for key in found[0]}


@pytest.mark.parametrize("names", ["a", "ab", "ba", "bab"])
@pytest.mark.parametrize("options", [{}, {"compression": "lz4:4"}, {"recluster": "always"}])
def test_a_merge_has_what_each_branch_has(
    folder: Path, tmp_path: Path, names: str, options: dict[str, Any]
) -> None:
    notes: list[str] = []
    files = [folder / f"{name}.root" for name in names]
    forkrun.merge_files(files, tmp_path / "o.root", verify=True, note=notes.append, **options)
    expected = together(folder, *names)
    assert branches(tmp_path / "o.root") == expected
    numbers = [number for name in names for number in NUMBERS[name]]
    assert merged_by_root(str(tmp_path / "o.root")) == numbers
    lengths = ", ".join(f"{name} {len(values)}" for name, values in expected.items())
    assert f"Refs: filled branch by branch, and joined so; entries of branches: {lengths}" in notes


def test_a_conversion_leaves_them_a_tree_and_says_so(folder: Path, tmp_path: Path) -> None:
    ended = command("convert", folder / "a.root", "o.root", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert 'o.root: "Refs" stays a tree: it was filled branch by branch' in ended.out + ended.err
    assert branches(tmp_path / "o.root") == branches(folder / "a.root")
    with uproot.open(tmp_path / "o.root") as file:
        assert file.classnames() == {"Events;1": "ROOT::RNTuple", "Refs;1": "TTree"}


@pytest.mark.slow
def test_a_job_carries_them(folder: Path, tmp_path: Path) -> None:
    ids = {f"{name}_branch": "" for name in ("run", "lumi", "event")}
    job = forkrun.Job([str(folder / "a.root"), str(folder / "b.root")], source=ids)
    job.output("all")
    done = job.run(0, output=str(tmp_path / "run"), quiet=True, plots=False)
    assert branches(Path(done.output("all"))) == together(folder, "a", "b")
    again = forkrun.merge_files([done.output("all")] * 2, tmp_path / "twice.root")
    assert again == {"Events": 12, "Refs": 0}
    assert branches(tmp_path / "twice.root") == together(folder, "a", "b")


def test_trees_of_events_and_such_ones_are_not_joined(folder: Path, tmp_path: Path) -> None:
    write_alone(str(tmp_path / "c.root"), (2, 2, 2), 0, True)
    for files in (("c", "a"), ("a", "c")):
        paths = [(tmp_path if name == "c" else folder) / f"{name}.root" for name in files]
        with pytest.raises(InputError, match=r'tree "Refs" was filled .*, and in the files before'):
            forkrun.merge_files(paths, tmp_path / "o.root")
    assert not (tmp_path / "o.root").exists()


def test_entries_that_the_tree_does_not_count_are_told(tmp_path: Path) -> None:
    """Nobody who reads the tree entry by entry sees them."""
    write_alone(str(tmp_path / "c.root"), (2, 5, 2), 0, True)
    with pytest.raises(InputError, match='branch "number" has 5 entries, where the tree has 2'):
        forkrun.merge_files(tmp_path / "c.root", tmp_path / "o.root")
    notes: list[str] = []
    forkrun.merge_files(
        tmp_path / "c.root", tmp_path / "o.root", format="rntuple", note=notes.append
    )
    assert any('branch "number" has 5 entries, the tree 2:' in note for note in notes)


def test_such_a_tree_holds_no_events(folder: Path, tmp_path: Path) -> None:
    ended = command("columns", folder / "a.root", "--tree", "Refs", cwd=tmp_path)
    assert ended.code == 3
    assert 'tree "Refs" has no entries, but its branch "Params" has 5: filled branch' in ended.err
