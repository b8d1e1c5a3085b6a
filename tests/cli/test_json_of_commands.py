"""`--json` is there wherever a command prints results."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from forkrun.cli.parser import COMMANDS, make_whole_parser
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job

WITHOUT_RESULTS = {
    "completion": "a script for a shell",
    "manual": "a page for people",
    "export": "formats of other tools, JSON among them",
    "node": "its results are in the run directory, of which status --json tells",
    "plot": "prints the names of its files",
    "workload": "writes JSON, and prints nothing",
}
TO_A_FILE = {"measure", "replay", "estimate"}
"""Studies, whose --json names a file."""


def parsers() -> dict[str, argparse.ArgumentParser]:
    whole = make_whole_parser()
    (commands,) = (
        action.choices
        for action in whole._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return dict(commands)


def has_json(parser: argparse.ArgumentParser) -> bool:
    """Whether it, or each command within it, has the option."""
    within = [a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if within:
        return all(has_json(each) for choices in within for each in choices.values())
    return "--json" in parser._option_string_actions


def test_every_command_that_prints_results_prints_them_as_json() -> None:
    found = parsers()
    assert set(found) == set(COMMANDS)
    without = {name for name, parser in found.items() if not has_json(parser)}
    assert without == set(WITHOUT_RESULTS)
    flags = {n for n, p in found.items() if n not in without | TO_A_FILE}
    for name in flags:
        option = found[name]._option_string_actions["--json"]
        assert isinstance(option, argparse._StoreTrueAction), name


def said(*words: Any, cwd: Path) -> Any:
    ended = forkrun(*words, "--json", cwd=cwd)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return write_events(tmp_path / "a.root", [(1, 1, 40)])


def test_files_and_nodes_are_told_as_json(tmp_path: Path, events: Path) -> None:
    merged = said("merge", "b.root", events, cwd=tmp_path)
    assert (merged["file"], merged["entries"]) == ("b.root", {"Events": 40})
    assert "were joined" in merged["notes"][0]
    converted = said("convert", events, "n.root", cwd=tmp_path)
    assert converted["entries"] == {"Events": 40}
    sample = said("sample", "s.root", "--events", 10, cwd=tmp_path)
    assert sample["files"] == ["s.root"]
    assert sample["n_bytes"] == (tmp_path / "s.root").stat().st_size
    plugin = said("new-plugin", "mine", cwd=tmp_path)
    assert "job.toml" in plugin["files"]
    job = write_job(tmp_path, jets_job([events]))
    submitted = said(
        "submit", job, "--on", "local", "--dry-run", "--nodes", 2, "-o", "run", cwd=tmp_path
    )
    assert (submitted["n_nodes"], submitted["n_events"]) == (2, 40)
    assert "nothing was submitted" in submitted["said"][-1]
    assert forkrun("node", "run", 0, "-q", cwd=tmp_path).code == 0
    (log, *_) = said("logs", "run", "--nodes", "0", cwd=tmp_path)["logs"] or [{"node": 0}]
    assert log["node"] == 0
    top = said("top", "run", cwd=tmp_path)
    assert [node["name"] for node in top["nodes"]] == ["node 0"]
    assert 0 < top["n_events"] < top["n_events_planned"] == 40
    assert said("kill", "run", cwd=tmp_path)["nodes"] == []
