"""What metadata say of a dataset, as filesets spell it: data is never simulation without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import forkrun
from forkrun.config.read import validate
from tests.analysis.test_datasets import QUIET, folder
from tests.support.files import write_events

__all__ = ["folder"]

DATA: list[dict[str, Any]] = [
    {"is_data": True}, {"isData": "True"}, {"is_data": "yes"}, {"is_data": 1}, {"isData": 1.0},
    {"isMC": False}, {"isMC": "False"}, {"is_mc": "no"}, {"is_mc": 0}, {"IsMC": "0"},
    {"is_simulation": False}, {"isSim": "off"}, {"kind": "data"}, {"type": "Data"},
    {"dataType": "data"}, {"data": True}, {"mc": "false"}, {"is-data": "T"},
    {"is_data": "data", "xsec": 0}, {"isMC": "", "is_data": 1, "xs": "None"},
    {"is_data": True, "isMC": "False", "kind": "real data", "cross_section": "-1"},
]  # fmt: skip
SIMULATION: list[dict[str, Any]] = [
    {"is_data": False}, {"isData": "False"}, {"is_data": "no"}, {"is_data": "0"}, {"is_data": 0},
    {"isMC": True}, {"isMC": "True"}, {"is_mc": 1}, {"IsMC": "1"}, {"is_simulation": "yes"},
    {"kind": "mc"}, {"type": "Simulation"}, {"sample_type": "Monte Carlo"}, {"kind": "signal"},
    {"data": False}, {"is_data": "mc"}, {"is_data": None}, {}, {"type": "ttbar"},
    {"is_data": False, "is_data_driven": True},
]  # fmt: skip
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"is_data": "maybe"}, "metadata.is_data: 'maybe' says neither that it is data nor"),
    ({"is_data": 2}, "metadata.is_data: 2 says neither"),
    ({"isMC": [True]}, r"metadata.isMC: \[True\] says neither"),
    ({"is_dta": True}, "metadata.is_dta: True says neither .*; write is_data = true"),
    ({"is_collisions_data": 1}, "metadata.is_collisions_data: 1 says neither"),
    ({"kind": "data 2018"}, "metadata.kind: 'data 2018' says neither"),
    ({"is_data": True, "isMC": True}, "metadata.is_data: data, metadata.isMC: simulation; only"),
    ({"kind": "mc", "isMC": False}, "metadata.kind: simulation, metadata.isMC: data; only one"),
]
NOT_POSITIVE: list[Any] = [0, -1, "-1", "nan", "inf", True, "5 pb", "831.8*1.1", [5], {}]
REFUSED_NUMBERS: list[tuple[dict[str, Any], str]] = [
    ({key: value}, f"metadata.{key}: .* has to be a number above 0; for data write is_data = true")
    for key in ("xsec", "cross_section", "crossSection", "sum_of_weights", "sumw")
    for value in NOT_POSITIVE
]


def config_of(path: Path, entry: Any) -> Any:
    path.write_text(json.dumps({"d": entry}))
    return forkrun.Job(path).config.datasets[0]


@pytest.mark.parametrize("place", ["metadata", "beside", "python"])
@pytest.mark.parametrize(
    ("metadata", "is_data"), [*((m, True) for m in DATA), *((m, False) for m in SIMULATION)]
)
def test_data_and_simulation_are_known_however_it_is_spelt(
    tmp_path: Path, metadata: dict[str, Any], is_data: bool, place: str
) -> None:
    if place == "python":
        job = forkrun.Job({"d": {"files": "a.root", "metadata": metadata}})
        (found,) = job.config.datasets
        again = validate(job.config.as_json(), "again")
        assert again.datasets == job.config.datasets
    else:
        entry = {"metadata": metadata} if place == "metadata" else metadata
        found = config_of(tmp_path / "fs.json", {"files": {"a.root": "Events"}, **entry})
    assert (found.is_data, found.metadata, found.cross_section) == (is_data, metadata, None)


@pytest.mark.parametrize(("metadata", "words"), [*REFUSED, *REFUSED_NUMBERS])
def test_what_is_not_understood_is_refused_with_its_place(
    tmp_path: Path, metadata: dict[str, Any], words: str
) -> None:
    entry = {"files": ["a.root"], "metadata": metadata}
    with pytest.raises(forkrun.ConfigError, match=rf'fs.json: datasets: "d": .*{words}'):
        config_of(tmp_path / "fs.json", entry)
    with pytest.raises(forkrun.ConfigError, match=f'datasets: "d": .*{words}'):
        _ = forkrun.Job({"d": entry}).config


@pytest.mark.parametrize("is_data", [True, False])
def test_a_key_of_the_dataset_itself_settles_what_metadata_only_seem_to_say(is_data: bool) -> None:
    given = {"files": "a.root", "is_data": is_data}
    for metadata in ({"is_dta": 1}, {"kind": "data 2018"}, {"data": [1]}):
        (found,) = forkrun.Job({"d": {**given, "metadata": metadata}}).config.datasets
        assert found.is_data is is_data
    with pytest.raises(forkrun.ConfigError, match=r'"d": is_data: .*, metadata.isMC: .*only one'):
        _ = forkrun.Job({"d": {**given, "metadata": {"isMC": is_data}}}).config


@pytest.mark.parametrize("value", [831.8, "831.8", " 8.318e2 "])
@pytest.mark.parametrize("key", ["xsec", "cross_section", "crossSection", "xs"])
def test_cross_sections_may_be_texts(tmp_path: Path, key: str, value: Any) -> None:
    found = config_of(tmp_path / "fs.json", {"files": ["a.root"], "metadata": {key: value}})
    assert (found.cross_section, found.sum_of_weights) == (831.8, None)


def test_sums_of_weights_are_taken_and_two_that_differ_are_refused(tmp_path: Path) -> None:
    entry: dict[str, Any] = {"files": ["a.root"], "xsec": 5, "nSumOfWeights": "40"}
    assert config_of(tmp_path / "fs.json", entry).sum_of_weights == 40
    both = {**entry, "metadata": {"sumw": 41}}
    with pytest.raises(forkrun.ConfigError, match=r'"d": metadata.nSumOfWeights: 40, metadata.su'):
        config_of(tmp_path / "fs.json", both)
    with pytest.raises(forkrun.ConfigError, match='"d": "xsec" is another in metadata'):
        config_of(tmp_path / "fs.json", {**entry, "metadata": {"xsec": 6}})


@pytest.mark.parametrize("entry", [5, None, [1], {"files": [1]}, {"files": [], "metadata": 3}])
def test_what_is_no_dataset_is_refused_by_name(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(forkrun.ConfigError, match=r'datasets: .*fs.json: "d"'):
        config_of(tmp_path / "fs.json", entry)


def warnings_of(job: forkrun.Job) -> Any:
    result = job.run(children=0, **QUIET)
    return json.loads((result.run_directory / "report.json").read_text())["warnings"]


MASK = "source.lumi_mask: "
NO_DATA = f"{MASK}holds for data alone, and no dataset is data: for data write is_data = true"


@pytest.mark.parametrize(
    ("datasets", "warnings"),
    [
        ({"a": {"files": "data.root"}}, [NO_DATA]),
        ({"a": {"files": "data.root", "metadata": {"isMC": "True"}}}, [NO_DATA]),
        ({"a": {"files": "data.root", "metadata": {"isMC": "False"}}}, []),
        ({"a": {"files": "a1.root"}, "d": {"files": "data.root", "is_data": True}}, []),
    ],
)
def test_a_mask_without_data_is_a_warning(
    folder: Path, datasets: dict[str, Any], warnings: list[str]
) -> None:
    (folder / "golden.json").write_text('{"1": [[2, 2]]}')
    job = forkrun.Job(datasets, source={"lumi_mask": "golden.json"}).hist("x", (1, 0, 1))
    assert warnings_of(job) == warnings


def test_simulation_with_a_run_of_the_mask_is_a_warning(folder: Path) -> None:
    runs = {"mu": 7, "el": 7, "mc": 1, "other": 8}
    for number, (name, run) in enumerate(runs.items()):
        write_events(folder / f"{name}.root", [(run, 1, 10)], 10 * number)
    (folder / "golden.json").write_text('{"7": [[1, 2]], "1": [[1, 9]]}')
    datasets = {n: {"files": f"{n}.root", "is_data": n == "mu"} for n in runs}
    job = forkrun.Job(datasets, source={"lumi_mask": "golden.json"}).hist("event", (1, 0, 99))
    assert warnings_of(job) == [
        f'{MASK}does not hold for "el", which counts as simulation; but run 7, which it has, is in'
        " there: for data write is_data = true"
    ]
