"""Replay files: what is read, and the messages about those that are wrong."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.errors import ConfigError
from forkrun.studies.replay.model import Concurrency, Kind, Product, ReplayJob, ReplayModule, Work
from forkrun.studies.replay.read import parse_replay, read_replay

Raw = dict[str, Any]


def module(label: str, *to_get: str, **keys: Any) -> Raw:
    """A producer, as the toy framework writes it."""
    return {
        "@label": label,
        "@type": "demo::EventTimesBusyWaitProducer",
        "threadType": "ThreadSafeBetweenInstances",
        "eventTimes": [0.25, 0.5],
        "toGet": [{"label": name, "product": ""} for name in to_get],
    } | keys


def a_file() -> Raw:
    """tracks → vertices → output, and hits before tracks."""
    output = module("output", "vertices", "tracks")
    output |= {"@type": "demo::EventTimesBusyWaitPassFilter", "threadType": "ThreadUnsafe"}
    return {
        "process": {
            "label": "TEST",
            "options": {"nSimultaneousEvents": 3, "nThreads": 2, "busyWaitScaleFactor": 2e7},
            "source": {"@type": "demo::SimpleSource", "iterations": 40},
            "producers": [
                module("vertices", "tracks", threadType="ThreadSafeBetweenModules"),
                module("tracks", "hits"),
                module("hits"),
            ],
            "filters": [output],
            "paths": {"o": ["output"]},
        }
    }


def changed(value: Any, *keys: str | int) -> Raw:
    """The file with another value at these keys of process."""
    raw = a_file()
    place: Any = raw["process"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return raw


def problems_of(raw: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_replay(raw, "x.json")
    assert caught.value.exit_code == 2
    return caught.value.problems


def the_problem_of(raw: Any) -> str:
    (problem,) = problems_of(raw)
    return problem


def test_options_source_paths_and_modules_are_read_in_the_order_of_the_file() -> None:
    job = parse_replay(a_file(), "x.json")
    assert (job.name, job.source.type, job.source.n_events) == ("TEST", "demo::SimpleSource", 40)
    options = job.options
    assert (options.events_in_flight, options.n_threads) == (3, 2)
    assert options.busy_wait_scale_factor == 2e7
    assert [(path.name, path.filters) for path in job.paths] == [("o", ("output",))]
    assert [m.label for m in job.modules] == ["vertices", "tracks", "hits", "output"]
    assert [m.concurrency for m in job.modules] == [
        Concurrency.ONE,
        Concurrency.REENTRANT,
        Concurrency.REENTRANT,
        Concurrency.UNSAFE,
    ]
    output = job.modules[3]
    assert (output.kind, output.work, output.produces) == (Kind.FILTER, Work.BUSY_WAIT, ())
    assert output.consumes == (Product("vertices", ""), Product("tracks", ""))
    np.testing.assert_array_equal(output.event_times_s, [0.25, 0.5])
    assert output.event_times_s.dtype == np.float64
    assert not output.event_times_s.flags.writeable


def test_options_that_are_absent_have_the_defaults_of_the_toy_framework() -> None:
    raw = a_file()
    del raw["process"]["options"]
    options = parse_replay(raw, "x.json").options
    assert (options.events_in_flight, options.n_threads) == (1, None)
    assert options.busy_wait_scale_factor == 2.2e7


def test_numbers_written_as_texts_are_numbers_as_in_the_toy_framework() -> None:
    assert parse_replay(changed("100", "source", "iterations"), "x").source.n_events == 100


def test_unknown_keys_are_left_alone_as_in_the_toy_framework() -> None:
    assert len(parse_replay(changed(1, "options", "comment"), "x").modules) == 4


def test_a_product_asked_for_twice_is_consumed_once() -> None:
    raw = changed([{"label": "hits"}, {"label": "hits", "product": ""}], "producers", 1, "toGet")
    assert parse_replay(raw, "x").modules[1].consumes == (Product("hits", ""),)


@pytest.mark.parametrize(
    ("kind", "work", "blocking", "keys", "time_s"),
    [
        ("demo::BusyWaitProducer", Work.BUSY_WAIT, False, {"averageTime": 0.01}, 0.01),
        ("SleepingProducer", Work.SLEEP, False, {"averageTime": 0.02}, 0.02),
        ("demo::SleepingWithAcquireProducer", Work.EXTERNAL, False, {"averageTime": 0.5}, 0.5),
        ("demo::EventTimesSleepingProducer", Work.SLEEP, False, {"eventTimes": [3]}, 3.0),
        ("demo::EventTimesSyncGetSleepingProducer", Work.SLEEP, True, {"eventTimes": [3]}, 3.0),
        ("demo::FastProducer", Work.NONE, False, {}, 0.0),
        ("demo::ThreadSafeProducer", Work.BUSY_WAIT, False, {"productLabel": ""}, 0.005),
    ],
)
def test_each_type_of_the_toy_framework_says_how_it_spends_its_time(
    kind: str, work: Work, blocking: bool, keys: Raw, time_s: float
) -> None:
    producer = {k: v for k, v in module("hits").items() if k != "eventTimes"}
    raw = changed(producer | {"@type": kind} | keys, "producers", 2)
    hits = parse_replay(raw, "x.json").modules[2]
    assert (hits.type, hits.work, hits.blocking_get) == (kind, work, blocking)
    np.testing.assert_allclose(hits.event_times_s, [time_s])


def test_a_named_product_is_found_by_its_name() -> None:
    raw = a_file()
    raw["process"]["producers"][2] |= {"@type": "demo::ThreadSafeProducer", "productLabel": "raw"}
    raw["process"]["producers"][1]["toGet"] = [{"label": "hits", "product": "raw"}]
    assert parse_replay(raw, "x").modules[2].produces == ("raw",)
    raw["process"]["producers"][1]["toGet"] = [{"label": "hits", "product": "Raw"}]
    assert '"hits" makes no product "Raw"; did you mean "raw"?' in the_problem_of(raw)


def test_a_filter_without_times_or_products_is_a_filter() -> None:
    raw = changed([{"@label": "output", "@type": "demo::PassFilter"}], "filters")
    output = parse_replay(raw, "x.json").modules[3]
    assert (output.concurrency, output.consumes) == (Concurrency.ONE, ())
    np.testing.assert_allclose(output.event_times_s, [1e4 / 2e7])


OUTPUT = 'process.filters[0] (label "output")'
VERTICES = 'process.producers[0] (label "vertices")'


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ([], "an object in braces is needed, not a list"),
        ({}, "process: this key is required (an object in braces)"),
        (
            changed("demo::EventTimesBusyProducer", "producers", 0, "@type"),
            f'{VERTICES}.@type: producer type "demo::EventTimesBusyProducer" cannot'
            ' be replayed; did you mean "demo::EventTimesBusyWaitProducer"?',
        ),
        (
            changed("demo::FastPassFilter", "producers", 0, "@type"),
            f'{VERTICES}.@type: "demo::FastPassFilter" is a filter: move it to filters',
        ),
        (
            changed("ThreadSafe", "filters", 0, "threadType"),
            f'{OUTPUT}.threadType: unknown thread type "ThreadSafe"; did you mean "ThreadUnsafe"?',
        ),
        (
            changed([0.1, -1e-9], "filters", 0, "eventTimes"),
            f"{OUTPUT}.eventTimes[1]: a time in seconds, 0 or more, is needed, not the number"
            " -1e-09",
        ),
        (
            changed([None], "filters", 0, "eventTimes"),
            f"{OUTPUT}.eventTimes[0]: a time in seconds, 0 or more, is needed, not null",
        ),
        (
            changed([float("nan")], "filters", 0, "eventTimes"),
            f"{OUTPUT}.eventTimes[0]: a time in seconds, 0 or more, is needed, not the number nan",
        ),
        (
            changed([], "filters", 0, "eventTimes"),
            f"{OUTPUT}.eventTimes: at least one time in seconds is needed; [0] takes none",
        ),
        (
            changed(0.5, "filters", 0, "eventTimes"),
            f"{OUTPUT}.eventTimes: a list is needed, not the number 0.5",
        ),
        (
            changed({}, "filters", 0, "toGet"),
            f"{OUTPUT}.toGet: a list is needed, not an object",
        ),
        (
            changed(["hits"], "filters", 0, "toGet"),
            f"{OUTPUT}.toGet[0]: an object in braces is needed, not a text",
        ),
        (
            changed([{"label": "vertex"}], "filters", 0, "toGet"),
            'process.filters (label "output").toGet: no producer has the label "vertex"; did you'
            ' mean "vertices"?',
        ),
        (
            changed([{"label": "output"}], "producers", 2, "toGet"),
            'process.producers (label "hits").toGet: "output" is a filter, which makes no product;'
            ' there are "vertices", "tracks", "hits"',
        ),
        (
            changed("hits", "producers", 1, "@label"),
            'process: 2 modules have the label "hits"; give each its own',
        ),
        (
            changed(["outptu"], "paths", "o"),
            'process.paths.o: no filter has the label "outptu"; did you mean "output"?',
        ),
        (
            changed(["hits"], "paths", "o"),
            'process.paths.o: "hits" is a producer, which runs when its product is asked for:'
            " remove it",
        ),
        (
            changed([7], "paths", "o"),
            "process.paths.o[0]: a filter's label is needed, not the number 7",
        ),
        (
            changed({}, "paths"),
            "process.paths: no path has a filter, so nothing would run: name one",
        ),
        (
            changed(2.5, "source", "iterations"),
            "process.source.iterations: a whole number from 0 on is needed, not the number 2.5",
        ),
        (
            changed(True, "source", "iterations"),
            "process.source.iterations: a whole number from 0 on is needed, not true or false",
        ),
        (
            changed("demo::RootSource", "source", "@type"),
            'process.source.@type: unknown source type "demo::RootSource"; did you mean'
            ' "demo::SimpleSource"?',
        ),
        (
            changed(0, "options", "nSimultaneousEvents"),
            "process.options.nSimultaneousEvents: a whole number from 1 on is needed, not the"
            " number 0",
        ),
    ],
)
def test_what_is_wrong_is_said_with_file_key_module_and_remedy(raw: Any, problem: str) -> None:
    expected = {f"x.json: {problem}", f"x.json: : {problem}"}
    found = problems_of(raw)
    if "labels" not in problem and problem.startswith("process: 2 modules"):
        found = found[:1]
    assert found[0] in expected
    assert len(found) == 1


def test_a_missing_label_names_the_place_and_the_nearest_key() -> None:
    raw = a_file()
    producer = raw["process"]["producers"][1]
    producer["@lable"] = producer.pop("@label")
    assert the_problem_of(raw) == (
        "x.json: process.producers[1].@label: this key is required (a text that is not empty);"
        ' did you mean "@lable"?'
    )


def test_a_cycle_is_shown_as_a_chain() -> None:
    raw = changed([{"label": "vertices"}], "producers", 2, "toGet")
    problem = the_problem_of(raw)
    chain = ["hits", "tracks", "vertices"]
    turns = [chain[i:] + chain[:i] for i in range(3)]
    shown = [" → ".join(turn + turn[:1]) for turn in turns]
    assert any(f"waits for itself ({text}): remove one" in problem for text in shown), problem


def test_a_module_that_consumes_itself_is_a_cycle() -> None:
    raw = changed([{"label": "hits"}], "producers", 2, "toGet")
    assert '"hits" waits for itself (hits → hits)' in the_problem_of(raw)


def test_all_problems_of_a_file_appear_at_once_but_at_most_twenty() -> None:
    raw = a_file()
    raw["process"]["producers"] = [module(str(i), eventTimes=[-1]) for i in range(30)]
    raw["process"]["filters"][0]["threadType"] = 5
    problems = problems_of(raw)
    assert len(problems) == 21
    assert problems[-1] == "x.json: and 11 more problems"


def test_times_that_vary_at_random_are_refused() -> None:
    keys = {"@type": "demo::BusyWaitProducer", "averageTime": 2, "maxTime": 3}
    raw = changed(module("hits") | keys, "producers", 2)
    assert ".maxTime: times that vary at random cannot be replayed" in the_problem_of(raw)


def write(path: Path, raw: Any) -> Path:
    data = json.dumps(raw).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def labels_of(job: ReplayJob) -> list[str]:
    return [m.label for m in job.modules]


@pytest.mark.parametrize("name", ["x.json", "x.config.gz", "x.config"])
def test_files_are_plain_or_compressed(tmp_path: Path, name: str) -> None:
    assert len(read_replay(write(tmp_path / name, a_file())).modules) == 4


def test_compression_is_seen_in_the_data_not_in_the_name(tmp_path: Path) -> None:
    compressed = write(tmp_path / "x.gz", a_file()).rename(tmp_path / "x.json")
    assert len(read_replay(compressed).modules) == 4


def message_of(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_replay(path)
    assert len(caught.value.problems) == 1
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_file_cut_anywhere_is_one_error(tmp_path: Path) -> None:
    for name in ("x.json", "x.json.gz"):
        path = write(tmp_path / name, a_file())
        data = path.read_bytes()
        for size in range(0, len(data), 7):
            path.write_bytes(data[:size])
            message = message_of(path)
            assert "truncated" in message or size < 2 or not name.endswith("gz"), message


def test_a_file_cut_in_the_middle_is_called_truncated(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", a_file())
    path.write_text(path.read_text()[:600] + "  ")
    assert "truncated" in message_of(path)


def test_damaged_gzip_data_is_one_error(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json.gz", a_file())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert "gzip data is damaged" in message_of(path)


def test_other_files_are_one_error(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert "replay file not found" in message_of(path)
    assert "this is a directory" in message_of(tmp_path)
    path.write_bytes(b"root\x00\xff\xfe")
    assert "neither text nor gzip" in message_of(path)
    path.write_text("[" * 100_000)
    assert "nested too deeply" in message_of(path)
    path.write_text('{"process": 1, "process": 2}')
    assert 'the key "process" occurs twice' in message_of(path)
    path.write_text('{"process":\n  oops}')
    assert "line 2, column 3: not valid JSON" in message_of(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


def places(value: Any) -> list[tuple[str | int, ...]]:
    """Every place of a JSON value."""
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    return [(), *((key, *rest) for key, inner in pairs for rest in places(inner))]


@given(st.sampled_from(places(a_file())[1:]), JSON | st.just(...))
def test_whatever_stands_anywhere_the_file_is_read_or_refused(
    place: tuple[str | int, ...], value: Any
) -> None:
    raw = copy.deepcopy(a_file())
    inner: Any = raw
    for key in place[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    problems: list[str] = []
    modules: tuple[ReplayModule, ...] = ()
    try:
        modules = parse_replay(raw, "x.json").modules
    except ConfigError as error:
        problems = error.problems
    assert bool(problems) != bool(modules)
    assert all(problem.startswith("x.json: ") for problem in problems)
    assert all(np.all(m.event_times_s >= 0) for m in modules)


@pytest.mark.parametrize(
    ("name", "n_modules", "in_flight", "n_events", "n_consumed"),
    [
        ("reco_hipileup_5_2_0_busywait_perfectIO.config.gz", 491, 10, 1000, 1760),
        ("reco_hipileup_5_2_0_sleeping_perfectIO.config.gz", 491, 2, 200, 1760),
        ("reco_minbias_busywait.config.gz", 463, 2, 200, 1457),
        ("reco_minbias_sleeping_betweenmodules.config.gz", 463, 70, 7000, 1457),
    ],
)
def test_the_public_files_are_read_as_they_are(
    real_data: Path, name: str, n_modules: int, in_flight: int, n_events: int, n_consumed: int
) -> None:
    job = read_replay(real_data / name)
    assert len(job.modules) == n_modules
    assert (job.options.events_in_flight, job.source.n_events) == (in_flight, n_events)
    assert sum(len(m.consumes) for m in job.modules) == n_consumed
    assert {len(m.event_times_s) for m in job.modules} == {1, 100}
    raw = json.loads(gzip.decompress((real_data / name).read_bytes()))["process"]
    for m, item in zip(job.modules, raw["producers"] + raw["filters"], strict=True):
        assert m.label == item["@label"]
        np.testing.assert_array_equal(m.event_times_s, item["eventTimes"])
        assert [p.label for p in m.consumes] == [entry["label"] for entry in item["toGet"]]
