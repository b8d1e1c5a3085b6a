"""Every number of a file's directory structure is changed, in every way that one wrong bit, or one
more and less, changes it: then the file is refused, or all that is in it comes through."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.errors import InputError
from forkrun.formats.lcio import LCIO
from tests.fuzz.structure import Mutant, mutants, run_mutants, source_of, wrong
from tests.fuzz.trial import try_file
from tests.support.files import write_events
from tests.support.folder_files import KINDS, write_folders
from tests.support.lcio_files import write_events as write_events_of_lcio

TABLES = ["dir/c", "dir/deep/d"]
COPIED_UNSEEN = [("copy", "unreadable")]
"""Damage in records of LCIO, which a merge without `verify` copies as they are."""
N_PARTS = 16
"""Of the long tests, which take half an hour together."""


def write_plain_folders(path: Path) -> Path:
    """As `write_folders`, without ROOT."""
    write_events(path, [(1, 1, 12), (1, 2, 8)])
    for tree in TABLES:
        writer = _core.TreeWriter(str(path), tree, [("x", "int32")], "none", append_tree=True)
        writer.write({"x": np.arange(7, dtype=np.int32)})
        writer.close()
    return path


def faults(file: Path, chosen: Sequence[Mutant], folder: Path) -> list[tuple[str, str, object]]:
    """What must not happen, and that nothing happened at all."""
    _core.warm_up()  # what is forked need not load ROOT's interpreter
    source = source_of(file, TABLES)
    assert {*try_file(source, file, 60).steps.values()} == {"same"}
    outcomes = list(run_mutants(source, chosen, folder))
    n_refused = sum(outcome.steps.get("copy") == "refused" for _, outcome in outcomes)
    assert n_refused > len(outcomes) / 4
    return [(m.number.name, m.how, wrong(outcome)) for m, outcome in outcomes if wrong(outcome)]


def test_a_number_that_is_wrong_by_one_loses_no_tree_in_a_folder(tmp_path: Path) -> None:
    file = write_plain_folders(tmp_path / "in.root")
    names = ("top folder/dir: ", "top folder/dir: record of the list of keys: ")
    chosen = [m for m in mutants(file) if m.number.name.startswith(names) and m.how == "+1"]
    assert len(chosen) > 20
    assert {entries_with(m, file) for m in chosen[::3]} <= {(), (20, 7, 7)}
    assert _core.merge_trees([str(file)], str(tmp_path / "out.root"))


def entries_with(mutant: Mutant, file: Path) -> tuple[int, ...]:
    """Entries of all trees of the merged file; none if it is refused."""
    sound = file.read_bytes()
    mutant.write(file, mutant.value)
    try:
        return tuple(_core.merge_trees([str(file)], f"{file}.out").values())
    except InputError:
        return ()
    finally:
        file.write_bytes(sound)


@pytest.mark.parametrize("number", ["fNbytesName", "fSeekDir"])
def test_a_folder_that_root_would_read_at_another_place_is_refused(
    tmp_path: Path, number: str
) -> None:
    file = write_plain_folders(tmp_path / "in.root")
    name = f"top folder/dir: {number}"
    (mutant,) = [m for m in mutants(file) if m.number.name == name and m.how == "-1"]
    mutant.write(file, mutant.value)
    with pytest.raises(InputError, match=r'what it says of folder "dir" is damaged'):
        _core.merge_trees([str(file)], str(tmp_path / "out.root"))
    with pytest.raises(InputError, match=r'what it says of folder "dir" is damaged'):
        _core.index_tree(str(file), "Events", "run", "luminosityBlock", "event")


@pytest.mark.parametrize("n_bytes", [64, 256])
def test_a_list_of_objects_of_which_nothing_is_left_is_refused(
    tmp_path: Path, n_bytes: int
) -> None:
    """It then tells of no object, and none follows."""
    file = write_plain_folders(tmp_path / "in.root")
    (told,) = {
        m.number.place for m in mutants(file) if m.number.name.endswith("dir: list of keys: nkeys")
    }
    data = bytearray(file.read_bytes())
    n_bytes = min(n_bytes, len(data) - told)
    data[told : told + n_bytes] = bytes(n_bytes)
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"does not tell of|no record begins at|cannot be read"):
        _core.merge_trees([str(file)], str(tmp_path / "out.root"))


@pytest.mark.slow
def test_no_number_of_the_directory_loses_anything(tmp_path: Path) -> None:
    """Each number once, and each kind of change."""
    file = write_folders(tmp_path / "in.root", "changed")
    chosen = mutants(file)[::29]
    assert faults(file, chosen, tmp_path) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(N_PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_no_change_of_a_number_of_the_directory_loses_anything(
    tmp_path: Path, kind: str, part: int
) -> None:
    file = write_folders(tmp_path / "in.root", kind)
    assert faults(file, mutants(file)[part::N_PARTS], tmp_path) == []


def write_ntuple(path: Path) -> Path:
    """Its pages have checksums; what it says of itself is not compressed."""
    trees = str(write_events(path.with_suffix(".trees"), [(1, 1, 12), (1, 2, 8)]))
    _core.merge_trees([trees], str(path), compression="none", format="rntuple")
    return path


def faults_of_table(file: Path, chosen: Sequence[Mutant]) -> list[tuple[str, str, object]]:
    """The same of a file with nothing but events."""
    _core.warm_up()
    unseen = COPIED_UNSEEN if file.suffix == ".slcio" else []
    source = source_of(file)
    assert {*try_file(source, file, 60).steps.values()} == {"same"}
    found = list(run_mutants(source, chosen, file.parent))
    assert sum("refused" in outcome.steps.values() for _, outcome in found) > len(found) / 4
    return [(m.number.name, m.how, wrong(o, unseen)) for m, o in found if wrong(o, unseen)]


@pytest.mark.slow
def test_no_number_of_an_rntuple_changes_or_loses_anything(tmp_path: Path) -> None:
    file = write_ntuple(tmp_path / "rntuple-in.root")
    all_mutants = mutants(file)
    names = {mutant.number.name.partition(" at ")[0] for mutant in all_mutants}
    assert {"header", "footer", "page list", "anchor of Events: XXH3"} <= names
    assert faults_of_table(file, all_mutants[::67]) == []


@pytest.mark.long
@pytest.mark.parametrize("part", range(N_PARTS))
def test_no_change_of_a_number_of_an_rntuple_is_unseen(tmp_path: Path, part: int) -> None:
    file = write_ntuple(tmp_path / "rntuple-in.root")
    assert faults_of_table(file, mutants(file)[part::N_PARTS]) == []


def write_lcio(path: Path, *, is_compressed: bool) -> Path:
    """With an index of its events."""
    plain = path.with_suffix(".plain")
    write_events_of_lcio(plain, {1: range(3), 2: range(3, 5)}, is_compressed=is_compressed)
    LCIO.merge([str(plain)], str(path))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("is_compressed", [True, False])
def test_no_number_of_a_file_of_lcio_changes_or_loses_anything(
    tmp_path: Path, is_compressed: bool
) -> None:
    file = write_lcio(tmp_path / "in.slcio", is_compressed=is_compressed)
    assert faults_of_table(file, mutants(file)[::13]) == []


@pytest.mark.long
@pytest.mark.parametrize("is_compressed", [True, False])
def test_no_change_of_a_number_of_a_file_of_lcio_is_unseen(
    tmp_path: Path, is_compressed: bool
) -> None:
    file = write_lcio(tmp_path / "in.slcio", is_compressed=is_compressed)
    assert faults_of_table(file, mutants(file)) == []


@pytest.mark.parametrize(("name", "shorter"), [(b"LCRunHeader", b"LCRunHeade")])
def test_a_record_of_lcio_whose_name_lacks_a_letter_is_refused(
    tmp_path: Path, name: bytes, shorter: bytes
) -> None:
    file = write_lcio(tmp_path / "in.slcio", is_compressed=True)
    data = bytearray(file.read_bytes())
    data[data.index(name) - 1] = len(shorter)
    file.write_bytes(data)
    with pytest.raises(InputError, match='its name is "LCRunHeade" and not LCRunHeader'):
        LCIO.merge([str(file)], str(tmp_path / "out.slcio"))


def test_an_event_of_lcio_with_another_number_than_its_index_has_is_refused(
    tmp_path: Path,
) -> None:
    file = write_lcio(tmp_path / "in.slcio", is_compressed=False)
    (mutant, *_) = [m for m in mutants(file) if m.number.name.endswith("EventHeader: event")]
    mutant.write(file, mutant.value)
    with pytest.raises(InputError, match="the index says that event 0 of run 1 is at byte"):
        LCIO.index(str(file), "")


def test_a_collection_of_lcio_without_its_block_is_not_copied_with_verify(tmp_path: Path) -> None:
    file = write_lcio(tmp_path / "in.slcio", is_compressed=False)
    name = "block MCParticle: length of name"
    last = [m for m in mutants(file) if m.number.name.endswith(name) and m.how == "-1"][-1]
    last.write(file, last.value)
    with pytest.raises(InputError, match='no block of collection "MCParticle"'):
        LCIO.merge([str(file)], str(tmp_path / "out.slcio"), verify=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_root_has_left_so_are_not_refused(tmp_path: Path, kind: str) -> None:
    file = write_folders(tmp_path / "in.root", kind)
    merged = _core.merge_trees([str(file)], str(tmp_path / "out.root"), verify=True)
    n_of_c = 3 if kind == "changed" else 7
    extra = {} if kind == "changed" else {"dir/b": 3}
    assert merged == {"Events": 20, "dir/c": n_of_c, "dir/deep/d": 4, **extra}
    index = _core.index_tree(str(file), "dir/deep/d", "", "", "")
    assert index["n_entries"] == 4


def test_folders_that_uproot_has_written_are_not_refused(tmp_path: Path) -> None:
    """It keeps room for more keys in their lists, and leaves in it what was there before."""
    file = str(tmp_path / "in.root")
    with uproot.recreate(file, initial_directory_bytes=64) as out:
        out["a/b/ntuple"] = {"x": np.arange(5)}
        tree = out.mktree("a/c", {"x": "int64"})
        for number in range(4):
            tree.extend({"x": np.arange(10)})
            out[f"a/h{number}"] = np.histogram(np.arange(5))
        del out["a/h1"]
        out.mkdir("empty")
    with uproot.update(file) as out:
        out.mktree("d/e", {"x": "int64"}).extend({"x": np.arange(3)})
        del out["a/h2"]
    merged = _core.merge_trees([file], str(tmp_path / "out.root"), needs_checksums=False)
    assert merged == {"a/b/ntuple": 5, "a/c": 40, "d/e": 3}


@pytest.mark.slow
def test_no_real_file_is_refused_for_its_directory(real_data: Path) -> None:
    files = [f for f in real_data.rglob("*.root") if f.parent.name != "damaged"]
    assert len(files) > 10
    for file in files:
        assert _core.index_tree(str(file), "no such tree", "", "", "")["absent"]
