"""C++ modules, built outside the project, read the same conditions as Python modules."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun import _core
from tests.conditions.jobs import HERE, baskets, columns, job, module, run, scale_files
from tests.conditions.test_jobs import expected_scale, scale_condition, write_correction
from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job
from tests.support.plugins import built


@pytest.fixture(scope="module")
def plugins() -> Path:
    """The folder with libweights.so and, where correctionlib is installed, libcorrected.so."""
    options = []
    correctionlib = importlib.util.find_spec("correctionlib")
    if correctionlib and correctionlib.origin:
        options.append(f"-Dcorrectionlib_DIR={Path(correctionlib.origin).parent / 'cmake'}")
    return built(HERE / "plugin", *options)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    lumis = [(2, 1, 30), (1, 1, 20), (1, 2, 25), (3, 7, 15), (2, 2, 10), (1, 3, 20)]
    return write_events(tmp_path / "in.root", lumis)


def cpp(label: str, name: str, /, **params: Any) -> dict[str, Any]:
    return {"label": label, "type": f"cpp:{name}", "params": params}


def plugin_job(
    plugin: Path, events: Path, modules: Sequence[Any], conditions: Sequence[Any], **sections: Any
) -> dict[str, Any]:
    sections = {"job": {"plugins": [str(plugin)]}, "outputs": [{"label": "events"}], **sections}
    return job(events, modules, conditions, **sections)


@pytest.mark.parametrize("exclude", [[], ["scale"]])
def test_blocks_see_the_array_of_their_iov(
    plugins: Path, events: Path, tmp_path: Path, exclude: list[str]
) -> None:
    description = plugin_job(
        plugins / "libweights.so",
        events,
        [cpp("scale", "Scale"), cpp("sum", "Cumulated")],
        [scale_condition(tmp_path)],
        prefetch={"exclude": exclude},
        threads={"per_child": 2, "block_size": 7},
    )
    one = run(tmp_path, "one", description, "--children", 1)
    three = run(tmp_path, "three", description, "--children", 3)
    run_number, lumi, scale, total = columns(one, "run", "luminosityBlock", "scale", "cumulated")
    assert ak.to_list(scale) == list(expected_scale(run_number, lumi))
    assert ak.to_list(total) == ak.to_list(scale)
    assert baskets(one) == baskets(three)


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("concurrent_iovs", [0, 1, 2])
def test_an_iov_of_each_lumi_in_flight_sees_its_own(
    plugins: Path, tmp_path: Path, concurrent_iovs: int
) -> None:
    """What is excluded comes and goes while units of several IOVs are in flight."""
    n_lumis = 40
    lumis = [(1, lumi, 12) for lumi in range(1, n_lumis + 1)]
    events = write_events(tmp_path / "in.root", lumis)
    files = scale_files(tmp_path, *map(float, range(1, n_lumis + 1)))
    iovs = [{"since": f"1:{n + 1}", "file": str(file)} for n, file in enumerate(files)]
    modules = [cpp("scale", "Scale"), module("python_scale", "PythonScale")]
    description = plugin_job(
        plugins / "libweights.so",
        events,
        modules,
        [{"label": "scale", "type": "npy", "iovs": iovs}],
        prefetch={"exclude": ["scale"]},
        threads={"per_child": 4, "block_size": 2, "concurrent_iovs": concurrent_iovs},
    )
    folder = run(tmp_path, "run", description, "--children", 2)
    lumi, scale, python_scale = columns(folder, "luminosityBlock", "scale", "python_scale")
    assert len(scale) == 12 * n_lumis
    assert ak.to_list(scale) == ak.to_list(lumi)
    assert ak.to_list(python_scale) == ak.to_list(lumi)


@pytest.mark.slow
def test_a_table_gives_the_same_in_both_languages_to_the_last_bit(
    plugins: Path, events: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    edges = [np.array([0.0, 15.0, 20.0, 41.5, 1e3]), np.linspace(-2.0, 2.5, 8)]
    content = rng.normal(1, 0.1, size=[len(e) + 1 for e in edges])
    axes: list[Any] = [(title, e, False, []) for title, e in zip(("pt", "eta"), edges, strict=True)]
    sums = np.stack([content.T, content.T**2 / 9])
    _core.write_histograms(str(tmp_path / "sf.root"), [("sf", "", axes, "weights", sums, False)])
    outputs = []
    for outside in ("nearest", "flow"):
        condition = {
            "label": "sf",
            "type": "root",
            "file": str(tmp_path / "sf.root"),
            "params": {"histogram": "sf", "outside": outside},
        }
        for weights in (cpp("w", "Weights"), module("w", "Weights")):
            description = plugin_job(plugins / "libweights.so", events, [weights], [condition])
            folder = run(tmp_path, f"{outside}-{weights['type'][:3]}", description)
            outputs.append(baskets(folder))
            (sf,) = columns(folder, "Jet_sf")
            assert len(np.unique(ak.to_numpy(ak.flatten(sf)))) > 10
    assert outputs[0] == outputs[1]
    assert outputs[2] == outputs[3]
    assert outputs[0] != outputs[2]


@pytest.mark.slow
def test_corrections_are_evaluated_without_python(
    plugins: Path, events: Path, tmp_path: Path
) -> None:
    schema = pytest.importorskip("correctionlib.schemav2")
    iovs = []
    for since, factor in ((1, 1.25), (2, 0.5)):
        file = tmp_path / f"jec-{factor}.json"
        write_correction(schema, file, factor)
        iovs.append({"since": since, "file": str(file)})
    condition = {"label": "jec", "type": "correctionlib", "iovs": iovs}
    plugin = plugins / "libcorrected.so"
    results: list[Any] = []
    for corrected in (cpp("c", "Corrected"), module("c", "Corrected")):
        description = plugin_job(plugin, events, [corrected], [condition])
        folder = run(tmp_path, str(len(results)), description, "--children", 2, "--threads", 2)
        results.append(baskets(folder))
    run_number, pt, jet_c = columns(folder, "run", "Jet_pt", "Jet_c")
    factors = np.where(np.asarray(run_number) == 1, 1.25, 0.5)
    assert ak.to_list(jet_c) == ak.to_list(ak.values_astype(pt, np.float64) * factors)
    assert results[0] == results[1]
    wrong = plugin_job(plugin, events, [cpp("c", "Corrected", name="jce")], [condition])
    ended = forkrun("check", write_job(tmp_path, wrong), cwd=tmp_path)
    assert ended.code == 2
    assert f'module "c": condition "jec" ({tmp_path}/jec-1.25.json): it has no correction' in (
        ended.err
    )
    assert 'did you mean "jec"?' in ended.err


def test_what_a_cpp_module_asks_for_is_checked_before_the_fork(
    plugins: Path, events: Path, tmp_path: Path
) -> None:
    (file,) = scale_files(tmp_path, 1.5)
    condition = {"label": "scale", "type": "npy", "file": str(file)}
    modules = [cpp("wrong", "WrongType"), cpp("no_table", "Weights")]
    description = plugin_job(plugins / "libweights.so", events, modules, [condition])
    ended = forkrun("check", write_job(tmp_path, description), cwd=tmp_path)
    assert ended.code == 2
    said = f'condition "scale" ({file}): the array holds float64, not float32'
    assert f'module "wrong": {said}' in ended.err
    assert 'module "no_table": unknown condition "sf"' in ended.err


def test_an_excluded_condition_of_another_type_names_module_and_file(
    plugins: Path, events: Path, tmp_path: Path
) -> None:
    (file,) = scale_files(tmp_path, 1.5)
    condition = {"label": "scale", "type": "npy", "file": str(file)}
    description = plugin_job(
        plugins / "libweights.so",
        events,
        [cpp("wrong", "WrongType")],
        [condition],
        prefetch={"exclude": ["*"]},
    )
    ended = forkrun("run", write_job(tmp_path, description), "-o", "run", cwd=tmp_path)
    assert ended.code == 5
    said = f'condition "scale" ({file}): the array holds float64, not float32'
    assert f'module "wrong": {said}' in ended.err


@pytest.mark.slow
def test_a_module_is_constructed_once_and_once_more_for_each_variation_of_what_it_reads(
    plugins: Path, events: Path, tmp_path: Path
) -> None:
    """Also where a column is replaced, or what a module reads is found out."""
    notes = tmp_path / "notes"
    (tmp_path / "mine.py").write_text(
        "def shifted(events):\n    return {'Jet_pt': events['Jet_pt'] + 1}\n"
    )
    shifted = {"type": "python:mine.py:shifted", "kind": "producer", "replaces": ["Jet_pt"]}
    noted = cpp("noted", "Noted", notes=str(notes))
    for modules, expected in (
        ([noted], ["noted"]),
        ([{**shifted, "label": "all"}, noted], ["noted"]),
        ([{**shifted, "label": "up", "variation": "up"}, noted], ["noted", "noted@up"]),
    ):
        notes.unlink(missing_ok=True)
        description = plugin_job(plugins / "libweights.so", events, modules, [])
        ended = forkrun("run", write_job(tmp_path, description), "-o", "out", "--force",
                        "--children", 1, cwd=tmp_path)  # fmt: skip
        assert ended.code == 0, ended.err
        assert notes.read_text().split() == expected
