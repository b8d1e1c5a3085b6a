"""Many small RNTuples become one of large clusters, whatever their files say and in which turn."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot
import xxhash

from forkrun import merge_files
from forkrun.errors import InputError
from tests.support.jobs import forkrun, write_job
from tests.support.rntuple_files import by_forkrun
from tests.support.rntuple_pages import pages_of
from tests.support.rntuple_pair import events

N_EVENTS = 300


def columns_of(number: int) -> dict[str, Any]:
    """Columns whose pages are the same in all files, small, or large."""
    rng = np.random.default_rng(number)
    counts = rng.integers(0, 4, N_EVENTS)
    return {
        "same": np.zeros(N_EVENTS, np.int32),
        "small": rng.integers(0, 2, N_EVENTS).astype(bool),
        "large": rng.normal(size=N_EVENTS),
        "List": ak.zip({"v": ak.unflatten(rng.normal(size=counts.sum()), counts)}),
    }


def write_table(path: Path, columns: dict[str, Any], **beside: dict[str, Any]) -> Path:
    """RNTuples with checksums, as conversion makes them."""
    plain = path.with_suffix(".plain")
    with uproot.recreate(plain) as file:
        for name, table in {"Events": columns, **beside}.items():
            file.mkrntuple(name, table)
    merge_files(plain, path, format="rntuple", needs_checksums=False)
    return path


def lists_of(path: Path) -> Mapping[str, list[Any]]:
    return by_forkrun(str(path), "Events")


def joined(files: list[Path]) -> dict[str, list[Any]]:
    parts = [lists_of(file) for file in files]
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def names_of_columns(path: Path) -> list[str]:
    """The field of each stored column."""
    with uproot.open(path) as file:
        table = file["Events"]
        return [table.field_records[c.field_id].field_name for c in table.column_records]


def test_small_pages_are_joined_and_others_copied(tmp_path: Path) -> None:
    files = [write_table(tmp_path / f"{n}.root", columns_of(n)) for n in range(5)]
    merge_files(files, tmp_path / "out.root")
    assert lists_of(tmp_path / "out.root") == joined(files)
    names = names_of_columns(files[0])
    pages = dict(zip(names, *pages_of(tmp_path / "out.root", "Events"), strict=True))
    assert {name: len(of_column) for name, of_column in pages.items()} == {
        "same": 1, "small": 1, "large": 5, "List": 1, "v": 5,
    }  # fmt: skip
    large = names.index("large")
    assert pages["large"] == [pages_of(file, "Events")[0][large][0] for file in files]


def test_the_same_bytes_may_be_another_number_of_bits(tmp_path: Path) -> None:
    bits = np.random.default_rng(1).integers(0, 2, 504).astype(bool)
    bits[500:] = False
    files = [
        write_table(tmp_path / f"{number}.root", {"bits": bits[:n]})
        for number, n in enumerate((504, 504, 500, 504))
    ]
    assert len({pages_of(file, "Events")[0][0][0] for file in files}) == 1
    merge_files(files, tmp_path / "out.root")
    assert lists_of(tmp_path / "out.root") == joined(files)


def test_pages_without_checksums_are_joined_and_get_some(tmp_path: Path) -> None:
    files: list[Path] = []
    for number in (1, 1, 2, 3, 3):
        files.append(tmp_path / f"{len(files)}.root")
        with uproot.recreate(files[-1]) as file:
            file.mkrntuple("Events", columns_of(number))
    merge_files(files, tmp_path / "out.root", needs_checksums=False)
    assert lists_of(tmp_path / "out.root") == joined(files)
    merge_files(tmp_path / "out.root", tmp_path / "again.root", verify=True)
    assert (tmp_path / "again.root").read_bytes() == (tmp_path / "out.root").read_bytes()


def test_files_of_other_writers_take_turns(tmp_path: Path) -> None:
    files = []
    for number in range(12):
        columns = columns_of(number)
        turned = dict(list(columns.items())[number % 4 :] + list(columns.items())[: number % 4])
        extra = {"other": np.arange(N_EVENTS)} if number % 2 else {}
        files.append(write_table(tmp_path / f"{number}.root", turned, **{"Also": extra or turned}))
    out = tmp_path / "out.root"
    with pytest.raises(InputError, match=r'1.root: RNTuple "Also": it has no field'):
        merge_files(files, out)
    assert merge_files(files, out, trees="Events") == {"Events": 12 * N_EVENTS}
    assert lists_of(out) == joined(files)


def test_one_of_1500_files_is_open_at_a_time(tmp_path: Path) -> None:
    files = [write_table(tmp_path / f"{n}.root", {"x": np.arange(n, n + 4)}) for n in range(3)]
    names = [tmp_path / f"copy_{number}.root" for number in range(1500)]
    for number, name in enumerate(names):
        shutil.copy(files[number % 3], name)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, limit[0]), limit[1]))
    try:
        merged = merge_files(names, tmp_path / "out.root")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert merged == {"Events": 6000}
    wanted = [x for number in range(1500) for x in range(number % 3, number % 3 + 4)]
    assert lists_of(tmp_path / "out.root")["x"] == wanted
    assert [len(column) for column in pages_of(tmp_path / "out.root", "Events")[0]] == [1]


def test_damage_in_a_page_that_is_joined_is_found_before_anything_is_published(
    tmp_path: Path,
) -> None:
    files = [write_table(tmp_path / f"{n}.root", columns_of(n)) for n in range(3)]
    for name in ("same", "small", "large"):
        number = names_of_columns(files[2]).index(name)
        page = pages_of(files[2], "Events")[0][number][0]
        data = bytearray(files[2].read_bytes())
        data[data.index(page) + len(page) - 1] ^= 1
        damaged = tmp_path / "damaged.root"
        damaged.write_bytes(data)
        with pytest.raises(InputError, match=rf'damaged.root: field "{name}": page 0 in cluster 0'):
            merge_files([*files, damaged], tmp_path / "out.root")
        assert not (tmp_path / "out.root").exists()


def edit_envelope(path: Path, kind: int, at: int, value: bytes) -> None:
    """Changes bytes of a header (1) or footer (2) that is stored as it is, and its checksum."""
    data = bytearray(path.read_bytes())
    with uproot.open(path) as file:
        members = file["Events"].all_members
    which = {1: "Header", 2: "Footer"}[kind]
    begin, size = members[f"fSeek{which}"], members[f"fNBytes{which}"]
    assert size == members[f"fLen{which}"]
    place = begin + (at if at >= 0 else size + at)
    data[place : place + len(value)] = value
    checksum = xxhash.xxh3_64_intdigest(bytes(data[begin : begin + size - 8]))
    data[begin + size - 8 : begin + size] = checksum.to_bytes(8, "little")
    path.write_bytes(data)


def test_what_a_newer_writer_uses_is_refused_or_said_to_be_left_out(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "plain.root", compression=None) as file:
        file.mkrntuple("Events", {"x": np.arange(3)})
    merge_files(tmp_path / "plain.root", tmp_path / "in.root", needs_checksums=False)
    newer = tmp_path / "newer.root"
    for kind, part in ((1, "header"), (2, "footer")):
        shutil.copy(tmp_path / "in.root", newer)
        edit_envelope(newer, kind, 8, (1).to_bytes(8, "little"))
        with pytest.raises(InputError, match=rf"its {part} cannot be read: it uses a feature"):
            merge_files(newer, tmp_path / "out.root")
    shutil.copy(tmp_path / "in.root", newer)
    edit_envelope(newer, 2, -12, (1).to_bytes(4, "little"))  # a set of attributes
    notes: list[str] = []
    merge_files(newer, tmp_path / "out.root", note=notes.append)
    assert f'{newer}: the attributes of "Events" are left out' in notes


def test_rows_of_one_input_are_there_once_also_in_rntuples(tmp_path: Path) -> None:
    runs = {"run": np.array([1, 2], np.uint32), "sum": np.array([1.5, 2.5])}
    write_table(tmp_path / "in.root", events(200), Runs=runs)
    parts = []
    for number, cut in enumerate(("MET_pt < 30", "MET_pt >= 30")):
        job = {
            "source": {"files": [str(tmp_path / "in.root")]},
            "modules": [{"label": "cut", "type": f"expression:{cut}", "kind": "filter"}],
            "paths": {"some": ["cut"]},
            "outputs": [{"label": "all", "paths": ["some"]}],
        }
        ended = forkrun("run", write_job(tmp_path, job), "-o", f"run{number}", cwd=tmp_path)
        assert ended.code == 0, ended.err
        parts.append(tmp_path / f"part{number}.root")
        merge_files(tmp_path / f"run{number}/output/all.root", parts[-1], format="rntuple")
    merge_files(parts, tmp_path / "out.root")
    with uproot.open(tmp_path / "out.root") as file:
        assert file.classnames()["Runs;1"] == "ROOT::RNTuple"
        assert sorted(file["Events"]["event"].array().tolist()) == list(range(100, 300))
        assert file["Runs"]["sum"].array().tolist() == [1.5, 2.5]
