"""Sections of the configuration as a program gives them, with every kind of value that Python has:
each is used, or refused by the name of its key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import forkrun
from forkrun.config.model import JobConfig
from tests.support.kinds import FILE, KINDS
from tests.test_arguments import is_same, keys, place

OF_CALLS = ("datasets", "modules", "paths")
"""They come of calls, whose arguments are tried one by one."""
KEYS = [key for key in keys(JobConfig) if key[0] not in OF_CALLS]


def job_with(key: tuple[str, ...], value: Any) -> forkrun.Job:
    raw: dict[str, Any] = {}
    place(raw, key)[key[-1]] = value
    if key[0] == "outputs":
        of_output = raw["outputs"][0]
        return forkrun.Job(FILE).output(of_output.pop("label"), **of_output)
    return forkrun.Job(FILE, **raw)


def relative(value: Any) -> Any:
    """Paths as they were given, tuples as lists."""
    if isinstance(value, str | Path):
        return str(value).removeprefix(f"{Path.cwd()}/")
    if isinstance(value, Mapping):
        return {key: relative(of) for key, of in value.items()}
    return [relative(each) for each in value] if isinstance(value, tuple | list) else value


@pytest.mark.parametrize("key", KEYS, ids=".".join)
def test_a_key_that_a_program_gives_is_used_or_refused(key: tuple[str, ...]) -> None:
    for kind, value in KINDS.items():
        try:
            config: Any = job_with(key, value).config
        except forkrun.ConfigError as error:
            problem, found = str(error), None
        else:
            problem, found = "", getattr(place(config, key), key[-1])
        is_used = not problem and is_same(relative(found), relative(value))
        assert is_used or key[-1] in problem, problem or f"{kind} became {found!r}"


def files_once() -> Iterator[Path]:
    yield Path(FILE)


@pytest.mark.parametrize("given", [FILE, Path(FILE), [FILE], (Path(FILE),), "root://host//x.root"])
def test_files_of_friends_are_of_every_kind(given: Any) -> None:
    friend = {"tree": "T", "files": given, "by": ("run", "event"), "missing": "drop"}
    for job in (
        forkrun.Job(FILE, friends=friend),
        forkrun.Job(FILE, friends=[friend]),
        forkrun.Job(FILE, source={"friends": [friend]}),
    ):
        (found,) = job.config.source.friends
        names = [Path(str(file)).name for file in (given if isinstance(given, list) else [given])]
        if isinstance(given, tuple):
            names = [FILE]
        assert ([Path(file).name for file in found.files], found.by) == (names, ("run", "event"))


@pytest.mark.parametrize("paths", ["hard", ["hard"], ("hard", "soft"), ["hard", "all"], "main"])
def test_outputs_name_paths_of_the_job(paths: Any) -> None:
    job = forkrun.Job(FILE)
    for name in ("hard", "soft"):
        job.path(name).filter("MET_pt > 1", label=name)
    job.path("all")
    (output,) = job.output("o", paths=paths).config.outputs
    names = [paths] if isinstance(paths, str) else paths
    assert output.paths == (() if {"all", "main"} & set(names) else tuple(names))


def test_outputs_of_paths_that_there_are_not_are_refused() -> None:
    for given in ("hart", ["hart"], ["main", "hart"]):
        with pytest.raises(forkrun.ConfigError, match="hart"):
            _ = forkrun.Job(FILE).filter("MET_pt > 1", label="f").output("o", paths=given).config


def test_what_is_iterated_once_is_there_each_time_that_the_job_is_described() -> None:
    job = forkrun.Job(FILE, source={"files": files_once()}, friends={"files": files_once()})
    for _ in range(2):
        assert [Path(file).name for file in job.config.source.files] == [FILE]
        assert [Path(file).name for file in job.config.source.friends[0].files] == [FILE]
