"""Datasets whose files have other columns: data has none of the generator's."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun
from forkrun import _core
from tests.support.jobs import environment, write_job
from tests.support.jobs import forkrun as command

N = {"data": 90, "mc": 120}
QUIET: dict[str, Any] = {"quiet": True, "plots": False}
IDS = ["run", "luminosityBlock", "event"]
OF_DATA = [*IDS, "nMuon", "Muon_pt", "Muon_code"]
OF_MC = [*OF_DATA, "Muon_genPartIdx", "genWeight", "nGenPart", "GenPart_pt"]
TYPES = {
    "run": "uint32",
    "luminosityBlock": "uint32",
    "event": "uint64",
    "Muon_pt": "float32[]",
    "Muon_code": "int16[]",
    "Muon_genPartIdx": "int16[]",
    "genWeight": "float32",
    "GenPart_pt": "float32[]",
}


def write(path: Path, first: int, n: int, names: Sequence[str], **types: str) -> None:
    """`first`: number of the first event. Events have n % 3 muons and n % 4 particles."""
    events = np.arange(first, first + n)
    kinds = {name: kind for name, kind in (TYPES | types).items() if name in names}
    writer = _core.TreeWriter(str(path), "Events", list(kinds.items()), "none")
    writer.write({name: values(name, kind, events) for name, kind in kinds.items()})
    writer.close()


def values(name: str, kind: str, events: Any) -> Any:
    plain = {"run": np.ones_like(events), "luminosityBlock": 1 + events // 40}
    if not kind.endswith("[]"):
        return plain.get(name, events).astype(kind)
    counts = events % (4 if name.startswith("Gen") else 3)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return offsets, np.repeat(events, counts).astype(kind.removesuffix("[]"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    write(tmp_path / "data.root", 0, N["data"], OF_DATA)
    write(tmp_path / "mc.root", 1000, N["mc"], OF_MC)
    return tmp_path


DATASETS: dict[str, Any] = {"data": {"files": "data.root", "is_data": True}, "mc": "mc.root"}


def weight(events: Any) -> Any:
    """Asks for a column of the generator in simulation alone."""
    return np.ones(len(events)) if events.dataset.is_data else events.genWeight


def matched(events: Any) -> Any:
    """Asks what there is, as scripts for coffea do."""
    if not hasattr(events.Muon, "genPartIdx") or not hasattr(events, "GenPart"):
        return ak.num(events.Muon.pt) * 0
    return ak.sum(events.Muon.genPartIdx >= 0, axis=1) + ak.num(events.GenPart.pt)


def heavy(events: Any) -> Any:
    return events.Muon.pt if events.dataset.is_data else 2 * events.GenPart.pt


def job(name: str, of: Any = None, **sections: Any) -> forkrun.Job:
    """Even events, with columns that are made of those of the generator where they are."""
    made = forkrun.Job(of or DATASETS, name=name, **sections)
    made.define("w", weight).define("n", matched)
    made.filter("event % 2 == 0", label="even")
    return made


def keys(file: Path) -> list[str]:
    with uproot.open(file) as opened:
        return list(opened["Events"].keys(recursive=False))


def column(file: Path, name: str) -> Any:
    with uproot.open(file) as opened:
        return opened["Events"][name].array().tolist()


def check(result: Any) -> None:
    """Values of the outputs in trees."""
    data, mc = result.output("skim", "data"), result.output("skim", "mc")
    events = {"data": list(range(0, 90, 2)), "mc": list(range(1000, 1120, 2))}
    assert column(data, "event") == events["data"]
    assert column(mc, "event") == events["mc"]
    assert sorted(keys(data)) == sorted([*OF_DATA, "n", "w"])
    assert sorted(keys(mc)) == sorted([*OF_MC, "n", "w"])
    assert column(data, "w") == [1.0] * len(events["data"])
    assert column(mc, "w") == column(mc, "genWeight") == [float(e) for e in events["mc"]]
    assert column(data, "n") == [0] * len(events["data"])
    assert column(mc, "n") == [e % 3 + e % 4 for e in events["mc"]]
    assert column(mc, "Muon_genPartIdx") == [[e] * (e % 3) for e in events["mc"]]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [0, 2])
def test_each_file_has_the_columns_of_its_own_dataset(folder: Path, children: int) -> None:
    check(job("trees").output("skim").run(children=children, **QUIET))


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("of_input", ["ttree", "rntuple"])
@pytest.mark.parametrize("format", ["ttree", "rntuple", "parquet"])
def test_so_it_is_in_all_formats(folder: Path, of_input: str, format: str) -> None:
    for name in N if of_input == "rntuple" else ():
        place = folder / f"{name}.root"
        forkrun.merge_files([place], folder / "other.root", format="rntuple")
        (folder / "other.root").replace(place)
    result = (
        job("formats")
        .output("skim", format=format, flat_names=format == "rntuple")
        .run(children=1, **QUIET)
    )
    if format == "ttree":
        check(result)
    for name, has_generator in (("data", False), ("mc", True)) if format != "ttree" else ():
        if format == "parquet":
            import pyarrow.parquet as pq

            table = pq.read_table(result.output("skim", name))
            held, its = set(table.column_names), table["w"].to_pylist()
        else:
            with uproot.open(result.output("skim", name)) as file:
                held, its = set(file["Events"].keys()), file["Events"]["w"].array().tolist()
        assert ({"genWeight", "GenPart_pt", "nGenPart", "Muon_genPartIdx"} <= held) == has_generator
        assert {*OF_DATA, "w", "n"} <= held
        assert not has_generator or its == [float(e) for e in range(1000, 1120, 2)]
        assert has_generator or (its == [1.0] * 45 and "genWeight" not in held)


@pytest.mark.long
def test_a_dataset_alone_gives_the_same_bytes_however_the_job_is_cut(folder: Path) -> None:
    """Without modules that name what data does not have."""
    made = forkrun.Job(DATASETS, name="both").filter("event % 2 == 0", label="even").output("skim")
    both = made.run(children=2, **QUIET)
    for name in N:
        alone = forkrun.Job(DATASETS, name=name).filter("event % 2 == 0", label="even")
        alone.output("skim").configure(source={"datasets": [name]})
        alone.configure(forking={"max_unit_events": 7}, threads={"per_child": 2, "block_size": 5})
        file = alone.run(children=3, **QUIET).output("skim", name)
        assert file.read_bytes() == both.output("skim", name).read_bytes()


@pytest.mark.long
def test_nodes_make_the_same_files(folder: Path) -> None:
    (folder / "analysis.py").write_text(
        "import forkrun\n"
        "from tests.parent.test_datasets_of_other_columns import job\n"
        "job('all').output('skim').run(children=1)\n"
    )
    one = job("one").output("skim").run(children=1, **QUIET)
    submitted = command(
        "submit", "analysis.py", "--on", "local", "--nodes", 2, "-o", "many", "--dry-run",
        cwd=folder,
    )  # fmt: skip
    assert submitted.code == 0, submitted.err
    for number in range(2):
        ended = command("node", "many", number, "-q", cwd=folder)
        assert ended.code == 0, ended.err
    assert command("collect", "many", "-q", cwd=folder).code == 0
    for name in N:
        file = folder / "many" / "output" / "skim" / f"{name}.root"
        assert file.read_bytes() == one.output("skim", name).read_bytes()


@pytest.mark.slow
def test_lists_of_modules_are_counted_where_the_input_counts_none(folder: Path) -> None:
    """`nGenPart` counts those of simulation in its file, and is made in that of data."""
    made = job("lists").define("GenPart_x", heavy).define("GenPart_y", heavy).output("skim")
    result = made.run(children=2, **QUIET)
    data, mc = result.output("skim", "data"), result.output("skim", "mc")
    assert "nGenPart" in keys(data)
    assert column(data, "GenPart_x") == [[e] * (e % 3) for e in range(0, 90, 2)]
    assert column(mc, "GenPart_x") == [[2 * e] * (e % 4) for e in range(1000, 1120, 2)]
    made = job("wrong").define("GenPart_x", heavy)
    made.define("GenPart_y", lambda events: events.Muon.pt[:, :1]).output("skim")
    with pytest.raises(forkrun.OutputError, match='its counter "nGenPart"'):
        made.run(children=1, **QUIET)


def test_columns_that_are_kept_may_be_of_other_types(folder: Path) -> None:
    write(folder / "mc.root", 1000, N["mc"], OF_MC, Muon_code="float32[]")
    made = forkrun.Job(DATASETS, name="types").output("skim")
    result = made.run(children=1, **QUIET)
    with uproot.open(result.output("skim", "data")) as data:
        assert data["Events"]["Muon_code"].typename == "int16_t[]"
    with uproot.open(result.output("skim", "mc")) as mc:
        assert mc["Events"]["Muon_code"].typename == "float[]"


def test_what_only_some_files_of_a_dataset_have_is_filled_in_its_file_alone(folder: Path) -> None:
    write(folder / "mc2.root", 2000, 40, [n for n in OF_MC if n != "genWeight"])
    datasets = {**DATASETS, "mc": ["mc.root", "mc2.root"]}
    made = forkrun.Job(datasets, name="mixed", source={"branches": {"fill": {"genW*": -5}}})
    result = made.output("skim").run(children=2, **QUIET)
    assert sorted(keys(result.output("skim", "data"))) == sorted(OF_DATA)
    expected = [*map(float, range(1000, 1120)), *[-5.0] * 40]
    assert column(result.output("skim", "mc"), "genWeight") == expected


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda job: job.hist("event", (1, 0, 1), weight="genWeight"), "lacks branch genWeight"),
        (lambda job: job.filter("sum(GenPart_pt) > 0", label="f"), "lacks branch GenPart_pt"),
        (
            lambda job: job.output("all", datasets="together"),
            '"Muon_genPartIdx" = -1, "genWeight" = 1, "GenPart_pt" = 0 }',
        ),
    ],
)
def test_what_is_always_read_or_kept_together_is_refused(
    folder: Path, change: Callable[[forkrun.Job], Any], words: str
) -> None:
    made = forkrun.Job(DATASETS, name="refused")
    change(made)
    with pytest.raises(forkrun.InputError, match=r"data\.root: this file lacks") as refused:
        made.check()
    assert words in str(refused.value)


def test_a_function_that_does_not_ask_first_is_told_what_to_do(folder: Path) -> None:
    made = forkrun.Job(DATASETS, name="told").define("w", lambda events: events.genWeight * 2)
    made.output("skim")
    with pytest.raises(forkrun.ConfigError) as refused:
        made.check()
    words = 'exists, but not in the dataset "data": ask for it where events.dataset says'
    assert words in str(refused.value)


def test_an_output_without_any_column_of_a_dataset_is_refused(folder: Path) -> None:
    made = forkrun.Job(DATASETS, name="empty").output("skim", keep=["GenPart_*"])
    words = r'keep and drop leave nothing to write \(dataset "data"\)'
    with pytest.raises(forkrun.ConfigError, match=words):
        made.check()


def test_a_pattern_that_makes_an_index_point_to_an_object_is_a_warning(folder: Path) -> None:
    described = {
        "datasets": [{"name": n, "files": [f"{n}.root"], "is_data": n == "data"} for n in N],
        "source": {"branches": {"fill": {"*": 0}}},
        "outputs": [{"label": "all", "datasets": "together"}],
        "merge": {"carry": False},
    }
    ended = command("check", write_job(folder, described), cwd=folder)
    assert ended.code == 0, ended.err
    words = 'source.branches.fill."*": "Muon_genPartIdx" = 0 is the first object of its collection'
    assert words in ended.out + ended.err
    described["source"] = {"branches": {"fill": {"*Idx": -1, "*": 0}}}
    ended = command("check", write_job(folder, described), cwd=folder)
    assert ended.code == 0, ended.err
    assert "first object" not in ended.out + ended.err


@pytest.mark.long
def test_variations_and_friends_are_apart_as_well(folder: Path) -> None:
    write(folder / "fdata.root", 0, N["data"], [*IDS, "Muon_code"])
    write(folder / "fmc.root", 1000, N["mc"], [*IDS, "Muon_code"])
    made = job("kinds", source={"friends": [{"files": ["fdata.root", "fmc.root"], "prefix": "f_"}]})
    made.vary("w", "scale", up=lambda e: 2 * e.w, down=lambda e: e.w / 2)
    made.output("skim", keep=["*", "f_Muon_code"], variations="all")
    made.output("new", mode="friend", keep=["w"])
    result = made.run(children=1, **QUIET)
    for name, generator in (("data", []), ("mc", ["GenPart_pt"])):
        varied = result.output("skim_scale_up", name)
        assert [key for key in keys(varied) if key == "GenPart_pt"] == generator
        assert column(varied, "f_Muon_code") == column(varied, "Muon_code")
        assert keys(result.output("new", name)) == [*IDS, "w"]
    nominal = column(result.output("skim", "mc"), "w")
    varied = result.output("skim_scale_up", "mc")
    assert column(varied, "w") == [2 * each for each in nominal]
    contents = json.loads((folder / "kinds-run" / "outputs.json").read_bytes())
    assert set(contents["by_label"]["skim"]["apart"]) == {"0", "1"}
