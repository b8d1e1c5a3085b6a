"""All real files become RNTuples and then trees, or trees and then RNTuples, and uproot reads the
same values in all three; what is refused, or left out, is a list."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import awkward as ak
import pytest
import uproot

from forkrun.errors import InputError
from forkrun.merge import merge_files

pytestmark = pytest.mark.long
FOLDER = Path(os.environ.get("FORKRUN_TEST_DATA", "../shared/data"))
FILES = sorted(path for path in FOLDER.glob("**/*.root")) or [FOLDER / "none.root"]
REFUSED = {
    "AO2D.root": "is in a folder, and cannot be carried to outputs as a tree",
    "test_emptystruct_invalidvar_rntuple_v1-0-0-0.root": r'field "empty_struct" \(EmptyStruct\)',
    "test_stl_containers_rntuple_v1-0-0-0.root": 'field "variant_int32_string"',
}
"""By file, why one of its tables does not come through."""
OF_PROCESS = ("fBits", "fUniqueID")
"""What ROOT writes of the memory that an object lay in."""
Values = dict[str, list[Any]]


def tables(path: Path) -> dict[str, bool]:
    """Names, and whether they are trees."""
    with uproot.open(path) as file:
        kinds = file.classnames(cycle=False)
    return {
        name: kind == "TTree" for name, kind in kinds.items() if kind in ("TTree", "ROOT::RNTuple")
    }


def of_tree(path: Path, tree: str) -> Values:
    """By name of a branch that has no others within it; what uproot cannot read is left out."""
    found: Values = {}
    with uproot.open(path) as file:
        for branch in _leaves(file[tree]):
            if branch.num_entries != file[tree].num_entries:
                continue
            try:
                found.setdefault(branch.name, ak.to_list(branch.array()))
            except Exception:  # whatever it cannot read
                continue
    return found


def _leaves(of: Any) -> Iterator[Any]:
    for branch in of.branches:
        if branch.branches:
            yield from _leaves(branch)
        else:
            yield branch


def of_ntuple(path: Path, ntuple: str) -> Values:
    """By name as trees have it: "Jet_pt" for "Jet.pt"."""
    found: Values = {}
    with uproot.open(path) as file:
        table = file[ntuple]
        for name in table.keys(recursive=False):
            try:
                array = table[name].array()
            except Exception:  # whatever it cannot read
                continue
            found.update({key: ak.to_list(part) for key, part in _parts(name, array)})
    return found


def _parts(name: str, array: Any) -> Iterator[tuple[str, Any]]:
    if not array.fields or array.fields == [str(n) for n in range(len(array.fields))]:
        yield name, array
        return
    for field in array.fields:
        yield from _parts(f"{name}.{field}", array[field])


def differing(before: Values, after: Values) -> list[str]:
    """Names of numbers and texts that `after` has under no name that ends so. Objects, and what
    ROOT's importer of trees hides, are left out."""
    return [
        name
        for name, values in before.items()
        if not (name.startswith("_collection") or name.endswith(OF_PROCESS))
        and not (_has_objects(values) or any(map(_is_within(name), after)))
        and repr(values) not in map(repr, _under(name, after))
    ]


def _under(name: str, after: Values) -> Iterator[Any]:
    """Members of objects have the object's name before theirs."""
    plain = name.partition("[")[0]
    names = (plain, plain.replace(".", "_"))
    ends = tuple(f"{mark}{each}" for each in names for mark in "._")
    return (values for key, values in after.items() if key in names or key.endswith(ends))


def _is_within(name: str) -> Callable[[str], bool]:
    starts = (f"{name}.", f"{name.replace('.', '_')}_")
    return lambda key: key.startswith(starts)


def _has_objects(values: Any) -> bool:
    return isinstance(values, dict) or (
        isinstance(values, list | tuple) and any(map(_has_objects, values))
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_the_same_there_and_back(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why) if (why := REFUSED.get(path.name)) else nullcontext():
        there_and_back(path, tmp_path)


def there_and_back(path: Path, tmp_path: Path) -> None:
    if not path.exists():
        pytest.skip(f"no real data: {FOLDER} does not exist (set FORKRUN_TEST_DATA)")
    there = tables(path)
    first = "rntuple" if all(there.values()) else "ttree"
    notes: list[str] = []

    def convert(before: Path, after: str, form: str) -> None:
        merge_files(before, tmp_path / after, format=form, needs_checksums=False, note=notes.append)

    convert(path, "there.root", first)
    convert(tmp_path / "there.root", "back.root", "ttree" if first == "rntuple" else "rntuple")
    read = {True: of_tree, False: of_ntuple}
    for name, is_tree in there.items():
        before = read[is_tree](path, name)
        for out in ("there.root", "back.root"):
            kinds = tables(tmp_path / out)
            assert differing(before, read[kinds[name]](tmp_path / out, name)) == [], out
    assert not any(word in note for note in notes for word in (".part", ".ntuples", ".tree:"))
