"""Joining small baskets: what is read stays the same, in fewer and larger baskets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.errors import ConfigError, InputError
from forkrun.merge import merge_files
from tests.merge.test_object_branches import readable
from tests.server.root_program import call_root
from tests.support.files import write_events
from tests.support.jobs import forkrun, sha256
from tests.support.object_file import write_branches

SMALL = [7, 1, 0, 12]  # events of files
LARGE = 3000


def write(folder: Path, sizes: list[int], compression: str = "zstd:5") -> list[str]:
    """Files with so many events, one lumi each, in one basket per branch."""
    files, first = [], 1
    for number, n_events in enumerate(sizes):
        path = write_events(folder / f"in-{number}.root", [(1, number + 1, n_events)], first)
        if compression != "zstd:1":
            merge_files([path], path.with_suffix(".z"), compression=compression)
            path.with_suffix(".z").rename(path)
        files.append(str(path))
        first += n_events
    return files


def merged(folder: Path, inputs: list[str], **options: Any) -> tuple[Path, list[str]]:
    """The merged file, and the notes on its baskets."""
    notes: list[str] = []
    output = folder / "merged.root"
    merge_files(inputs, output, force=True, note=notes.append, **options)
    return output, notes


def values_of(*files: str | Path) -> Any:
    return ak.concatenate([uproot.open(file)["Events"].arrays() for file in files])


def entries_of_baskets(file: Path, branch: str = "Jet_pt") -> list[int]:
    opened = uproot.open(file)["Events"][branch]
    return [int(opened.basket(i).num_entries) for i in range(opened.num_baskets)]


def test_baskets_of_small_files_are_joined(tmp_path: Path) -> None:
    inputs = write(tmp_path, SMALL)
    output, notes = merged(tmp_path, inputs)
    assert entries_of_baskets(output) == [20]
    assert ak.array_equal(values_of(output), values_of(*inputs))
    assert len(notes) == 1
    assert notes[0].startswith("Events: 15 baskets of 3 files, ")
    assert notes[0].endswith(
        " bytes each on average, were joined, as a third or more of such baskets is their headers"
    )


def test_baskets_of_small_files_are_joined_beside_objects_that_root_merges(tmp_path: Path) -> None:
    inputs = write(tmp_path, SMALL)
    plain, notes = merged(tmp_path, inputs)
    baskets, values = entries_of_baskets(plain), values_of(plain)
    for file in inputs:
        with uproot.update(file) as opened:
            opened["h"] = np.histogram([1.0, 2.0], bins=2, range=(0.0, 4.0))
    output, notes_beside = merged(tmp_path, inputs)
    assert entries_of_baskets(output) == baskets
    assert ak.array_equal(values_of(output), values)
    assert notes_beside[0] == notes[0]
    assert uproot.open(output)["h"].values().tolist() == [4.0, 4.0]


def test_baskets_are_copied_one_by_one_where_that_is_asked_for(tmp_path: Path) -> None:
    inputs = write(tmp_path, SMALL)
    output, notes = merged(tmp_path, inputs, recluster="never")
    assert entries_of_baskets(output) == [7, 1, 12]
    assert ak.array_equal(values_of(output), values_of(*inputs))
    assert notes[0].endswith("were copied one by one, as was asked for")


@pytest.mark.parametrize("sizes", [[LARGE, LARGE], [LARGE, 0, 5]])
def test_large_baskets_are_joined_where_that_is_asked_for(tmp_path: Path, sizes: list[int]) -> None:
    inputs = write(tmp_path, sizes)
    output, notes = merged(tmp_path, inputs, recluster="always")
    assert entries_of_baskets(output) == [sum(sizes)]
    assert ak.array_equal(values_of(output), values_of(*inputs))
    assert notes[0].endswith("were joined, as was asked for")


def test_large_baskets_stay_as_they_are_between_small_ones(tmp_path: Path) -> None:
    inputs = write(tmp_path, [3, 4, LARGE, 5, 6, LARGE])
    output, notes = merged(tmp_path, inputs)
    assert entries_of_baskets(output) == [7, LARGE, 11, LARGE]
    assert ak.array_equal(values_of(output), values_of(*inputs))
    assert notes[0].startswith("Events: 20 baskets of 4 files, ")
    assert "; 10 baskets of 2 files, 1," in notes[0]
    assert notes[0].endswith("were copied one by one, as they are large enough")


@pytest.mark.parametrize("compression", ["lz4:4", "zlib:1", "lzma:1", "none"])
def test_what_is_compressed_anew_is_joined(tmp_path: Path, compression: str) -> None:
    inputs = write(tmp_path, [LARGE, 5, LARGE])
    output, notes = merged(tmp_path, inputs, compression=compression)
    assert entries_of_baskets(output) == [2 * LARGE + 5]
    assert ak.array_equal(values_of(output), values_of(*inputs))
    assert notes[0].endswith("were joined, as they were recompressed")
    used = uproot.open(output)["Events"]["Jet_pt"].compression
    assert (type(used).__name__ if used else "none").lower() == compression.split(":")[0]


def test_what_is_compressed_anew_keeps_its_baskets_where_that_is_asked_for(tmp_path: Path) -> None:
    inputs = write(tmp_path, [LARGE, 5, LARGE])
    output, _ = merged(tmp_path, inputs, compression="lz4:4", recluster="never")
    assert entries_of_baskets(output) == [LARGE, 5, LARGE]
    assert ak.array_equal(values_of(output), values_of(*inputs))


def test_small_baskets_of_lzma_are_copied_unless_it_is_asked_for(tmp_path: Path) -> None:
    inputs = write(tmp_path, SMALL, "lzma:1")
    output, notes = merged(tmp_path, inputs)
    assert entries_of_baskets(output) == [7, 1, 12]
    assert notes[0].endswith("as LZMA takes long; --recluster always joins them")
    output, notes = merged(tmp_path, inputs, recluster="always")
    assert entries_of_baskets(output) == [20]


def test_clusters_end_at_32_mib(tmp_path: Path) -> None:
    inputs = []
    for number, n in enumerate((3_000_000, 10, 2_500_000)):
        path = tmp_path / f"{number}.root"
        writer = _core.TreeWriter(str(path), "Events", [("x", "int64")], "lz4:1")
        writer.write({"x": np.arange(n, dtype=np.int64) // 1000})
        writer.close()
        inputs.append(str(path))
    output, _ = merged(tmp_path, inputs, recluster="always")
    first = 4_194_282  # 32 MiB as trees tell: with the keys of baskets
    assert entries_of_baskets(output, "x") == [first, 5_500_010 - first]
    joined, expected = (uproot.open(f)["Events"]["x"].array() for f in (output, inputs[0]))
    assert ak.array_equal(joined[:3_000_000], expected)


@pytest.mark.slow
def test_branches_of_objects_are_joined(tmp_path: Path) -> None:
    file = tmp_path / "objects.root"
    call_root(write_branches, str(file))
    output, notes = merged(tmp_path, [str(file)] * 3, recluster="always")
    before, after = readable(file), readable(output)
    assert set(after) == set(before)
    for name, values in before.items():
        assert ak.array_equal(after[name], ak.concatenate([values] * 3)), name
    assert any("baskets of 3 files" in note for note in notes)


def test_the_same_bytes_come_out_each_time(tmp_path: Path) -> None:
    inputs = write(tmp_path, [3, LARGE, *SMALL])
    digests = {sha256(merged(tmp_path, inputs, recluster="always")[0]) for _ in range(3)}
    assert len(digests) == 1


def test_a_damaged_small_basket_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    inputs = write(tmp_path, [200, 200])
    branch = uproot.open(inputs[1])["Events"]["Jet_pt"]
    place = branch.member("fBasketSeek")[0] + branch.member("fBasketBytes")[0] - 40
    damaged = bytearray(Path(inputs[1]).read_bytes())
    damaged[place : place + 30] = bytes(30)
    Path(inputs[1]).write_bytes(damaged)
    output = tmp_path / "merged.root"
    with pytest.raises(InputError, match=r"in-1\.root.*Jet_pt"):
        merge_files(inputs, output, recluster="always")
    assert not output.exists()


def test_the_command_says_what_became_of_baskets(tmp_path: Path) -> None:
    inputs = write(tmp_path, SMALL)
    ended = forkrun("merge", "out.root", *inputs, "--recluster", "never", cwd=tmp_path)
    assert ended.code == 0
    assert "out.root: Events: 15 baskets of 3 files, " in ended.out
    assert "were copied one by one, as was asked for" in ended.out


def test_another_word_is_an_error(tmp_path: Path) -> None:
    inputs = write(tmp_path, [1])
    with pytest.raises(ConfigError, match='recluster "no" must be auto, always or never'):
        merge_files(inputs, tmp_path / "out.root", recluster="no")
    ended = forkrun("merge", tmp_path, "--recluster", "always", cwd=tmp_path)
    assert ended.code == 2
    assert "are for files" in ended.err
