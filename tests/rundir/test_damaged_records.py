"""Records of a run directory that are damaged: each command has a documented exit code, and names
the file, or does without it."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.batch.jobs import status_of
from tests.support.files import write_events
from tests.support.jobs import Ended, forkrun, wait_for, write_job

JOB = {
    "job": {"name": "j", "luminosity": 1},
    "datasets": [
        {"name": "mc", "files": ["a.root"], "cross_section": 1, "sum_of_weights": 5},
        {"name": "data", "files": ["b.root"], "is_data": True},
    ],
    "modules": [{"label": "cut", "type": "expression:event > 1", "kind": "filter"}],
    "paths": {"main": ["cut"]},
    "outputs": [{"label": "all", "paths": ["main"]}],
}
COMMANDS = {
    "done": [
        ["status", "done"], ["report", "done"], ["run", "job.json", "-o", "done", "-q"],
        ["resume", "done", "-q"], ["compare", "done", "other"], ["logs", "done"],
    ],
    "open": [
        ["status", "open"], ["report", "open"], ["run", "job.json", "-o", "open", "-q"],
        ["resume", "open", "-q", "--set", "merge.enabled=true"],
    ],
    "nodes": [
        ["status", "nodes"], ["collect", "nodes", "-q"], ["logs", "nodes"], ["kill", "nodes"],
        ["resubmit", "nodes"], ["node", "nodes", "0", "-q"], ["report", "nodes"],
        ["submit", "job.json", "--on", "local", "--extend", "-o", "nodes", "--dry-run"],
    ],
}  # fmt: skip
WRONG: tuple[Any, ...] = ("x", None, [], {}, -1, 1.5, True, [["a"]], 10**30)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run directories as jobs leave them, in `kept`."""
    folder = tmp_path_factory.mktemp("runs")
    for name, first in (("a", 1), ("b", 100)):
        write_events(folder / f"{name}.root", [(1, 1, 30), (1, 2, 20)], first)
    write_job(folder, JOB)
    commands = [
        ("run", "job.json", "-o", "done", "-q"),
        ("run", "job.json", "-o", "other", "-q"),
        ("run", "job.json", "-o", "open", "-q", "--no-merge"),
        ("submit", "job.json", "--on", "local", "--nodes", 2, "-o", "nodes", "-q"),
    ]
    for command in commands:
        ended = forkrun(*command, cwd=folder)
        assert ended.code == 0, ended.err
    wait_for(lambda: bool(status_of(folder / "nodes")["states"].get("done") == 2))
    for name in COMMANDS:
        wait_for(partial(is_copied, folder / name, folder / "kept" / name))
    return folder


def is_copied(before: Path, to: Path) -> bool:
    """Not while the queue packs what nodes have left."""
    shutil.rmtree(to, ignore_errors=True)
    try:
        shutil.copytree(before, to)
    except (OSError, shutil.Error):
        return False
    return True


def after(runs: Path, record: str, content: bytes, command: list[str]) -> Ended:
    """What a command says once a record has this content."""
    name = record.partition("/")[0]
    wait_for(partial(is_copied, runs / "kept" / name, runs / name))
    (runs / record).write_bytes(content)
    return forkrun(*command, cwd=runs)


def of_lines(record: str, data: bytes) -> list[bytes]:
    """Values of a record, one or more."""
    return data.splitlines() if record.endswith(".jsonl") else [data]


def mutations(record: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and content of damaged ones."""
    yield "empty", b""
    yield "cut", data[: len(data) // 2]
    yield "bytes", b"\xff\x00{" + data[3:]
    for text in ("[]", "null", "3", '"x"', "{}", '{"a": []}'):
        yield text, text.encode() + b"\n"
    *before, last = of_lines(record, data) or [b""]
    for name, value in _changed(json.loads(last)) if last else ():
        yield name, b"\n".join([*before, json.dumps(value).encode(), b""])


def _changed(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list) and value:
        yield from ((f"[0].{name}", [each, *value[1:]]) for name, each in _changed(value[0], 1))
    for key in value if isinstance(value, dict) else ():
        yield f"without {key}", {k: v for k, v in value.items() if k != key}
        yield from ((f"{key} = {wrong!r}", {**value, key: wrong}) for wrong in WRONG)
        if depth < 2:
            inner = _changed(value[key], depth + 1)
            yield from ((f"{key}.{name}", {**value, key: each}) for name, each in inner)


def is_told_well(ended: Ended) -> bool:
    return ended.code not in (1, None) and "Traceback" not in ended.out + ended.err


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("record", "key", "value", "command", "code"),
    [
        ("nodes/batch/submitted.jsonl", "n_merge_parts", "x", ["status", "nodes"], 0),
        ("nodes/batch/submitted.jsonl", "nodes", "x", ["resubmit", "nodes"], 0),
        ("nodes/batch/progress.json", "nodes", 3, ["status", "nodes"], 0),
        ("nodes/batch/ends/0000.jsonl", "code", "x", ["status", "nodes"], 0),
        ("nodes/plan.json", "units", {}, ["collect", "nodes"], 3),
        ("nodes/fingerprint.json", "shipped", 3, ["node", "nodes", "0"], 4),
        ("open/fingerprint.json", "code", None, COMMANDS["open"][-1], 4),
        ("open/fingerprint.json", "input", [], COMMANDS["open"][-2], 4),
        ("done/report.json", "events", 3, ["compare", "done", "other"], 3),
        ("done/datasets.json", "sums_of_weights", 3, ["report", "done"], 3),
    ],
)
def test_a_damaged_record_is_named_or_done_without(
    runs: Path, record: str, key: str, value: Any, command: list[str], code: int
) -> None:
    *lines, last = of_lines(record, (runs / "kept" / record).read_bytes())
    changed = json.dumps({**json.loads(last), key: value}).encode()
    ended = after(runs, record, b"\n".join([*lines, changed, b""]), command)
    assert (ended.code, is_told_well(ended)) == (code, True), ended.err
    assert code == 0 or record in ended.err


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_no_damage_of_a_record_is_an_internal_error(runs: Path, seed: int) -> None:
    drawn, wrong = random.Random(seed), []
    records = sorted((runs / "kept").rglob("*.json*"))
    for _ in range(60):
        place = drawn.choice(records)
        record = str(place.relative_to(runs / "kept"))
        name, content = drawn.choice(list(mutations(record, place.read_bytes())))
        command = drawn.choice(COMMANDS[record.partition("/")[0]])
        ended = after(runs, record, content, command)
        if not is_told_well(ended):
            wrong.append((record, name, command, ended.code, ended.err[-300:]))
    assert wrong == []


@pytest.mark.slow
@pytest.mark.own_process
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("words", ["status x", "run j.toml", "merge a.root b.root", "plan j.toml"])
def test_a_working_directory_that_was_removed_is_named(tmp_path: Path, words: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'rmdir "{gone}"; exec {sys.executable} -m forkrun {words}'
    done = subprocess.run(["sh", "-c", script], cwd=gone, capture_output=True, text=True)
    assert done.returncode in (2, 4)
    assert "the current directory has been removed" in done.stderr
    assert "Traceback" not in done.stderr
