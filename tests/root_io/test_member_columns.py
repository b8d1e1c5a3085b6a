"""Members of objects as columns, compared with uproot, which knows nothing of us."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun
from forkrun import _core
from forkrun.errors import InputError
from forkrun.index.model import FileIndex
from forkrun.modules.columns import as_array
from tests.server.root_program import call_root
from tests.support.jobs import forkrun as command
from tests.support.jobs import write_job
from tests.support.members_file import (
    COLUMNS,
    N_EVENTS,
    RECORDS,
    WHOLES,
    packed,
    whole,
    write_members,
    write_records,
    write_wholes,
)

IDS = ("run", "luminosityBlock", "event")
REAL_AND_FAST = (
    "p8_ee_WW_ecm240_edm4hep.root",
    "uproot-issue213.root",
    "uproot-issue327.root",
    "uproot-issue-607.root",
)
REAL = (
    *REAL_AND_FAST,
    *(pytest.param(name, marks=pytest.mark.long) for name in ("AO2D.root", "delphes.root")),
)


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_members(tmp_path_factory.mktemp("members") / "members.root")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_records(tmp_path_factory.mktemp("records") / "records.root")


def columns_of(path: Path, tree: str = "Events") -> dict[str, tuple[str, str]]:
    """Type and branch of the tree of each column within another branch."""
    found = _core.index_tree(str(path), tree, "", "", "")["members"]
    return {name: (kind, top) for name, kind, top in found if not kind.startswith("other:")}


def of_uproot(tree: Any, name: str, top: str) -> Any:
    """The branch of this column, whose name may have sizes, and may lack that of the branch that
    it is in."""
    names = {name, name.removeprefix(f"{top.removesuffix('.')}.")}
    for path, branch in tree.iteritems(recursive=True, full_paths=True):
        first, *inner = path.split("/")
        if first == top and inner and re.sub(r"\[.*", "", inner[-1]) in names:
            return branch
    raise KeyError(name)


def same(ours: Any, theirs: Any) -> bool:
    """To the last bit, with the same type."""
    one, other = ak.Array(as_array(ours)), ak.Array(theirs)
    (_, n, one_parts), (_, n_other, other_parts) = (
        ak.to_buffers(ak.to_packed(each)) for each in (one, other)
    )
    return (n, str(one.type)) == (n_other, str(other.type)) and all(
        np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(one_parts.values(), other_parts.values(), strict=True)
    )


UNLIKE_UPROOT = ("fBits", "ref", "refs")
"""Members whose bytes depend on whether an object is referred to: uproot reads other numbers."""


def differing(path: Path, tree: str, first: int = 0, last: int | None = None) -> Iterator[str]:
    """Columns of members that are not what uproot reads."""
    names = {
        name: of
        for name, of in columns_of(path, tree).items()
        if name.rpartition(".")[2] not in UNLIKE_UPROOT
    }
    ours = _core.read_columns(str(path), tree, list(names), first, -1 if last is None else last)
    with uproot.open(path) as file:
        for name, (_, top) in names.items():
            try:
                branch = of_uproot(file[tree], name, top)
            except KeyError:
                continue  # of an object that uproot reads as a whole
            if not same(ours[name], branch.array(entry_start=first, entry_stop=last)):
                yield name


def of_object(tree: Any, name: str, top: str) -> Any:
    """Values of a column within an object that uproot reads as a whole."""
    path = name.split(".")
    for n_outer in range(len(path) - 1, 0, -1):
        try:
            values = of_uproot(tree, ".".join(path[:n_outer]), top).array()
        except KeyError:
            continue
        for member in path[n_outer:]:
            values = values[member]
        return ak.values_astype(values, np.uint32) if path[-1] == "refs" else values
    raise KeyError(name)


def all_columns(path: Path, tree: str) -> dict[str, tuple[str, str]]:
    """Type of each, and the branch of the tree that it is, or is in."""
    index = _core.index_tree(str(path), tree, "", "", "")
    tops = {name: (kind, name) for name, kind, *_ in index["branches"]}
    own = {name: each for name, each in tops.items() if not each[0].startswith("other:")}
    return own | columns_of(path, tree)


def by_uproot(tree: Any, name: str, top: str) -> Any:
    """None if it cannot read this."""
    try:
        return tree[name].array() if name == top else of_uproot(tree, name, top).array()
    except (KeyError, ValueError):
        pass
    try:
        return of_object(tree, name, top)
    except (KeyError, ValueError, ak.errors.FieldNotFoundError):
        return None


def trees_of(path: Path) -> list[str]:
    with uproot.open(path) as file:
        return [name for name, kind in file.classnames(cycle=False).items() if kind == "TTree"]


def test_members_of_split_objects_have_names_and_types(members: Path) -> None:
    found = {name: kind for name, (kind, _) in columns_of(members).items()}
    assert {name: found.get(name) for name in COLUMNS} == COLUMNS


@pytest.mark.parametrize(("first", "last"), [(0, N_EVENTS), (40, 231), (5, 5)])
def test_any_range_of_members_reads_as_with_uproot(members: Path, first: int, last: int) -> None:
    assert list(differing(members, "Events", first, last)) == []


def real(folder: Path, name: str) -> Path:
    path = folder / "objects" / name
    if not path.exists():
        pytest.skip(f"no such file: {path}")
    return path


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("name", REAL)
def test_every_column_of_a_real_file_reads_as_with_uproot(real_data: Path, name: str) -> None:
    path = real(real_data, name)
    for tree in trees_of(path):
        names = all_columns(path, tree)
        ours = _core.read_columns(str(path), tree, list(names))
        with uproot.open(path) as file:
            theirs = {each: by_uproot(file[tree], each, names[each][1]) for each in names}
        unread = [each for each, values in theirs.items() if values is None]
        assert {each.rpartition(".")[2] for each in unread} <= {"fBits", "fUniqueID", "pidf"}
        differ = [
            each
            for each, values in theirs.items()
            if values is not None and not same(ours[each], values)
        ]
        assert {each.rpartition(".")[2] for each in differ} <= {"fBits"}


@pytest.mark.long
@pytest.mark.parametrize("name", ["delphes.root", *REAL_AND_FAST])
def test_every_column_of_numbers_in_a_real_file_is_what_root_draws(
    real_data: Path, name: str
) -> None:
    """Without dictionaries; in double precision. ROOT dies of drawing references."""
    path = real(real_data, name)
    of_references = re.compile(r"\.(Particles?|Constituents)\.|\.fBits$")
    for tree in trees_of(path):
        kinds = {
            each: kind
            for each, (kind, _) in all_columns(path, tree).items()
            if not kind.startswith("string") and not of_references.search(each)
        }
        ours = _core.read_columns(str(path), tree, list(kinds))
        drawn = call_root(digests_by_root, str(path), tree, list(kinds))
        found = {each: digest_of(ours[each]) for each in kinds}
        assert {each: drawn[each] for each in kinds if drawn[each] != found[each]} == {}


def digest_of(column: Any) -> str:
    values = ak.to_numpy(ak.flatten(ak.Array(as_array(column)), axis=None))
    return hashlib.sha256(values.astype(np.float64).tobytes()).hexdigest()


def digests_by_root(path: str, tree: str, names: list[str]) -> dict[str, str]:
    import ROOT

    file = ROOT.TFile(path)
    events, digests = file.Get(tree), {}
    events.SetEstimate(10_000_000)
    for name in names:
        n = events.Draw(name, "", "goff")
        values = np.array([])
        if n > 0:
            values = np.frombuffer(events.GetV1(), np.float64, n)
        digests[name] = hashlib.sha256(values.tobytes()).hexdigest() if n >= 0 else "not drawn"
    return digests


def read(path: Path, names: list[str], first: int = 0, last: int = N_EVENTS) -> dict[str, Any]:
    columns = _core.read_columns(str(path), "Events", names, first, last)
    return {name: ak.Array(as_array(column)) for name, column in columns.items()}


def test_members_that_are_taken_apart_have_names_and_types(records: Path) -> None:
    found = {name: kind for name, (kind, _) in columns_of(records).items()}
    assert {name: found.get(name) for name in RECORDS} == RECORDS
    assert not [name for name in found if name.endswith(".both")]  # arrays of texts
    assert "held.last" not in found  # it is behind numbers of which only ROOT knows how many


@pytest.mark.parametrize(("first", "last"), [(0, N_EVENTS), (37, 120)])
def test_texts_and_lists_in_objects_are_what_was_written(
    records: Path, first: int, last: int
) -> None:
    events = range(first, last)
    one = [f"{top}.{name}" for top in ("one", "kept") for name in packed(0)]
    one = [name for name in one if name in RECORDS]
    many = [name for name in packed(0) if f"many.{name}" in RECORDS]
    found = read(records, [*one, *(f"many.{n}" for n in many)], first, last)
    for name in one:
        expected = [packed(i)[name.partition(".")[2]] for i in events]
        assert found[name].to_list() == expected, name
    for name in many:
        expected = [[packed(i + k)[name] for k in range(i % 4)] for i in events]
        assert found[f"many.{name}"].to_list() == expected, name


def test_packed_numbers_are_those_of_uproot_and_root(records: Path) -> None:
    """uproot computes a `Float16_t` with a range in 32 bits, ROOT in 64."""
    names = [f"{top}.{n}" for top in ("one", "many") for n in ("ranged", "bits", "half")]
    found = read(records, names)
    with uproot.open(records) as file:
        for name in names:
            theirs = of_uproot(file["Events"], name, name.split(".")[0]).array()
            assert ak.array_equal(found[name], theirs, dtype_exact=False), name
    factor = (2**32 - 1) / 100
    stored = np.floor(0.5 + factor * np.float32(np.arange(N_EVENTS) % 100 + 0.3).astype(np.float64))
    whole = (stored / factor).astype(np.float32)
    assert read(records, ["one.whole"])["one.whole"].to_list() == whole.tolist()
    plain = np.float32(np.arange(N_EVENTS) / 3).astype(np.float64)
    assert read(records, ["one.plain"])["one.plain"].to_list() == plain.tolist()


def test_objects_that_are_not_split_have_their_members_as_columns(records: Path) -> None:
    found = read(records, [name for name in RECORDS if re.match("vector|place|kept|held", name)])
    events = range(N_EVENTS)
    assert found["vector.fP.fX"].to_list() == list(events)
    assert found["vector.fE"].to_list() == [i + 3 for i in events]
    assert found["place.fZ"].to_list() == [0.5] * N_EVENTS
    assert found["vectors.fP.fY"].to_list() == [[1] * (i % 3) for i in events]
    assert found["vectors.fE"].to_list() == [[i + 3] * (i % 3) for i in events]
    assert found["places.fX"].to_list() == [[i] * (i % 5) for i in events]
    assert found["kept.plain"].to_list() == [np.float32(i / 3) for i in events]
    assert found["held.first"].to_list() == [-i for i in events]
    assert found["held.at.x"].to_list() == [i / 2 for i in events]
    assert found["held.at.y"].to_list() == [i / 3 for i in events]
    assert found["held.n"].to_list() == [i % 4 for i in events]


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_wholes(tmp_path_factory.mktemp("wholes") / "wholes.root")


def test_texts_and_sets_that_are_stored_as_objects_are_columns(wholes: Path) -> None:
    branches = {
        name: kind
        for name, kind, _ in _core.index_tree(str(wholes), "Events", "", "", "")["branches"]
    }
    assert {name: branches[name] for name in WHOLES} == WHOLES
    for first, last in ((0, N_EVENTS), (37, 120)):
        found = read(wholes, list(WHOLES), first, last)
        expected = [whole(i) for i in range(first, last)]
        for name in WHOLES:
            assert found[name].to_list() == [each[name] for each in expected], name


def test_vectors_of_root_math_that_are_not_split_have_their_coordinates(wholes: Path) -> None:
    names = [f"vector.fCoordinates.f{axis}" for axis in "XYZT"]
    found = read(wholes, names)
    rows = list(zip(*(found[name].to_list() for name in names), strict=True))
    assert rows == [(i, 1, 2, i + 3) for i in range(N_EVENTS)]


def test_objects_of_classes_with_streamers_of_their_own_have_no_columns(
    wholes: Path, real_data: Path
) -> None:
    """Nobody knows what such a streamer writes: a value may look like one and be none."""
    assert not [name for name in columns_of(wholes) if name.startswith("own")]
    path = real_data / "objects/uproot-issue-607.root"
    if path.exists():
        assert columns_of(path, "MGTree") == {}


@pytest.mark.slow
def test_texts_and_sets_are_kept_and_used(wholes: Path, tmp_path: Path) -> None:
    source = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    job = forkrun.Job(wholes, source=source)
    job.filter("sum(set) > 100")
    job.output("kept", drop=["own"])
    result = job.run(1, output=tmp_path / "run", quiet=True, plots=False)
    chosen = [i for i in range(N_EVENTS) if sum(i + k for k in range(i % 4)) > 100]
    found = read(Path(result.output("kept")), list(WHOLES), 0, len(chosen))
    for name in WHOLES:
        assert found[name].to_list() == [whole(i)[name] for i in chosen], name
    with uproot.open(result.output("kept")) as file:
        assert file["Events/list"].array().to_list() == [whole(i)["list"] for i in chosen]


def test_damaged_objects_are_errors(records: Path, tmp_path: Path) -> None:
    """Every byte of the first basket of unpacked objects, one after the other."""
    path = tmp_path / "damaged.root"
    with uproot.open(records) as file:
        branch = file["Events"]["vectors"]
        seek, n_bytes = branch.member("fBasketSeek")[0], branch.member("fBasketBytes")[0]
    whole, errors = records.read_bytes(), list[str]()
    for place in range(seek, seek + n_bytes, 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        try:
            _core.read_columns(str(path), "Events", ["vectors.fP.fY"])
        except InputError as error:
            errors.append(str(error))
    assert len(errors) > n_bytes / 7 / 2
    assert all("branch vectors" in error for error in errors)


@pytest.mark.slow
def test_a_job_reads_members_in_all_ways_and_keeps_objects_as_they_are(
    members: Path, tmp_path: Path
) -> None:
    job = forkrun.Job(members)
    job.define("px", "sum(Hits.at.x)")

    @job.producer
    def first(block: forkrun.EventBlock) -> dict[str, Any]:
        return {"tops": ak.fill_none(ak.max(block["Hits.pt"], axis=1), -1)}

    job.filter("rec.header.weight >= 20 && dotted.header.number < 200")
    job.hist("rec.where.y", (10, 0, 1000), name="y")
    job.output("all")
    job.output("flat", keep=["px", "tops", "Hits.pt", "Hits.ids"], parquet=True)
    result = job.run(2, output=tmp_path / "run", quiet=True, plots=False)
    assert result.histograms["hist_y/y"].sum().value == 160
    chosen = slice(40, 200)
    with uproot.open(members) as before, uproot.open(result.output("all")) as after:
        one, other = before["Events"], after["Events"]
        pt, x = (one[f"Hits/Hits.{name}"].array()[chosen] for name in ("pt", "at.x"))
        assert ak.array_equal(other["px"].array(), ak.sum(x, axis=1))
        for name in ("Hits/Hits.at.y", "Cells/Cells.tower[2]", "rec/list"):
            assert ak.array_equal(other[name].array(), one[name].array()[chosen])
    with uproot.open(result.output("flat")) as flat:
        assert ak.array_equal(flat["Events"]["Hits.pt"].array(), pt)
        assert flat["Events"]["Hits.ids"].typename == "int32_t[][3]"
    rows = ak.from_parquet(result.output("flat").with_suffix(".parquet"))
    assert rows["Hits.pt"].to_list() == pt.to_list()


def test_parquet_has_members_in_place_of_objects(members: Path, tmp_path: Path) -> None:
    job = forkrun.Job(members)
    job.output("rows", format="parquet", drop=["Hits.at.*", "Cells", "dotted*", "rec*"])
    result = job.run(1, output=tmp_path / "run", quiet=True, plots=False)
    rows = ak.from_parquet(result.output("rows"))
    hits = [name for name in COLUMNS if name.startswith("Hits.") and ".at." not in name]
    assert rows.fields == ["run", "luminosityBlock", "event", *hits]
    with uproot.open(members) as file:
        assert rows["Hits.large"].to_list() == file["Events/Hits/Hits.large"].array().to_list()


def test_events_are_told_apart_by_members(members: Path, tmp_path: Path) -> None:
    ids = ("rec.header.run", "rec.header.lumi", "rec.header.number")
    keys = ("run_branch", "lumi_branch", "event_branch")
    source = {"files": [str(members)], **dict(zip(keys, ids, strict=True))}
    write_job(tmp_path, {"source": source, "outputs": [{"label": "all"}]})
    ended = command("run", "job.json", "--children", 0, "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    index = FileIndex.from_json(str(members), _core.index_tree(str(members), "Events", *ids))
    assert [r[:4] for r in index.ranges] == [(7, 1, 0, 100), (7, 2, 100, 200), (7, 3, 200, 250)]


def test_a_wrong_name_of_a_member_is_answered_with_the_right_one(members: Path) -> None:
    job = forkrun.Job(members)
    job.filter("max(Hits.at.z) > 1")
    with pytest.raises(forkrun.ConfigError, match=r'did you mean "Hits\.at\.y"'):
        job.check()
    job = forkrun.Job(members)
    job.filter(lambda block: block["Hits"] > 1)
    with pytest.raises(forkrun.ConfigError, match='"Hits" exists, of type vector<Hit>'):
        job.check()


def test_objects_are_listed_before_their_members(members: Path) -> None:
    columns = forkrun.Job(members).columns()
    names = [column.name for column in columns]
    place = names.index("Hits")
    assert names[place : place + 8] == ["Hits", *(n for n in COLUMNS if n.startswith("Hits."))]
    assert (columns["Hits"].type, columns["Hits"].n_within) == ("vector<Hit>", 7)
    assert columns["Hits.at.y"].type == "float64[]"


def test_a_damaged_basket_of_members_is_an_error(members: Path, tmp_path: Path) -> None:
    with uproot.open(members) as file:
        branch = file["Events/Hits/Hits.pt"]
        seek = branch.member("fBasketSeek")[0]
    content = bytearray(members.read_bytes())
    content[seek + 20] ^= 0xFF
    damaged = tmp_path / "damaged.root"
    damaged.write_bytes(content)
    with pytest.raises(InputError, match=r"branch Hits\.pt, basket at entry 0"):
        _core.read_columns(str(damaged), "Events", ["Hits.pt"])
