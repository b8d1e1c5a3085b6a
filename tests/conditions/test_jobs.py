"""Jobs of real children that read conditions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from tests.conditions.jobs import HERE, baskets, columns, job, module, run, scale_files
from tests.support.files import write_events
from tests.support.jobs import forkrun, output_digests, write_job


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Runs 1, 2 and 3 of several lumis, not in their order."""
    lumis = [(2, 1, 30), (1, 1, 20), (1, 2, 25), (3, 7, 15), (2, 2, 10), (1, 3, 20)]
    return write_events(tmp_path / "in.root", lumis)


def scale_condition(folder: Path, **keys: Any) -> dict[str, Any]:
    """1.5 until 1:2, 2.5 from 1:3 on, 3.5 in run 3."""
    files = scale_files(folder, 1.5, 2.5, 3.5)
    iovs = [
        {"since": since, "file": str(file)}
        for since, file in zip((1, "1:3", 3), files, strict=True)
    ]
    return {"label": "scale", "type": "npy", "iovs": iovs, **keys}


def expected_scale(run_number: Any, lumi: Any) -> Any:
    key = np.asarray(run_number) * 100 + np.asarray(lumi)
    return np.select([key < 103, key < 300], [1.5, 2.5], 3.5)


@pytest.mark.slow
@pytest.mark.parametrize("exclude", [[], pytest.param(["scale"], marks=pytest.mark.long)])
def test_events_of_each_iov_get_its_payload_whatever_the_number_of_children(
    events: Path, tmp_path: Path, exclude: list[str]
) -> None:
    description = job(
        events,
        [module("scale", "Scale")],
        [scale_condition(tmp_path)],
        prefetch={"exclude": exclude},
        threads={"per_child": 2, "block_size": 7},
    )
    outputs = []
    for children in (0, 1, 3):
        folder = run(tmp_path, f"run-{children}", description, "--children", children)
        outputs.append(baskets(folder))
        run_number, lumi, scale = columns(folder, "run", "luminosityBlock", "scale")
        assert len(scale) == 120
        assert ak.to_list(scale) == list(expected_scale(run_number, lumi))
        assert set(ak.to_list(scale)) == {1.5, 2.5, 3.5}
    assert outputs[0] == outputs[1] == outputs[2]


def test_messages_see_what_holds_for_what_they_tell_of(events: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    description = job(events, [module("told", "Told", folder=str(notes))], [])
    description["conditions"] = [scale_condition(tmp_path)]
    run(tmp_path, "run", description, "--children", 1)
    (file,) = notes.iterdir()
    lines = list(dict.fromkeys(file.read_text().splitlines()))
    seen: list[str] = []
    for line in lines:
        what, _, value = line.rpartition(" ")
        if "lumi" in what or "events" in what:
            number, lumi = map(int, what.split(" ")[-1].split(":"))
            assert float(value) == expected_scale(number, lumi), line
        seen.append(line)
    assert {"begin_iov 0 1.5", "end_iov 0 1.5", "begin_iov 1 2.5", "end_iov 2 3.5"} <= set(seen)
    # The last lumi of run 1 is in another IOV than its first one.
    assert seen.index("begin_run 1 1.5") < seen.index("end_run 1 1.5")
    assert "end_run 1 2.5" in seen
    assert "end_run 2 2.5" in seen
    assert "end_run 3 3.5" in seen


def test_a_payload_that_no_event_has_stops_the_job_before_any_child_is_there(
    events: Path, tmp_path: Path
) -> None:
    condition = scale_condition(tmp_path)
    del condition["iovs"][0]
    description = write_job(tmp_path, job(events, [module("scale", "Scale")], [condition]))
    for command in ("run", "check"):
        ended = forkrun(command, description, cwd=tmp_path)
        assert ended.code == 2
        said = "the job processes run 1 (2 lumis from 1 to 2), before its first interval (since 1:3"
        assert said in ended.err
    assert not (tmp_path / "job-run").exists()


@pytest.mark.parametrize("exclude", [[], ["scale"]])
def test_a_missing_file_stops_the_job_before_any_child_is_there(
    events: Path, tmp_path: Path, exclude: list[str]
) -> None:
    condition = scale_condition(tmp_path)
    (tmp_path / "scale-3.5.npy").unlink()
    description = job(
        events, [module("scale", "Scale")], [condition], prefetch={"exclude": exclude}
    )
    ended = forkrun("run", write_job(tmp_path, description), "-o", "run", cwd=tmp_path)
    assert ended.code == 2
    assert f"iovs[2] (since 3): file not found: {tmp_path}/scale-3.5.npy" in ended.err
    assert not (tmp_path / "run").exists()


def test_check_says_how_many_payloads_it_has_loaded(events: Path, tmp_path: Path) -> None:
    description = job(events, [module("scale", "Scale")], [scale_condition(tmp_path)])
    ended = forkrun("check", write_job(tmp_path, description), cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "; 1 condition, 3 IOVs; 3 payloads prefetched (24 B)\n" in ended.out


def test_a_run_says_and_keeps_which_payloads_it_has_used(events: Path, tmp_path: Path) -> None:
    other = {"label": "other", "type": "npy", "file": str(tmp_path / "scale-1.5.npy")}
    conditions = [scale_condition(tmp_path), other]
    description = job(events, [module("scale", "Scale")], conditions)
    description |= {"prefetch": {"exclude": ["other"]}, "forking": {"distribution": "lumi"}}
    ended = forkrun("run", write_job(tmp_path, description), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "2 conditions, 3 IOVs; 3 payloads prefetched (24 B)" in ended.err
    kept = json.loads((tmp_path / "run/conditions.json").read_text())
    assert [iov["first_lumi"] for iov in kept["iovs"]] == [[1, 1], [1, 3], [3, 7]]
    assert [iov["n_units"] for iov in kept["iovs"]] == [2, 3, 1]
    scale, excluded = kept["conditions"]
    assert [p["file"] for p in scale["payloads"]] == [
        str(tmp_path / f"scale-{value}.npy") for value in (1.5, 2.5, 3.5)
    ]
    assert scale["payloads"][0]["arrays"] == {"": "float64[1]"}
    assert [iov["payloads"]["scale"] for iov in kept["iovs"]] == [0, 1, 2]
    assert excluded["payloads"] == [
        {"file": other["file"], "iov": "always", "is_prefetched": False}
    ]


def test_a_run_can_go_on_only_with_the_payloads_of_its_index_file(
    events: Path, tmp_path: Path
) -> None:
    (file,) = scale_files(tmp_path, 1.5)
    (tmp_path / "index.toml").write_text(f'iovs = [{{ since = 1, file = "{file.name}" }}]')
    condition = {"label": "scale", "type": "npy", "index": str(tmp_path / "index.toml")}
    description = job(events, [module("scale", "Scale")], [condition])
    folder = run(tmp_path, "run", description, "--no-merge")
    fingerprint = json.loads((folder / "fingerprint.json").read_text())
    assert set(fingerprint["conditions"]) == {str(tmp_path / "index.toml"), str(file)}
    np.save(file, np.array([7.0]))
    ended = forkrun("run", tmp_path / "job.json", "-o", "run", cwd=tmp_path)
    assert ended.code == 4
    assert f"what has changed: conditions: {file}" in ended.err


@pytest.mark.long
def test_a_finished_run_with_another_payload_is_computed_again(
    events: Path, tmp_path: Path
) -> None:
    (file,) = scale_files(tmp_path, 1.5)
    (tmp_path / "index.toml").write_text(f'iovs = [{{ since = 1, file = "{file.name}" }}]')
    condition = {"label": "scale", "type": "npy", "index": str(tmp_path / "index.toml")}
    description = job(events, [module("scale", "Scale")], [condition])
    run(tmp_path, "run", description)
    np.save(file, np.array([7.0]))
    ended = forkrun("run", tmp_path / "job.json", "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "computing 1 result again (changed: conditions)" in ended.err
    (scale,) = columns(tmp_path / "run", "scale")
    assert set(ak.to_list(scale)) == {7.0}
    assert output_digests(tmp_path / "run") == output_digests(run(tmp_path, "new", description))


@pytest.mark.parametrize(
    ("name", "conditions", "said"),
    [
        ("DeclaresWrong", 3, 'unknown condition "scael"; did you mean "scale"?'),
        ("ForgetsComma", 3, "`conditions` is the text 'scale'; write ('scale',)"),
        ("ReadsEarly", 3, 'the condition "scale" has 3 different payloads for the events of this'),
    ],
)
def test_what_a_module_declares_is_checked_before_the_fork(
    events: Path, tmp_path: Path, name: str, conditions: int, said: str
) -> None:
    description = job(events, [module("scale", name)], [scale_condition(tmp_path)])
    ended = forkrun("check", write_job(tmp_path, description), cwd=tmp_path)
    assert ended.code == 2
    assert f'module "scale": {said}' in ended.err.replace("ConditionNotThereError: ", "")


def test_a_module_may_read_what_is_always_valid_when_it_is_made(
    events: Path, tmp_path: Path
) -> None:
    (file,) = scale_files(tmp_path, 1.5)
    condition = {"label": "scale", "type": "npy", "file": str(file)}
    folder = run(tmp_path, "run", job(events, [module("scale", "ReadsEarly")], [condition]))
    (scale,) = columns(folder, "scale")
    assert set(ak.to_list(scale)) == {1.5}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Misspells", 'unknown condition "scael"; did you mean "scale"?'),
        ("Undeclared", 'does not declare the condition "scale": conditions = ("other", "scale",)'),
    ],
)
def test_a_wrong_label_names_module_and_the_nearest_one(
    events: Path, tmp_path: Path, name: str, said: str
) -> None:
    (file,) = scale_files(tmp_path, 1.5)
    conditions = [{"label": n, "type": "npy", "file": str(file)} for n in ("scale", "other")]
    description = job(events, [module("filter", name)], conditions)
    ended = forkrun("run", write_job(tmp_path, description), "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    assert 'module "filter" failed at 2:1' in ended.err
    assert said in ended.err


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("how", "label"),
    [
        ("element", "scale"),
        ("in_place", "scale"),
        ("view", "scale"),
        ("attribute", "scale"),
        ("table", "cuts"),
        ("table_list", "cuts"),
    ],
)
def test_a_module_that_writes_to_a_condition_is_named_with_it(
    events: Path, tmp_path: Path, how: str, label: str
) -> None:
    (file,) = scale_files(tmp_path, 1.5)
    (tmp_path / "cuts.json").write_text('{"pt": [30]}')
    conditions: list[dict[str, Any]] = [
        {"label": "cuts", "type": "json", "file": str(tmp_path / "cuts.json")},
        {"label": "other", "type": "npy", "file": str(file)},
        {"label": "scale", "type": "npy", "file": str(file), "params": {"memory_map": True}},
    ]
    description = job(events, [module("filter", "Writes", how=how)], conditions)
    ended = forkrun("run", write_job(tmp_path, description), "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    assert 'module "filter" failed at 2:1' in ended.err
    assert f'ReadOnlyConditionError: the condition "{label}" is read-only' in ended.err
    assert f'copy.deepcopy(self.conditions["{label}"])' in ended.err


def test_other_read_only_arrays_are_not_taken_for_conditions(events: Path, tmp_path: Path) -> None:
    (file,) = scale_files(tmp_path, 1.5)
    conditions = [{"label": "scale", "type": "npy", "file": str(file)}]
    description = job(events, [module("filter", "Writes", how="column")], conditions)
    ended = forkrun("run", write_job(tmp_path, description), "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    assert "ValueError: assignment destination is read-only" in ended.err
    assert "the condition" not in ended.err
    (log,) = (tmp_path / "run/logs").glob("*-child-000.log")
    assert f'{HERE / "modules.py"}", line' in log.read_text()


@pytest.mark.slow
def test_correctionlib_and_onnx_work_in_children(tmp_path: Path) -> None:
    correctionlib = pytest.importorskip("correctionlib.schemav2")
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    events = write_events(tmp_path / "in.root", [(1, lumi, 40) for lumi in range(1, 4)])
    write_correction(correctionlib, tmp_path / "jec.json", 1.25)
    write_model(onnx, tmp_path / "sum.onnx", 3.0)
    conditions = [
        {"label": "jec", "type": "correctionlib", "file": str(tmp_path / "jec.json")},
        {"label": "model", "type": "onnx", "file": str(tmp_path / "sum.onnx")},
    ]
    modules = [module("c", "Corrected"), module("s", "Scored")]
    description = job(events, modules, conditions)
    description["outputs"] = [{"label": "events"}]
    one = run(tmp_path, "one", description, "--children", 1)
    three = run(tmp_path, "three", description, "--children", 3, "--threads", 2)
    number, pt, corrected, score = columns(three, "event", "Jet_pt", "Jet_c", "score")
    assert ak.to_list(corrected) == ak.to_list(ak.values_astype(pt, np.float64) * 1.25)
    assert ak.to_list(score) == ak.to_list(number + 3.0)
    assert baskets(one) == baskets(three)


def write_correction(schema: Any, file: Path, factor: float) -> None:
    """`jec(pt)` is pt times a factor."""
    formula = {
        "nodetype": "formula",
        "expression": f"x*{factor}",
        "parser": "TFormula",
        "variables": ["pt"],
    }
    correction = {
        "name": "jec",
        "version": 1,
        "inputs": [{"name": "pt", "type": "real"}],
        "output": {"name": "pt", "type": "real"},
        "data": formula,
    }
    made = schema.CorrectionSet(schema_version=2, corrections=[correction])
    file.write_text(made.model_dump_json(exclude_unset=True))


def write_model(onnx: Any, file: Path, second: float) -> None:
    """Writes a model of an input (n, 2): first + `second` × second."""
    helper, number = onnx.helper, onnx.TensorProto.FLOAT
    weights = onnx.numpy_helper.from_array(np.array([[1], [second]], dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "sum",
        [helper.make_tensor_value_info("x", number, ["n", 2])],
        [helper.make_tensor_value_info("y", number, ["n", 1])],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    onnx.save(model, file)


@pytest.mark.slow
def test_reading_every_kind_of_file_leaves_one_thread(tmp_path: Path) -> None:
    """In a process of its own: this one may have been asked for anything."""
    import subprocess
    import sys

    script = """
import os, sys
from forkrun.fork.single_thread import limit_library_threads
limit_library_threads()
import pyarrow, pyarrow.parquet, pyarrow.feather
folder = sys.argv[1]
table = pyarrow.table({"x": list(range(100_000))})
pyarrow.parquet.write_table(table, folder + "/t.parquet", row_group_size=1000)
pyarrow.feather.write_feather(table, folder + "/t.arrow", compression="lz4")
os.execv(sys.executable, [sys.executable, "-c", sys.argv[2], folder])
"""
    check = """
import os, sys
from forkrun.fork.single_thread import limit_library_threads
limit_library_threads()
from tests.conditions.jobs import prefetch
from forkrun.fork.hazards import find_hazards
folder = sys.argv[1]
kinds = {"parquet": "t.parquet", "arrow": "t.arrow", "onnx": "m.onnx", "correctionlib": "c.json"}
configs = [{"label": k, "type": k, "file": f"{folder}/{f}"} for k, f in kinds.items()]
there = prefetch(configs).outside
assert there["parquet"]["x"].sum() == there["arrow"]["x"].sum() == 4999950000
print(find_hazards())
"""
    schema = pytest.importorskip("correctionlib.schemav2")
    for package in ("pyarrow", "onnxruntime"):
        pytest.importorskip(package)
    write_correction(schema, tmp_path / "c.json", 1.0)
    write_model(pytest.importorskip("onnx"), tmp_path / "m.onnx", 1.0)
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), check],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.slow
def test_the_example_gives_the_products_of_scale_factors(tmp_path: Path) -> None:
    configs = HERE.parents[1] / "configs"
    sample = ("sample", "in.root", "--events", 400, "--lumis", 3)
    assert forkrun(*sample, cwd=tmp_path).code == 0
    job_file = configs / "conditions.toml"
    ended = forkrun("run", job_file, "in.root", "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    run_number, weight = columns(tmp_path / "run", "run", "MuonWeight")
    with uproot.open(tmp_path / "in.root") as file:
        muons = file["Events"].arrays(["run", "event", "Muon_pt", "Muon_eta"]).to_list()
    tables = {
        number: json.loads((configs / f"conditions/muon_sf_{letter}.json").read_text())
        for number, letter in ((362001, "a"), (362002, "b"))
    }
    expected = [product_of_factors(tables[event["run"]], event) for event in muons]
    assert len({*np.asarray(run_number)}) == 2
    assert len({*expected}) > 10
    assert np.allclose(weight, expected, rtol=1e-6)


def product_of_factors(table: Any, event: Any) -> float:
    product = 1.0
    for pt, eta in zip(event["Muon_pt"], event["Muon_eta"], strict=True):
        if pt > 5 and abs(eta) < np.float32(2.4):
            n_pt = min(sum(edge <= pt for edge in table["pt"]), len(table["pt"]) - 1)
            n_eta = sum(edge <= abs(eta) for edge in table["abs_eta"])
            product *= table["values"][n_pt - 1][n_eta - 1]
    return float(product)
