"""Jobs that read and write files of LCIO."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.errors import OutputError
from tests.fuzz.lcio_damage import lcio_records
from tests.support.jobs import Ended, forkrun, write_job
from tests.support.lcio_files import (
    Collection,
    d,
    event,
    f,
    i,
    particle,
    run_header,
    write,
    write_events,
)

MODULE = """
from forkrun import Filter, Producer

class Energy(Producer):
    consumes = ["MCParticle.momentum.x", "MCParticle.pdg"]
    produces = {"sum_px": "float64"}
    def produce(self, block):
        import awkward as ak
        return {"sum_px": ak.sum(block["MCParticle.momentum.x"], axis=1)}

class Even(Filter):
    consumes = ["event", "parameters.Numbers"]
    def filter(self, block):
        assert (block["parameters.Numbers"][:, 0] == block["event"]).to_list().count(False) == 0
        return block["event"] % 2 == 0
"""


def job(tmp_path: Path, *outputs: dict[str, Any], **source: Any) -> Path:
    (tmp_path / "modules.py").write_text(MODULE)
    settings = {
        "source": {"files": ["*.slcio"], **source},
        "modules": [
            {"label": "energy", "type": "python:modules.py:Energy"},
            {"label": "even", "type": "python:modules.py:Even"},
        ],
        "paths": {"main": ["even"]},
        "outputs": [{"paths": ["main"], **output} for output in outputs],
    }
    return write_job(tmp_path, settings)


def done(tmp_path: Path, command: str, *arguments: Any) -> Ended:
    ended = forkrun(command, *arguments, cwd=tmp_path)
    assert ended.code == 0, ended.err
    return ended


@pytest.mark.slow
def test_a_skim_has_the_records_of_selected_events_whatever_the_children(tmp_path: Path) -> None:
    write_events(tmp_path / "a.slcio", {1: range(40), 2: range(25)})
    write_events(tmp_path / "b.slcio", {3: range(30)}, is_compressed=False)
    file = job(tmp_path, {"label": "skim", "drop": ["sum_px"]}, events_per_lumi=10)
    done(tmp_path, "check", file)
    planned = done(tmp_path, "plan", file)
    assert "95" in planned.out
    made = set()
    for children in (0, 1, 3):
        name = f"run{children}"
        done(tmp_path, "run", file, "-o", name, "--children", children)
        made.add((tmp_path / name / "output" / "skim.slcio").read_bytes())
    assert len(made) == 1
    skim = tmp_path / "run0" / "output" / "skim.slcio"
    index = _core.OpenLcio(str(skim)).index()
    expected = [(run, e) for run, n in ((1, 40), (2, 25), (3, 30)) for e in range(0, n, 2)]
    assert list(zip(index["run"], index["event"], strict=True)) == expected
    assert [run for run, *_ in index["runs"]] == [1, 2, 3]
    whole = _core.OpenLcio(str(tmp_path / "a.slcio")).read(["Hits.time", "MCParticle.pdg"])
    kept = _core.OpenLcio(str(skim)).read(["Hits.time", "MCParticle.pdg"], 0, 20)
    assert (
        kept["Hits.time"][1].tolist()
        == whole["Hits.time"][1].reshape(-1, 2)[:40:2].ravel().tolist()
    )
    check_random_access(skim.read_bytes(), 3, len(expected))


def check_random_access(data: bytes, n_runs: int, n_events: int) -> None:
    """The last records lead to the index, and that to each event."""
    file, part = (np.frombuffer(data[-n:][:136], ">i4") for n in (136, 272))
    assert file[-1] == part[-1] == np.array(0xABCD0088, np.uint32).astype(np.int32)
    assert tuple(file[22:24]) == tuple(part[22:24]) == (n_runs, n_events)
    at_index = int.from_bytes(data[-272:][100:108], "big")
    assert int.from_bytes(data[-136:][116:124], "big") == len(data) - 272
    head = np.frombuffer(data[at_index : at_index + 36 + 28], ">i4")
    content = at_index + 36 + 28
    control, least, _, base, n = np.frombuffer(data[content : content + 20], ">i4")
    assert (control, n) == (0, n_runs + n_events)
    rows = np.frombuffer(data[content + 20 : content + 20 + 12 * n], ">i4").reshape(-1, 3)
    assert head[1] == np.array(0xABADCAFE, np.uint32).astype(np.int32)
    for run, number, offset in rows.tolist():
        place = base + offset
        name = b"LCRunHeader" if number < 0 else b"LCEventHeader"
        assert data[place + 24 : place + 24 + len(name)] == name
        assert run + least in (1, 2, 3)


def test_outputs_of_root_and_parquet_are_made_of_columns(tmp_path: Path) -> None:
    write_events(tmp_path / "a.slcio", {1: range(20)})
    keep = ["run", "luminosityBlock", "event", "MCParticle.*", "sum_px"]
    outputs = [
        {"label": kind, "format": kind, "keep": keep} for kind in ("ttree", "rntuple", "parquet")
    ]
    done(tmp_path, "run", job(tmp_path, *outputs), "-o", "run", "--children", 2)
    pq = pytest.importorskip("pyarrow.parquet")
    expected = [sum(e for _ in range(e % 3)) for e in range(0, 20, 2)]
    with uproot.open(tmp_path / "run/output/ttree.root") as file:
        tree = file["Events"]
        assert tree["event"].array().to_list() == list(range(0, 20, 2))
        assert tree["sum_px"].array().to_list() == expected
        numbers = [each.to_list() for each in tree["MCParticle.pdg"].array()]
        assert numbers == [[11, 12][: e % 3] for e in range(0, 20, 2)]
    with uproot.open(tmp_path / "run/output/rntuple.root") as file:
        assert file["Events"]["sum_px"].array().to_list() == expected
    table = pq.read_table(tmp_path / "run/output/parquet.parquet")
    assert table["sum_px"].to_pylist() == expected
    assert table["MCParticle.parents"].to_pylist()[1] == [[], [0]]


def test_objects_are_vectors_and_columns_are_listed(tmp_path: Path) -> None:
    write_events(tmp_path / "a.slcio", {1: range(6)})
    listed = done(tmp_path, "columns", "a.slcio", "MCParticle.pdg", "parameters.Names")
    assert "MCParticle.pdg" in listed.out
    assert "int32[]" in listed.out
    assert "string[]" in listed.out
    (tmp_path / "modules.py").write_text(
        MODULE
        + """
class Pt(Producer):
    consumes = [f"MCParticle.{name}" for name in (
        "momentum.x", "momentum.y", "momentum.z", "mass", "parents")]
    produces = {"pt": "float64[]", "has_mother": "bool[]"}
    def produce(self, block):
        import awkward as ak
        particles = block.MCParticle
        return {"pt": particles.pt, "has_mother": ak.num(particles.parents, axis=2) > 0}
"""
    )
    modules = [{"label": "pt", "type": "python:modules.py:Pt"}]
    outputs = [{"label": "out", "format": "ttree", "keep": ["event", "pt", "has_mother"]}]
    settings = {"source": {"files": ["a.slcio"]}, "modules": modules, "outputs": outputs}
    done(tmp_path, "run", write_job(tmp_path, settings), "-o", "run", "--children", 0)
    with uproot.open(tmp_path / "run/output/out.root") as file:
        pt = file["Events"]["pt"].array().to_list()
    assert pt[5] == pytest.approx([5, 26**0.5])


def test_outputs_leave_collections_out_and_have_new_columns(tmp_path: Path) -> None:
    """References to what is left out are left out as well, other pointers become null."""
    particles = [particle(1, [], 11), particle(2, [1], 13, (5, 0, 0))]
    hits = [i(5) + d(1, 2, 3) + f(0.5, 1) + i(2, 0, 9)]
    collections = [
        Collection("MCParticle", "MCParticle", particles),
        Collection("Hits", "SimTrackerHit", hits),
        Collection("Some", "MCParticle", [i(2)], is_subset=True),
        Collection("SomeHits", "SimTrackerHit", [i(9)], is_subset=True),
        Collection("Link", "LCRelation", [i(9, 1)]),
        Collection("Mine", "Unheard", [i(7)]),
    ]
    values: dict[str, Any] = {"Numbers": [2], "Names": ["x"]}
    write(tmp_path / "a.slcio", [run_header(1), event(1, 2, collections, values)])
    output = {"label": "less", "drop": ["MCParticle.*", "parameters.Names"]}
    done(tmp_path, "run", job(tmp_path, output), "-o", "run")
    opened = _core.OpenLcio(str(tmp_path / "run/output/less.slcio"))
    names = [name for name, _ in opened.index()["branches"]]
    found = opened.read(names)
    assert {name.partition(".")[0] for name in names if "." in name} == {
        "parameters", "RunHeader", "Hits", "Some", "SomeHits", "Link",
    }  # fmt: skip
    assert [name for name in names if name.startswith("parameters.")] == [
        "parameters.Numbers", "parameters.sum_px",
    ]  # fmt: skip
    assert found["parameters.sum_px"][1].tolist() == [5]
    assert found["Hits.particle"][1].tolist() == [-1]
    assert found["Some.index"][1].tolist() == []
    assert found["SomeHits.index"][1].tolist() == [0]
    assert (found["Link.from"][1].tolist(), found["Link.to"][1].tolist()) == ([0], [-1])


NEW = """
from forkrun import Producer

KINDS = {"bool": "c", "int8": "b", "uint16": "u", "float64": "d", "float32[2]": "f2",
         "string": "s", "int32[]": "l", "float64[]": "g", "string[]": "t", "float32[][]": "n"}

class New(Producer):
    consumes = ["event"]
    produces = {name: kind for kind, name in KINDS.items()}
    def produce(self, block):
        import awkward as ak
        import numpy as np
        n = block["event"].tolist()
        lists = [list(range(e)) for e in n]
        return {
            "c": np.array(n) % 2 == 0, "b": -np.array(n, "int8"),
            "u": np.array(n, "uint16") + np.uint16(65000), "d": np.array(n) / 3,
            "f2": np.array([[e, e / 2] for e in n], "float32"), "s": [f"e{e}" for e in n],
            "l": ak.Array(lists), "g": ak.Array([[x / 3 for x in each] for each in lists]),
            "t": [[f"x{x}" for x in each] for each in lists],
            "n": ak.Array([[[x, x / 2] for x in each] for each in lists]),
        }
"""


@pytest.mark.parametrize("drop", [[], ["MCParticle.*"]])
def test_new_columns_of_all_kinds_have_their_values(tmp_path: Path, drop: list[str]) -> None:
    """Every record is what zlib inflates, also where the event's own bytes stay as they are."""
    file = write_events(tmp_path / "a.slcio", {1: range(1, 4)})
    (tmp_path / "modules.py").write_text(NEW)
    settings = {
        "source": {"files": [str(file)]},
        "modules": [{"label": "new", "type": "python:modules.py:New"}],
        "outputs": [{"label": "all", "drop": drop}],
    }
    done(tmp_path, "run", write_job(tmp_path, settings), "-o", "run")
    made = tmp_path / "run/output/all.slcio"
    data = made.read_bytes()
    inflated = [zlib.decompress(data[r.data]) for r in lcio_records(data) if r.is_compressed]
    assert len(inflated) == 1 + 2 * 3  # the run, events and their headers
    opened = _core.OpenLcio(str(made))
    found = opened.read([name for name, _ in opened.index()["branches"]])
    assert ("MCParticle.pdg" in found) == (drop == [])
    assert found["parameters.c"][1].tolist() == [0, 1, 0]
    assert found["parameters.b"][1].tolist() == [-1, -2, -3]
    assert found["parameters.u"][1].tolist() == [65001, 65002, 65003]
    assert found["parameters.d"][1].tolist() == [1 / 3, 2 / 3, 1]
    assert found["parameters.f2"][1].tolist() == [1, 0.5, 2, 1, 3, 1.5]
    assert found["parameters.s"][-1].tobytes() == b"e1e2e3"
    assert found["l.values"][-1].tolist() == [0, 0, 1, 0, 1, 2]
    assert found["g.doubles"][-1].tolist() == [x / 3 for x in (0, 0, 1, 0, 1, 2)]
    assert found["t.values"][-1].tobytes() == b"x0x0x1x0x1x2"
    assert found["n.values"][-1].tolist() == [0, 0, 0, 0, 1, 0.5, 0, 0, 1, 0.5, 2, 1]
    assert np.diff(found["n.values"][0]).tolist() == [1, 2, 3]


def test_files_are_merged_and_run_headers_come_once(tmp_path: Path) -> None:
    one = write_events(tmp_path / "a.slcio", {1: range(5), 2: range(3)})
    two = write_events(tmp_path / "b.slcio", {2: range(3, 6)})
    done(tmp_path, "merge", "all.slcio", one, two)
    index = _core.OpenLcio(str(tmp_path / "all.slcio")).index()
    assert index["event"].tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5]
    assert [run for run, *_ in index["runs"]] == [1, 2]
    done(tmp_path, "merge", "again.slcio", "all.slcio")
    assert (tmp_path / "again.slcio").read_bytes() == (tmp_path / "all.slcio").read_bytes()


def test_what_cannot_be_done_is_refused_before_anything_runs(tmp_path: Path) -> None:
    write_events(tmp_path / "a.slcio", {1: range(5)})
    part = {"label": "part", "drop": ["MCParticle.pdg", "sum_px"]}
    ended = forkrun("check", job(tmp_path, part), cwd=tmp_path)
    assert ended.code == 2
    assert (
        'outputs.part: format "lcio": "MCParticle.pdg" is left out, and other columns of'
        ' "MCParticle" are not: collections are kept or left out whole, with keep or drop ='
        ' ["MCParticle.*"]'
    ) in ended.err
    (tmp_path / "modules.py").write_text(MODULE.replace('"float64"', '"uint64"'))
    ended = forkrun("check", tmp_path / "job.json", "--set", "outputs.part.drop=[]", cwd=tmp_path)
    assert ended.code == 2
    assert '"sum_px" is uint64; LCIO has int32, float32, float64 and texts' in ended.err
    packed = {"label": "packed", "drop": ["sum_px"], "compression": "zstd:5"}
    ended = forkrun("check", job(tmp_path, packed), cwd=tmp_path)
    assert (ended.code, "leave compression out" in ended.err) == (2, True)
    ended = forkrun("check", job(tmp_path, run_branch="Run"), cwd=tmp_path)
    assert ended.code == 3
    assert "leave source.run_branch and source.event_branch out" in ended.err


def test_a_damaged_event_ends_the_job_with_its_file_and_number(tmp_path: Path) -> None:
    good = [event(4, n, [Collection("MCParticle", "MCParticle", [])]) for n in range(3)]
    bad = event(4, 3, [Collection("MCParticle", "MCParticle", [i(1, 99)])])
    write(tmp_path / "a.slcio", [run_header(4), *good, bad])
    modules = [{"label": "energy", "type": "python:modules.py:Energy"}]
    (tmp_path / "modules.py").write_text(MODULE)
    outputs = [{"label": "out", "format": "parquet", "keep": ["event", "sum_px"]}]
    settings = {"source": {"files": ["a.slcio"]}, "modules": modules, "outputs": outputs}
    ended = forkrun("run", write_job(tmp_path, settings), "-o", "run", cwd=tmp_path)
    assert ended.code == 3, ended.err
    assert "a.slcio: event 3 of run 4 (entry 3, at byte " in ended.err
    assert 'collection "MCParticle"' in ended.err


def test_a_skim_of_no_event_is_a_file_that_can_be_read_and_merged(tmp_path: Path) -> None:
    write_events(tmp_path / "a.slcio", {1: range(1, 4, 2), 2: range(5, 6)})
    done(tmp_path, "run", job(tmp_path, {"label": "skim", "drop": ["sum_px"]}), "-o", "run")
    skim = tmp_path / "run" / "output" / "skim.slcio"
    index = _core.OpenLcio(str(skim)).index()
    assert index["event"].tolist() == []
    assert [run for run, *_ in index["runs"]] == [1, 2]
    check_random_access(skim.read_bytes(), 2, 0)
    done(tmp_path, "merge", "both.slcio", skim, "a.slcio")
    assert _core.OpenLcio(str(tmp_path / "both.slcio")).index()["event"].tolist() == [1, 3, 5]


def test_a_full_disk_is_an_error_of_the_output(tmp_path: Path) -> None:
    writer = _core.LcioWriter("/dev/full")
    with pytest.raises(OutputError, match="/dev/full: cannot be written: No space left"):
        writer.close()


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("lumis", [{}, {"events_per_lumi": 2}])
def test_events_that_several_files_have_are_found(tmp_path: Path, lumis: dict[str, int]) -> None:
    write_events(tmp_path / "a.slcio", {1: range(4)})
    write_events(tmp_path / "b.slcio", {1: range(2, 6), 2: range(3)})
    kept = job(tmp_path, {"label": "all", "paths": []}, **lumis)
    words = "2 events are in the input more than once; the first is 1:"
    assert words in done(tmp_path, "check", kept).err
    done(tmp_path, "run", kept, "-o", "kept")
    assert len(ids_of(tmp_path / "kept/output/all.slcio")) == 11
    dropped = job(tmp_path, {"label": "all", "paths": []}, duplicates="drop", **lumis)
    done(tmp_path, "run", dropped, "-o", "dropped")
    ids = [*((1, n) for n in range(6)), *((2, n) for n in range(3))]
    assert ids_of(tmp_path / "dropped/output/all.slcio") == ids


def test_events_that_a_file_has_twice_are_found(tmp_path: Path) -> None:
    write_events(tmp_path / "a.slcio", {1: range(4)})
    done(tmp_path, "merge", "two.slcio", "a.slcio", "a.slcio")
    two = job(tmp_path, {"label": "all", "paths": []}, files=["two.slcio"], duplicates="drop")
    assert "4 events are in the input more than once" in done(tmp_path, "check", two).err
    done(tmp_path, "run", two, "-o", "dropped")
    assert ids_of(tmp_path / "dropped/output/all.slcio") == [(1, n) for n in range(4)]


@pytest.mark.long
def test_results_in_blocks_of_several_sizes_are_compared(tmp_path: Path) -> None:
    write_events(tmp_path / "a.slcio", {1: range(4), 2: range(3)})
    ended = done(tmp_path, "check", job(tmp_path, {"label": "all"}), "--blocks")
    assert "no result depends on blocks" in ended.out


def ids_of(file: Path) -> list[tuple[int, int]]:
    index = _core.OpenLcio(str(file)).index()
    return list(zip(index["run"].tolist(), index["event"].tolist(), strict=True))


def headers_in(file: Path) -> list[bytes]:
    """The records of run headers, in the order of the file."""
    data = file.read_bytes()
    return [data[place:end] for _, place, end in _core.OpenLcio(str(file)).runs()]


def write_runs(file: Path, *records: bytes) -> tuple[Path, list[bytes]]:
    """A file, and the run headers that it has."""
    write(file, records)
    return file, headers_in(file)


def write_few_events(folder: Path) -> tuple[list[Path], list[bytes]]:
    """Two files in which runs 7, 8 and 9 have no event, and run 5 has two headers in each; and all
    headers that differ."""
    none = [Collection("MCParticle", "MCParticle", [])]
    fives = [event(5, n, none, {"Numbers": [n]}) for n in range(4)]
    sixes = [event(6, n, none, {"Numbers": [n]}) for n in range(2)]
    other = run_header(5, generator="another")
    one, a = write_runs(
        folder / "a.slcio", run_header(7), run_header(5), *fives[:2], run_header(8), other, fives[2]
    )
    two, b = write_runs(
        folder / "b.slcio", other, fives[3], run_header(7), run_header(6), *sixes, run_header(9)
    )
    return [one, two], list(dict.fromkeys([*a, *b]))


def test_headers_of_runs_without_events_are_merged_in_their_order(tmp_path: Path) -> None:
    files, headers = write_few_events(tmp_path)
    assert len(headers) == 6
    done(tmp_path, "merge", "all.slcio", *files)
    merged = tmp_path / "all.slcio"
    assert headers_in(merged) == headers
    assert ids_of(merged) == [*((5, n) for n in range(4)), (6, 0), (6, 1)]
    done(tmp_path, "merge", "again.slcio", "--verify", merged)
    assert (tmp_path / "again.slcio").read_bytes() == merged.read_bytes()


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("drop", [["sum_px"], ["sum_px", "MCParticle.*"]])
def test_a_skim_has_the_headers_of_all_runs(tmp_path: Path, drop: list[str]) -> None:
    """Also of those of which it has no event, and of files that give it none."""
    _, headers = write_few_events(tmp_path)
    selection = MODULE.replace('block["event"] % 2 == 0', 'block["run"] == 6')
    file = job(tmp_path, {"label": "skim", "drop": drop})
    (tmp_path / "modules.py").write_text(selection.replace('"event", ', '"event", "run", '))
    made = set()
    for children in (0, 2):
        done(tmp_path, "run", file, "-o", f"run{children}", "--children", children)
        skim = tmp_path / f"run{children}" / "output/skim.slcio"
        assert ids_of(skim) == [(6, 0), (6, 1)]
        assert sorted(headers_in(skim)) == sorted(headers)
        made.add(skim.read_bytes())
    assert len(made) == 1
    off = ["--set", "merge.carry=false"]
    done(tmp_path, "run", file, "-o", "without", *off)
    without = headers_in(tmp_path / "without/output/skim.slcio")
    assert [
        run for run, *_ in _core.OpenLcio(str(tmp_path / "without/output/skim.slcio")).runs()
    ] == [6]
    assert set(without) < set(headers)


def damage_last_event(file: Path) -> int:
    """Changes a bit in the middle of the compressed data; gives the place of the record."""
    data = bytearray(file.read_bytes())
    body = data.rindex(b"LCEvent\0") - 24
    data[body + 32 + int.from_bytes(data[body + 12 : body + 16], "big") // 2] ^= 4
    file.write_bytes(data)
    return body


def test_a_record_that_is_damaged_is_not_copied_with_verify(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.slcio", {1: range(3)})
    body = damage_last_event(file)
    done(tmp_path, "merge", "copied.slcio", file)
    ended = forkrun("merge", "checked.slcio", file, "--verify", cwd=tmp_path)
    assert ended.code == 3
    words = f"{file}: entry 2, at byte {body}: the data of the record LCEvent cannot be inflated"
    assert words in ended.err
    assert not (tmp_path / "checked.slcio").exists()
    settings = {"source": {"files": [str(file)]}, "outputs": [{"label": "all"}]}
    write_job(tmp_path, {**settings, "merge": {"verify": True}})
    ended = forkrun("run", "job.json", "-o", "run", cwd=tmp_path)
    assert ended.code == 3
    assert words in ended.err


def test_an_event_without_compression_whose_blocks_do_not_fit_is_not_copied(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.slcio", {1: range(3)}, is_compressed=False)
    data = bytearray(file.read_bytes())
    place = data.rindex(bytes.fromhex("deadbeef"), 0, data.rindex(b"LCEventHeader")) - 4
    data[place + 3] ^= 4  # the length of the last block of an event
    file.write_bytes(data)
    ended = forkrun("merge", "checked.slcio", file, "--verify", cwd=tmp_path)
    assert ended.code == 3
    assert "a block has" in ended.err
