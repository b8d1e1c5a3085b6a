"""What a job says of each of its datasets, compared with a plain program that reads their files."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.errors import ConfigError
from forkrun.parent.result import Result
from tests.support.jobs import HERE, environment, write_job
from tests.support.jobs import forkrun as command

N_EVENTS = {"data_1": 70, "data_2": 50, "dy_1": 90, "dy_2": 30, "tt_1": 60}
DATASETS = {"data": ["data_1", "data_2"], "dy": ["dy_1", "dy_2"], "tt": ["tt_1"]}
SIMULATION = ("dy", "tt")
LUMINOSITY, CROSS_SECTION, SUM_OF_WEIGHTS = 3.0, 2.0, 500.0
WEIGHT = LUMINOSITY * 1000 * CROSS_SECTION / SUM_OF_WEIGHTS
N_NODES = 3


def write(path: Path, n_events: int) -> None:
    """Lumis of 20 events. Those of the first files of all datasets have the same numbers, and go on
    in the second ones."""
    number, part = int(path.stem[-1]), np.arange(n_events)
    random = np.random.default_rng(list(path.stem.encode()))
    values: dict[str, Any] = {
        "run": np.full(n_events, 5 if "data" in path.stem else 1, np.uint32),
        "luminosityBlock": (3 * number - 2 + part // 20).astype(np.uint32),
        "event": (part + 1000 * number).astype(np.uint64),
        "x": random.normal(size=n_events).astype(np.float32),
    }
    columns = [(name, str(column.dtype)) for name, column in values.items()]
    writer = _core.TreeWriter(str(path), "Events", columns, "none")
    writer.write(values)
    writer.close()


def described(
    folder: Path, names: Any = tuple(DATASETS), with_objects: bool = True, **sections: Any
) -> dict[str, Any]:
    return {
        "job": {"luminosity": LUMINOSITY},
        "datasets": [
            {
                "name": name,
                "files": [str(folder / f"{file}.root") for file in DATASETS[name]],
                "is_data": name == "data",
                "cross_section": CROSS_SECTION,
                "sum_of_weights": SUM_OF_WEIGHTS,
            }
            for name in names
        ],
        "modules": [
            {"label": "positive", "type": "expression:x > 0", "kind": "filter"},
            {"label": "large", "type": "expression:x > 1", "kind": "filter"},
            {
                "label": "sums",
                "type": f"python:{HERE / 'dataset_modules.py'}:Accumulates",
                "params": {"with_objects": with_objects},
            },
            {"label": "half", "type": "expression:0.5 * lumi_weight", "kind": "producer"},
        ],
        "paths": {"p": ["positive", "sums", "large"]},
        "outputs": [{"label": "skim", "paths": ["p"]}, {"label": "all"}],
        "monitoring": {"cutflow_weight": "half"},
        "forking": {"children": 2, "max_unit_events": 15},
        **sections,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("datasets")
    for name, n_events in N_EVENTS.items():
        write(place / f"{name}.root", n_events)
    return place


class Plain:
    """What a plain program finds in the files of a dataset."""

    def __init__(self, folder: Path, name: str) -> None:
        arrays = [
            uproot.open(folder / f"{file}.root")["Events"].arrays(library="np")
            for file in DATASETS[name]
        ]
        self.name, self.is_data = name, name == "data"
        self.n_files = len(arrays)
        columns = {key: np.concatenate([each[key] for each in arrays]) for key in arrays[0]}
        self.run, self.lumi = columns["run"], columns["luminosityBlock"]
        self.event, self.x = columns["event"], columns["x"]

    @property
    def lumis(self) -> dict[str, list[list[int]]]:
        (run,) = set(self.run.tolist())
        found = sorted(set(self.lumi.tolist()))
        assert found == list(range(found[0], found[-1] + 1))
        return {str(run): [[found[0], found[-1]]]}

    @property
    def accumulated(self) -> dict[str, Any]:
        positive = self.x > 0
        events = self.event[positive].tolist()
        return {
            "sums": {
                "n": int(positive.sum()),
                "x": math.fsum(self.x[positive].astype(np.float64)),
                "runs": sorted(set(self.run[positive].tolist())),
                "events": events,
                "ends": [events[0], events[-1]],
            }
        }

    @property
    def cuts(self) -> list[tuple[str, int, float]]:
        weight = 0.5 * (1.0 if self.is_data else WEIGHT)
        numbers = [len(self.x), int((self.x > 0).sum()), int((self.x > 1).sum())]
        names = ("", "positive", "large")
        return [(name, n, weight * n) for name, n in zip(names, numbers, strict=True)]

    @property
    def counts(self) -> dict[str, Any]:
        n_lumis = len(set(self.lumi.tolist()))
        return {
            "name": self.name,
            "is_data": self.is_data,
            "n_files": self.n_files,
            "n_events_planned": len(self.x),
            "n_events_read": len(self.x),
            "n_events_left_out": 0,
            "n_lumis_planned": n_lumis,
            "n_lumis_committed": n_lumis,
            "sum_of_weights": None if self.is_data else SUM_OF_WEIGHTS,
            "n_events_written": {"skim": int((self.x > 1).sum()), "all": len(self.x)},
        }


def cuts_of(cuts: Any) -> list[tuple[str, int, float]]:
    return [(cut["after"], cut["n_events"], cut["sum_weights"]) for cut in cuts]


def lumis_in(run: Path, kind: str) -> dict[str, Any]:
    return {file.stem: json.loads(file.read_bytes()) for file in (run / f"{kind}Lumis").iterdir()}


def check(folder: Path, run: Path, names: Any = tuple(DATASETS)) -> Result:
    """Compares everything that a finished job says of its datasets."""
    plain = {name: Plain(folder, name) for name in names}
    result = Result.read(run)
    assert lumis_in(run, "processed") == {name: of.lumis for name, of in plain.items()}
    assert lumis_in(run, "failed") == lumis_in(run, "notFinished") == {name: {} for name in plain}
    assert not (run / "processedLumis.json").exists()
    assert result.accumulators.datasets == {name: of.accumulated for name, of in plain.items()}
    assert result.datasets == {name: of.counts for name, of in plain.items()}
    flow = result.cutflow["p"]
    assert {name: cuts_of(cuts) for name, cuts in flow.datasets.items()} == {
        name: of.cuts for name, of in plain.items()
    }
    n_lumis = sum(of.counts["n_lumis_planned"] for of in plain.values())
    events = result.report["events"]
    assert (events["n_lumis_planned"], events["n_lumis_committed"]) == (n_lumis, n_lumis)
    return result


def run_job(folder: Path, place: Path, *options: object, **sections: Any) -> Path:
    file = write_job(place, described(folder, **sections))
    ended = command("run", file, "-o", "run", *options, cwd=place)
    assert ended.code == 0, ended.err
    return place / "run"


@pytest.fixture(scope="module")
def one(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on one node. Objects of a class of the job are merged where its modules are loaded."""
    return run_job(folder, tmp_path_factory.mktemp("one"), "--children", 1, with_objects=False)


APART = ("datasets.json", "processedLumis", "failedLumis", "notFinishedLumis")


def everything(run: Path) -> dict[str, Any]:
    """What a job says of its datasets, and the bytes of its results."""
    report = json.loads((run / "report.json").read_bytes())
    folders = [run / name for name in ("output", *APART[1:])]
    files = [file for place in folders for file in place.rglob("*") if file.is_file()]
    return {
        "bytes": {str(file.relative_to(run)): file.read_bytes() for file in files},
        **{key: report[key] for key in ("datasets", "cutflow")},
    }


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("children", [0, 1, 3])
def test_results_of_each_dataset_are_those_of_a_plain_program(
    folder: Path, tmp_path: Path, children: int
) -> None:
    result = check(folder, run_job(folder, tmp_path, "--children", children))
    assert result.lumis("data") == tmp_path / "run/processedLumis/data.json"
    with pytest.raises(ConfigError, match=r'unknown dataset "dat"; did you mean "data"'):
        result.lumis("dat")
    with pytest.raises(ConfigError, match=r'lumis are apart of: "data", "dy", "tt"'):
        result.lumis()
    n = {name: of.counts["n_events_written"]["skim"] for name, of in plain_of(folder).items()}
    table = [line.split() for line in str(result.datasets).splitlines()]
    assert table == [
        ["dataset", "kind", "files", "events", "lumis", "sum", "of", "weights", "skim", "all"],
        ["data", "data", "2", "120", "6", "-", str(n["data"]), "120"],
        ["dy", "simulation", "2", "120", "5", "500", str(n["dy"]), "120"],
        ["tt", "simulation", "1", "60", "3", "500", str(n["tt"]), "60"],
    ]
    report = (tmp_path / "run/report.txt").read_text()
    assert f"Datasets\n{result.datasets}\n" in report
    assert result.datasets._repr_html_() in result._repr_html_()
    written = [line.split()[:2] for line in report.splitlines()]
    assert all([f"skim/{name}", f"{n[name]}"] in written for name in DATASETS)


def plain_of(folder: Path) -> dict[str, Plain]:
    return {name: Plain(folder, name) for name in DATASETS}


def test_data_and_simulation_have_no_sum_and_everything_says_so(folder: Path, one: Path) -> None:
    result = Result.read(one)
    cuts, no_sum = result.cutflow["p"], "data and simulation are not added"
    assert list(cuts) == []
    with pytest.raises(IndexError, match=f'{no_sum}; result.cutflow."p"..datasets has those of "d'):
        cuts[-1]
    with pytest.raises(KeyError, match=rf'{no_sum}: take result.accumulators.datasets\["data"\]'):
        result.accumulators["sums"]
    with pytest.raises(KeyError, match='no module "sum" has accumulated anything; did you mean'):
        result.accumulators["sum"]
    plain = plain_of(folder)
    table = [line for line in str(cuts).splitlines() if line]
    simulated, data = (table.index(f"Cutflow of {kind}") for kind in ("simulation", "data"))
    rows = [line.split() for line in table[simulated + 1 : data]]
    of_sum = [sum(plain[name].cuts[n][1] for name in SIMULATION) for n in range(3)]
    assert rows[0] == ["path", "after", "kind", "dy", "tt", "all"]
    assert rows[1] == ["p", "(all)", "events", "120", "60", "180"]
    counts = [str(plain[name].cuts[1][1]) for name in SIMULATION]
    assert rows[3] == ["positive", "events", *counts, str(of_sum[1])]
    weights = [plain[name].cuts[2][2] for name in SIMULATION]
    assert rows[-3] == ["weights", *(f"{each:.6g}" for each in [*weights, sum(weights)])]
    assert [line.split() for line in table[data + 1 : data + 3]] == [
        ["path", "after", "kind", "data"],
        ["p", "(all)", "events", "120"],
    ]
    assert table[-1].strip() == no_sum
    assert str(cuts.datasets) == str(cuts)
    assert repr(cuts) == str(cuts) == str(result.cutflow) == repr(result.cutflow)
    report = (one / "report.txt").read_text()
    assert str(cuts) in report
    assert f"<p>{no_sum}</p>" in cuts._repr_html_()
    assert "total" not in json.loads((one / "output/accumulators.json").read_bytes())


def test_a_cutflow_is_a_frame_of_filters_and_datasets(folder: Path, one: Path) -> None:
    pandas = pytest.importorskip("pandas")
    cutflow, plain = Result.read(one).cutflow, plain_of(folder)
    records = cutflow.records()
    assert records == cutflow["p"].records()
    assert [
        (row["dataset"], row["is_data"], row["filter"], row["n_events"], row["sum_weights"])
        for row in records
    ] == [(name, name == "data", *cut) for name, of in plain.items() for cut in of.cuts]
    frame = cutflow.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.index) == [("p", name) for name in ("", "positive", "large")]
    for name, of in plain.items():
        assert frame[name]["n_events"].tolist() == [n for _, n, _ in of.cuts]
        passed = of.cuts[2][1] / of.cuts[1][1]
        step = frame[name].loc[("p", "large")]
        assert step["step"] == passed
        assert step["step_low"] < passed < step["step_high"]
    alone = cutflow["p"].datasets["dy"].to_pandas()
    assert alone["total"].tolist() == frame["dy"]["total"].tolist()


def test_simulation_whose_weights_are_normalised_has_a_sum(folder: Path, tmp_path: Path) -> None:
    result = check(folder, run_job(folder, tmp_path, names=SIMULATION), SIMULATION)
    plain = [Plain(folder, name) for name in SIMULATION]
    of_all = [
        (name, sum(of.cuts[n][1] for of in plain), sum(of.cuts[n][2] for of in plain))
        for n, name in enumerate(("", "positive", "large"))
    ]
    assert cuts_of(result.cutflow["p"]) == of_all
    each = [of.accumulated["sums"] for of in plain]
    assert result.accumulators["sums"] == {
        "n": sum(of["n"] for of in each),
        "x": math.fsum(x for of in plain for x in of.x[of.x > 0].astype(np.float64)),
        "runs": [1],
        "events": [event for of in each for event in of["events"]],
        "ends": [each[0]["ends"][0], each[1]["ends"][1]],
    }


def test_simulation_without_normalised_weights_has_no_sum_of_cutflows(
    folder: Path, tmp_path: Path
) -> None:
    monitoring = {"cutflow_weight": "x"}
    run = run_job(folder, tmp_path, "-q", names=SIMULATION, monitoring=monitoring)
    cuts = Result.read(run).cutflow["p"]
    assert list(cuts) == []
    assert "cutflow_weight names no weight that is made of lumi_weight" in cuts.no_sum
    assert Result.read(run).accumulators["sums"]["n"] > 0


def test_datasets_of_data_alone_have_sums(folder: Path, tmp_path: Path) -> None:
    job = described(folder, monitoring={})
    for dataset in job["datasets"]:
        dataset["is_data"] = True
    ended = command("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    result = Result.read(tmp_path / "run")
    assert [cut["n_events"] for cut in result.cutflow["p"]] == [
        sum(of.cuts[n][1] for of in plain_of(folder).values()) for n in range(3)
    ]
    assert result.accumulators["sums"]["runs"] == [1, 5]


def test_one_dataset_of_several_says_what_it_says_among_them(folder: Path, tmp_path: Path) -> None:
    check(folder, run_job(folder, tmp_path, "--dataset", "t*"), ["tt"])


def test_a_job_of_one_dataset_has_nothing_apart(folder: Path, tmp_path: Path) -> None:
    result = Result.read(run_job(folder, tmp_path, names=["dy"]))
    plain = Plain(folder, "dy")
    assert result.accumulators == plain.accumulated
    assert result.accumulators.datasets == result.datasets == {}
    written = json.loads((tmp_path / "run/output/accumulators.json").read_bytes())
    assert written == plain.accumulated
    assert cuts_of(result.cutflow["p"]) == plain.cuts
    assert json.loads(result.lumis().read_bytes()) == plain.lumis
    assert result.lumis() == tmp_path / "run/processedLumis.json"
    assert not any((tmp_path / "run" / name).exists() for name in APART)
    assert "dataset" not in json.loads((tmp_path / "run/lumis.json").read_bytes())
    assert "Datasets" not in (tmp_path / "run/report.txt").read_text()


@pytest.mark.slow
def test_kills_a_stop_and_a_merge_again_change_nothing(
    folder: Path, tmp_path: Path, one: Path
) -> None:
    file = write_job(tmp_path, described(folder, with_objects=False))
    faults = [
        {"fault": "SIGKILL", "at": "before_rename", "unit": 2},
        {"fault": "SIGKILL", "at": "after_rename", "unit": 9},
    ]
    for options in (("--set", "merge.enabled=false"), ()):
        env = environment(FORKRUN_CHAOS=json.dumps(faults))
        run = tmp_path / f"run-{len(options)}"
        ended = command("run", file, "-o", run, "-q", *options, cwd=tmp_path, env=env)
        assert ended.code == 0, ended.err
        if options:
            ended = command("merge", run, cwd=tmp_path)
            assert ended.code == 0, ended.err
            ended = command("report", run, cwd=tmp_path)
            assert ended.code == 0, ended.err
        assert everything(run) == everything(one)


@pytest.mark.long
def test_nodes_say_together_what_one_says(folder: Path, tmp_path: Path, one: Path) -> None:
    file = write_job(tmp_path, described(folder, with_objects=False))
    shape = ("--on", "local", "--nodes", N_NODES, "--dry-run")
    ended = command("submit", file, "-o", "run", *shape, cwd=tmp_path)
    assert ended.code == 0, ended.err
    run = tmp_path / "run"
    for number in range(N_NODES):
        ended = command("node", "run", number, "-q", cwd=tmp_path)
        assert ended.code == 0, ended.err
    ended = command("collect", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert everything(run) == everything(one)
    assert len([place for place in (run / "nodes/0000").rglob("*") if place.is_file()]) <= 11
    host = Result.read(run).report["job"]["host"]
    assert host["name"] == platform.node()
    assert host["command"][-3:] == ["collect", "run", "-q"]
    ended = command("report", "run", "--site", cwd=tmp_path)
    assert ended.code == 0, ended.err
    nodes = json.loads((run / "site/lumisByNode.json").read_bytes()).values()
    assert {name: sorted(set(lumis_by_name(nodes, name))) for name in DATASETS} == {
        name: sorted(set(of.lumi.tolist())) for name, of in plain_of(folder).items()
    }


def lumis_by_name(nodes: Any, name: str) -> Iterator[int]:
    for node in nodes:
        for ranges in node.get(name, {}).values():
            for first, last in ranges:
                yield from range(first, last + 1)


def test_a_lumi_that_is_not_whole_in_one_dataset_is_so_in_another(
    folder: Path, tmp_path: Path
) -> None:
    """The first 130 events are all of the data and the first ten of the simulation, whose lumis
    have the same numbers."""
    run = run_job(folder, tmp_path, "-q", "--max-events", 130)
    assert lumis_in(run, "processed") == {"data": {"5": [[1, 6]]}, "dy": {}, "tt": {}}
    of_simulation = {name: Plain(folder, name).lumis for name in SIMULATION}
    assert lumis_in(run, "notFinished") == {"data": {}, **of_simulation}


def test_an_event_that_is_left_out_fails_the_lumi_of_its_dataset_alone(
    folder: Path, tmp_path: Path
) -> None:
    job = described(folder, recovery={"on_bad_event": "skip"})
    crashes = f"python:{HERE / 'dataset_modules.py'}:Crashes"
    job["modules"].append({"label": "crashes", "type": crashes, "params": {"event": 2007}})
    job["paths"]["p"].insert(0, "crashes")
    job["datasets"][1]["files"] = job["datasets"][1]["files"][:1]
    job["datasets"][0]["is_data"] = False
    ended = command("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 8, ended.err
    run = tmp_path / "run"
    assert lumis_in(run, "failed") == {"data": {"5": [[4, 4]]}, "dy": {}, "tt": {}}
    counts = Result.read(run).datasets
    assert [of["n_events_left_out"] for of in counts.values()] == [1, 0, 0]
