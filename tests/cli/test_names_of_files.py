"""Names of files with bytes that are not valid UTF-8: refused wherever they come from, with a
remedy that helps."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from forkrun.errors import ConfigError
from forkrun.merge import merge_files
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, output_digests

ODD = os.fsdecode(b"b\xfe.root")
REMEDY = "holds bytes that are not valid UTF-8; rename the file, or link to it"


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sound file and one of an odd name; its path is short: messages cut long
    ones."""
    place = tmp_path_factory.mktemp("odd")
    folder = place / "in"
    folder.mkdir()
    write_events(folder / "a.root", [(1, 1, 40), (1, 2, 40)])
    shutil.copy(write_events(place / "b.root", [(1, 3, 40)], first_event=81), folder / ODD)
    return place


def write_job(place: Path, source: dict[str, object]) -> Path:
    (place / "job.json").write_text(json.dumps({**jets_job([]), "source": source}))
    return place / "job.json"


@pytest.mark.parametrize("command", ["run", "check", "plan"])
def test_a_pattern_that_matches_one_names_it(place: Path, command: str) -> None:
    ended = forkrun(command, write_job(place, {"files": ["in/*.root"]}), cwd=place)
    assert ended.code == 3
    assert ended.err.count(REMEDY) == 1
    assert "b\\udcfe.root" in ended.err
    assert "incompatible" not in ended.err


def test_a_list_of_files_with_one_names_it(place: Path) -> None:
    (place / "list.txt").write_bytes(b"in/a.root\nin/b\xfe.root\n")
    ended = forkrun("check", write_job(place, {"list": "list.txt"}), cwd=place)
    assert ended.code == 3
    assert REMEDY in ended.err


@pytest.mark.parametrize(
    "arguments",
    [("run", "job.json", f"in/{ODD}"), ("merge", "out.root", f"in/{ODD}"),
     ("merge", ODD, "in/a.root"), ("report", ODD), ("sample", ODD)],
)  # fmt: skip
def test_an_argument_that_is_one_is_exit_2(place: Path, arguments: Sequence[str]) -> None:
    write_job(place, {"files": ["in/a.root"]})
    before = sorted(os.listdir(os.fsencode(place)))
    ended = forkrun(*arguments, cwd=place)
    assert ended.code == 2
    assert REMEDY in ended.err
    assert sorted(os.listdir(os.fsencode(place))) == before


@pytest.mark.parametrize("is_output", [False, True])
def test_a_call_with_one_is_a_wrong_argument(place: Path, is_output: bool) -> None:
    inputs, output = ("in/a.root", ODD) if is_output else (f"in/{ODD}", "out.root")
    with pytest.raises(ConfigError, match=REMEDY):
        merge_files([place / inputs], place / output)


def test_a_run_directory_is_not_made_in_a_folder_of_such_a_name(place: Path) -> None:
    job = write_job(place, {"files": [str(place / "in/a.root")]})
    folder = place / os.fsdecode(b"d\xff")
    folder.mkdir()
    ended = forkrun("run", job, "-o", "run", cwd=folder)
    assert ended.code == 4
    assert "and is UTF-8" in ended.err
    assert list(folder.iterdir()) == []


def test_links_to_such_files_and_folders_are_read_and_written(place: Path) -> None:
    folder = place / os.fsdecode(b"d\xff")
    folder.mkdir()
    (place / "b-link.root").symlink_to(place / "in" / ODD)
    (place / "d-link").symlink_to(folder)
    for name, run in (("b.root", "run"), ("b-link.root", "d-link/run")):
        job = write_job(place, {"files": [name]})
        ended = forkrun("run", job, "-o", run, "-q", cwd=place)
        assert ended.code == 0, ended.err
    assert output_digests(place / "d-link/run") == output_digests(place / "run")
    ended = forkrun("merge", "d-link/out.root", "b-link.root", "in/a.root", cwd=place)
    assert ended.code == 0, ended.err
    assert (folder / "out.root").exists()
