"""`forkrun replay`: every way to run a file makes the same, and takes the time that it says."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forkrun.cli import main
from forkrun.errors import ConfigError
from forkrun.studies.replay.model import ReplaySettings
from forkrun.studies.replay.read import read_replay
from forkrun.studies.replay.run import run_replay

THREAD_TYPES = ("ThreadSafeBetweenInstances", "ThreadSafeBetweenModules", "ThreadUnsafe")


def write_file(
    folder: Path,
    time_s: float = 0.001,
    kind: str = "BusyWait",
    thread_types: tuple[str, str, str] = THREAD_TYPES,
) -> Path:
    """A chain of three producers, a fourth next to it, two filters, all kinds of concurrency."""

    def module(label: str, kind: str, number: int, *inputs: str) -> dict[str, Any]:
        return {
            "@label": label,
            "@type": f"demo::EventTimes{kind}",
            "threadType": thread_types[number % 3],
            "eventTimes": [time_s, 2 * time_s],
            "toGet": [{"label": name, "product": ""} for name in inputs],
        }

    process = {
        "label": "TEST",
        "options": {"nSimultaneousEvents": 2},
        "source": {"@type": "demo::SimpleSource", "iterations": 30},
        "producers": [
            module("a", f"{kind}Producer", 0),
            module("b", f"{kind}Producer", 1, "a"),
            module("c", f"{kind}Producer", 2, "a", "b"),
            module("d", f"{kind}Producer", 0),
        ],
        "filters": [
            module("f", f"{kind}PassFilter", 0, "c", "d"),
            module("g", f"{kind}PassFilter", 1, "b"),
        ],
        "paths": {"p": ["f"], "q": ["g"]},
    }
    path = folder / "replay.json"
    path.write_text(json.dumps({"process": process}))
    return path


@pytest.mark.long
def test_every_way_to_run_a_file_makes_the_same(tmp_path: Path) -> None:
    job = read_replay(write_file(tmp_path))
    expected = run_replay(job, ReplaySettings(executor="serial", mode="none")).checksum
    ways: Iterator[tuple[Any, Any, Any]] = itertools.product(
        ("serial", "tbb"),
        ("none", "sleep", "async"),
        ("prefetch", "blocking", "coroutine"),
    )
    for executor, mode, get in ways:
        for n_threads, in_flight, block_size, tasks in ((1, 3, 1, False), (3, 2, 4, True)):
            settings = ReplaySettings(
                executor=executor,
                mode=mode,
                get=get,
                n_threads=n_threads,
                events_in_flight=in_flight,
                block_size=block_size,
                always_tasks=tasks,
                time_scale=0.02,
            )
            assert run_replay(job, settings).checksum == expected, settings


def test_children_share_the_events(tmp_path: Path) -> None:
    job = read_replay(write_file(tmp_path))
    one = run_replay(job, ReplaySettings(n_events=31, mode="none"))
    three = run_replay(job, ReplaySettings(n_events=31, mode="none", n_children=3))
    other = run_replay(job, ReplaySettings(n_events=30, mode="none"))
    assert (one.n_events, three.n_events) == (31, 31)
    assert one.checksum == three.checksum != other.checksum


def test_busy_modules_take_the_cpu_time_that_the_file_says(tmp_path: Path) -> None:
    job = read_replay(write_file(tmp_path, time_s=0.002))
    result = run_replay(job, ReplaySettings(executor="serial", n_events=10, time_scale=0.5))
    expected_s = 10 * 6 * 0.0015  # six modules, 1 ms and 2 ms in turn
    assert expected_s - 1e-6 <= result.cpu_s  # each is cut to nanoseconds
    assert expected_s - 1e-6 <= result.wall_s
    assert result.steps_per_s == 0


def test_sleeping_modules_take_the_time_that_the_file_says(tmp_path: Path) -> None:
    job = read_replay(write_file(tmp_path, time_s=0.002))
    result = run_replay(job, ReplaySettings(executor="serial", n_events=10, mode="sleep"))
    assert result.wall_s >= 10 * 6 * 0.003
    assert result.cpu_s < result.wall_s
    assert result.steps_per_s == 0


@pytest.mark.parametrize("mode", ["busywait", "sleep", "async"])
def test_an_event_takes_its_own_time_and_no_other(tmp_path: Path, mode: Any) -> None:
    file = write_file(tmp_path)
    file.write_text(file.read_text().replace("[0.001, 0.002]", "[0.001, 100000]"))
    result = run_replay(read_replay(file), ReplaySettings(n_events=1, mode=mode))
    assert result.n_events == 1  # It came to an end.


def test_fixed_work_tells_the_steps_that_it_was_measured_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_file(tmp_path)
    result = run_replay(read_replay(file), ReplaySettings(n_events=4, mode="fixedwork"))
    assert result.steps_per_s > 0
    assert result.cpu_s > 0
    assert main(["replay", str(file), "--mode", "fixedwork", "--iterations", "1"]) == 0
    assert re.match(r"fixed work: [0-9.]+ M steps/s\n#", capsys.readouterr().out)


def test_async_modules_wait_together_without_threads(tmp_path: Path) -> None:
    any_number = THREAD_TYPES[:1] * 3
    job = read_replay(write_file(tmp_path, time_s=0.2, thread_types=any_number))
    settings = ReplaySettings(n_threads=1, events_in_flight=30, n_events=30, mode="async")
    one_after_another_s = 30 * 6 * 0.3
    longest_chain_s = 4 * 0.4
    # Together they need no longer than one event; a busy machine may take ten times as long.
    wall_s = run_replay(job, settings).wall_s
    assert longest_chain_s <= wall_s < one_after_another_s / 3


def test_the_last_line_and_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = write_file(tmp_path), tmp_path / "out.json"
    arguments = ["--mode", "none", "--threads", "2", "--children", "2", "--json", str(out), "-q"]
    assert main(["replay", str(file), *arguments]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    number = r"[0-9.e+-]+"
    assert re.fullmatch(
        "# threads:4 # simultaneous events:4 total # events:30"
        f" cpu time:{number} real time:{number} events/sec:{number}",
        line,
    )
    written = json.loads(out.read_text())
    assert (written["n_events"], written["n_modules"]) == (30, 6)
    assert written["settings"]["n_children"] == 2
    assert written["machine"]["n_cores"] >= 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace('"@label": "a", ', "", 1), "@label"),
        (lambda text: text.replace('"threadType": "ThreadUnsafe"', '"threadType": "Odd"'), "Odd"),
        (lambda text: text.replace("EventTimesBusyWaitProducer", "Unheard", 1), "Unheard"),
        (lambda text: text.replace("0.001", "-1", 1), "-1"),
        (
            lambda text: text.replace('"toGet": []', '"toGet": [{"label": "c", "product": ""}]', 1),
            "→",
        ),
        (lambda text: text[: len(text) // 2], "truncated"),
    ],
)
def test_a_malformed_file_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Any, words: str
) -> None:
    file = write_file(tmp_path)
    text = file.read_text()
    file.write_text(change(text))
    assert file.read_text() != text
    assert main(["replay", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"forkrun: {file}: ")
    assert error.count("\n") == 1
    assert words in error


def test_settings_that_make_no_sense_are_all_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        ReplaySettings(n_events=0, n_threads=-1, time_scale=-2.0)
    assert len(caught.value.problems) == 3
    assert main(["replay", str(write_file(tmp_path)), "--children", "0"]) == 2


def test_a_missing_file_and_a_missing_folder_are_errors(tmp_path: Path) -> None:
    assert main(["replay", str(tmp_path / "none.json")]) in (2, 3)
    assert main(["replay", str(write_file(tmp_path)), "--json", str(tmp_path / "no" / "o")]) == 4


def test_an_executor_that_is_not_built_in_is_an_error_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["replay", str(write_file(tmp_path)), "--executor", "dispatch", "--mode", "none"])
    if code != 0:
        assert code == 5
        assert "install it" in capsys.readouterr().err


@pytest.mark.parametrize("get", ["prefetch", "blocking", "coroutine"])
def test_the_public_graph_makes_the_same_in_every_way(real_data: Path, get: Any) -> None:
    job = read_replay(real_data / "reco_hipileup_5_2_0_busywait_perfectIO.config.gz")
    serial = ReplaySettings(executor="serial", mode="none", n_events=200)
    expected = run_replay(job, serial).checksum
    for n_threads, in_flight, tasks in ((1, 1, True), (4, 3, True), (16, 20, False)):
        settings = ReplaySettings(
            n_threads=n_threads,
            events_in_flight=in_flight,
            mode="none",
            get=get,
            n_events=200,
            always_tasks=tasks,
        )
        assert run_replay(job, settings).checksum == expected, settings
