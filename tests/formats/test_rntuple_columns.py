"""Columns of RNTuples are those that uproot and ROOT read, to the last bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from forkrun.errors import InputError
from tests.support.rntuple_by_root import write_kinds
from tests.support.rntuple_files import (
    Lists,
    by_entries_of_root,
    by_forkrun,
    by_root,
    by_uproot,
    types_of,
)

NTUPLES = {
    "cmssw_like_6.40.root": ("Events", "Runs", "LuminosityBlocks", "Late"),
    "coffea_nano_dimuon_rntuple.root": ("Events",),
    "coffea_nano_dy_empty_rntuple.root": ("Events",),
    "coffea_nano_dy_rntuple.root": ("Events",),
    "ntpl001_staff_rntuple_v1-0-1-0.root": ("Staff",),
    "test_emptystruct_invalidvar_rntuple_v1-0-0-0.root": ("ntuple",),
    "test_extension_columns_rntuple_v1-0-0-0.root": ("ntuple",),
    "test_float_types_rntuple_v1-0-0-0.root": ("ntuple",),
    "test_int_vfloat_tlv_vtlv_rntuple_v1-0-0-0.root": ("ntuple",),
    "test_multiple_cluster_groups_rntuple_v1-0-0-0.root": ("ntuple",),
    "test_multiple_representations_rntuple_v1-0-0-0.root": ("ntuple",),
    "test_nested_structs_rntuple_v1-0-0-0.root": ("ntuple",),
    "test_stl_containers_rntuple_v1-0-0-0.root": ("ntuple",),
    "uproot_written_5.7.7.root": ("Events", "nested"),
}
LARGE = {
    "coffea_nano_dimuon_rntuple.root",
    "coffea_nano_dy_empty_rntuple.root",
    "coffea_nano_dy_rntuple.root",
}
"""With 1,500 columns, for which uproot takes seconds: each tenth of one such file is enough for
each change."""
OTHERS = {
    "empty_struct": "other:EmptyStruct",
    "variant": "other:std::variant<std::int32_t,StructForVariant>",
    "variant_int32_string": "other:std::variant<std::int32_t,std::string>",
    "vector_variant_int64_string": "other:std::vector<std::variant<std::int64_t,std::string>>",
}
"""What is no column in these files."""


@pytest.fixture(scope="module")
def files(real_data: Path) -> Path:
    folder = real_data / "rntuple"
    if not folder.is_dir():
        pytest.skip(f"no files of RNTuples: {folder} does not exist")
    return folder


def differing(one: Lists, other: Lists) -> list[str]:
    """Names of columns whose values differ, signs of zeros and NaN included."""
    return [name for name in other if repr(one[name]) != repr(other[name])]


def test_each_file_of_the_folder_is_tried(files: Path) -> None:
    assert sorted(path.name for path in files.glob("*.root")) == sorted(NTUPLES)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in LARGE else ()) for name in NTUPLES],
)
def test_every_column_is_what_uproot_reads(files: Path, name: str) -> None:
    for ntuple in NTUPLES[name]:
        types = types_of(str(files / name), ntuple)
        found = by_forkrun(str(files / name), ntuple)
        expected = by_uproot(str(files / name), ntuple, list(found))
        assert list(expected) == list(found)
        assert differing(found, expected) == []
        others = {column: kind for column, kind in types.items() if column not in found}
        assert others.items() <= OTHERS.items()


@pytest.mark.slow
def test_each_tenth_column_of_a_large_file_is_what_uproot_reads(files: Path) -> None:
    path = str(files / "coffea_nano_dy_rntuple.root")
    found, types = by_forkrun(path, "Events"), types_of(path, "Events")
    assert list(found) == list(types)
    tenth = list(found)[::10]
    expected = by_uproot(path, "Events", tenth)
    assert list(expected) == tenth
    assert len(tenth) > 140
    assert differing(found, expected) == []


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NTUPLES if not name.startswith("coffea_")])
def test_every_column_is_what_root_reads(files: Path, name: str) -> None:
    for ntuple in NTUPLES[name]:
        found = by_forkrun(str(files / name), ntuple)
        expected = by_root(str(files / name), ntuple, list(found))
        assert differing(found, expected) == []


@pytest.mark.parametrize("step", [1, 7, 150])
@pytest.mark.parametrize(
    ("name", "ntuple"),
    [
        ("cmssw_like_6.40.root", "Events"),
        ("cmssw_like_6.40.root", "Late"),
        ("test_extension_columns_rntuple_v1-0-0-0.root", "ntuple"),
        ("test_multiple_cluster_groups_rntuple_v1-0-0-0.root", "ntuple"),
        ("test_multiple_representations_rntuple_v1-0-0-0.root", "ntuple"),
        ("uproot_written_5.7.7.root", "nested"),
    ],
)
def test_any_ranges_of_entries_have_the_same_values(
    files: Path, name: str, ntuple: str, step: int
) -> None:
    path = str(files / name)
    assert differing(by_forkrun(path, ntuple, step), by_forkrun(path, ntuple)) == []


@pytest.mark.slow
def test_damage_anywhere_is_refused_by_name_or_changes_no_value(
    files: Path, tmp_path: Path
) -> None:
    """ROOT writes checksums of all that it says, and of every page."""
    original = files / "cmssw_like_6.40.root"
    expected = repr(by_forkrun(str(original), "Events"))
    damaged = tmp_path / "damaged.root"
    refused: list[str] = []
    for place in range(0, original.stat().st_size, 230):
        content = bytearray(original.read_bytes())
        content[place] ^= 0x10
        damaged.write_bytes(content)
        try:
            assert repr(by_forkrun(str(damaged), "Events")) == expected
        except InputError as error:
            refused.append(str(error))
    assert [message for message in refused if str(damaged) not in message] == []
    assert len(refused) >= 150


def _expected(n: int) -> Lists:
    """What `write_kinds` writes, of the types that are stored exactly."""
    return {
        "letter": [ord("a") + i % 26 for i in range(n)],
        "small": [i % 255 - 127 for i in range(n)],
        "wide": [(-1 if i % 2 else 1) << (i % 63) for i in range(n)],
        "unsigned_wide": [2**64 - 1 - i for i in range(n)],
        "bits": [[bool(i * 37 >> bit & 1) for bit in range(20)] for i in range(n)],
        "perhaps": [[float(i)] if i % 4 else [] for i in range(n)],
        "matrix": [[[1.0 * i, 2.0 * i], [3.0 * i, 4.0 * i], [5.0 * i, 6.0 * i]] for i in range(n)],
        "corners": [[[i, -i]] * (i % 3) for i in range(n)],
        "flags": [[i % 2 == 0] * (i % 5) for i in range(n)],
        "words": [["x" * (i % 7)] * (i % 2) for i in range(n)],
        "deep": [[[[i] * (i % 4)] * (i % 2 + 1)] * (i % 3) for i in range(n)],
    }


@pytest.mark.long
@pytest.mark.parametrize("compression", [0, 404, 505])
def test_types_that_root_writes_in_small_pages_are_read(tmp_path: Path, compression: int) -> None:
    path = write_kinds(tmp_path / "kinds.root", 1000, compression)
    types = types_of(path, "kinds")
    assert types["deep"] == "int32[][][]"
    assert types["matrix"] == "float32[3][2]"
    assert types["corners"] == "int16[][2]"
    assert types["quantised"] == types["double32"] == types["truncated"] == "float64"
    found = by_forkrun(path, "kinds", 170)
    expected = {name: values for name, values in _expected(1000).items() if name in types}
    assert differing(found, expected) == []
    rounded = ["half", "truncated", "quantised", "narrow", "double32"]
    assert differing(found, by_entries_of_root(path, "kinds", rounded)) == []
