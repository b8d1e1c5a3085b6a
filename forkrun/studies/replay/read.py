"""Reads replay files and reports all problems in them."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from forkrun.base.nearest import suggestion
from forkrun.base.user_text import DoubleKeyError, unique_keys
from forkrun.errors import ConfigError
from forkrun.studies.replay.check import reference_problems
from forkrun.studies.replay.model import Kind, ReplayJob, ReplayOptions, ReplayPath, ReplaySource
from forkrun.studies.replay.modules import read_module
from forkrun.studies.replay.table import Json, Table, say_type
from forkrun.studies.replay.types import PREFIX, SOURCE_TYPES

MAX_PROBLEMS_SHOWN = 20


def read_replay(file: Path | str) -> ReplayJob:
    """Reads a job from a file in the format of the public toy framework: JSON, plain or compressed
    with gzip. Like the toy framework, ignores unknown keys. Raises ConfigError with every problem
    found."""
    return parse_replay(load_json(Path(file)), str(file))


def parse_replay(raw: Json, file: str) -> ReplayJob:
    """Reads a job from a JSON value; `file` names it in messages."""
    problems: list[str] = []
    process = Table(raw, "", problems).table("process")
    if not problems:
        job = _job(process, problems)
    if not problems:
        problems = list(reference_problems(job))
    if problems:
        raise ConfigError([f"{file}: {problem}" for problem in _first_ones(problems)])
    return job


def _first_ones(problems: list[str]) -> list[str]:
    n_more = len(problems) - MAX_PROBLEMS_SHOWN
    return problems[:MAX_PROBLEMS_SHOWN] + [f"and {n_more} more problems"] * (n_more > 0)


def _job(process: Table, problems: list[str]) -> ReplayJob:
    options = _options(process.table("options", optional=True))
    modules = [
        read_module(Table(item, process.at(f"{section}[{i}]"), problems), kind, options)
        for section, kind in (("producers", Kind.PRODUCER), ("filters", Kind.FILTER))
        for i, item in enumerate(process.items(section))
    ]
    return ReplayJob(
        process.text("label", ""),
        options,
        _source(process.table("source")),
        tuple(modules),
        _paths(process.table("paths")),
    )


def _options(table: Table) -> ReplayOptions:
    n_threads = table.count("nThreads", 0)
    factor = table.number("busyWaitScaleFactor", 2.2e7)
    if factor == 0:
        table.report("busyWaitScaleFactor", "a number above 0 is needed")
    return ReplayOptions(
        table.count("nSimultaneousEvents", 1, least=1), n_threads or None, factor or 1.0
    )


def _source(table: Table) -> ReplaySource:
    kind = table.text("@type")
    if kind and kind.removeprefix(PREFIX) not in SOURCE_TYPES:
        known = [PREFIX + name for name in SOURCE_TYPES]
        table.report("@type", f'unknown source type "{kind}"{suggestion(kind, known)}')
    return ReplaySource(kind, table.count("iterations"))


def _paths(table: Table) -> tuple[ReplayPath, ...]:
    paths = []
    for name, _ in table.pairs():
        labels = table.items(name)
        for i, label in enumerate(labels):
            if not isinstance(label, str):
                table.report(f"{name}[{i}]", f"a filter's label is needed, not {say_type(label)}")
        paths.append(ReplayPath(name, tuple(str(label) for label in labels)))
    return tuple(paths)


GZIP_MAGIC = b"\x1f\x8b"


def load_json(path: Path) -> Any:
    """Raises ConfigError if the file is missing or is not complete, valid JSON."""
    text = _text(path, _bytes(path))
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise ConfigError(
                f"{path}: {place}: the JSON ends too early ({error.msg}): the file is truncated;"
                " fetch or write it again"
            ) from None
        raise ConfigError(f"{path}: {place}: not valid JSON: {error.msg}") from None
    except DoubleKeyError as error:
        raise ConfigError(f"{path}: {error}") from None
    except ValueError:  # Python's limit is 4300 digits per number
        raise ConfigError(f"{path}: holds a number that is too long to be read") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply to be a replay file") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{path}: replay file not found") from None
    except IsADirectoryError:
        raise ConfigError(
            f"{path}: this is a directory; give a replay file, plain JSON or compressed with gzip"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the replay file: {error.strerror}") from None


def _text(path: Path, data: bytes) -> str:
    try:
        return (gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data).decode("utf-8")
    except EOFError:
        raise ConfigError(
            f"{path}: the gzip data ends too early: the file is truncated; fetch or write it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ConfigError(f"{path}: the gzip data is damaged ({error}); fetch it again") from None
    except UnicodeDecodeError:
        raise ConfigError(
            f"{path}: neither text nor gzip; a replay file is JSON, plain or compressed with gzip"
        ) from None
