"""Reads replay files and reports all problems in them."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from forkrun.base.nearest import suggestion
from forkrun.base.quantities import plural
from forkrun.base.user_text import DoubleKeyError, unique_keys
from forkrun.errors import ConfigError
from forkrun.studies.replay.model import (
    Kind,
    Product,
    ReplayJob,
    ReplayModule,
    ReplayOptions,
    ReplayPath,
    ReplaySource,
)
from forkrun.studies.replay.modules import PREFIX, SOURCE_TYPES, Json, Table, read_module, say_type


def reference_problems(job: ReplayJob) -> Iterator[str]:
    """Yields a line per problem: place, problem and remedy."""
    yield from _duplicates(job)
    modules = {module.label: module for module in job.modules}
    for module in job.modules:
        for product in module.consumes:
            what = _unmet(product, modules)
            if what:
                yield f'process.{module.kind.value}s (label "{module.label}").toGet: {what}'
    yield from _path_problems(job, modules)
    yield from _cycle(job)


def _duplicates(job: ReplayJob) -> Iterator[str]:
    counts = Counter(module.label for module in job.modules)
    for label, count in counts.items():
        if count > 1:
            yield f'process: {plural(count, "module")} have the label "{label}"; give each its own'


def _unmet(product: Product, modules: dict[str, ReplayModule]) -> str:
    producer = modules.get(product.label)
    if producer is None or producer.kind is not Kind.PRODUCER:
        near = suggestion(product.label, _labels(modules, Kind.PRODUCER))
        if producer is None:
            return f'no producer has the label "{product.label}"{near}'
        return f'"{product.label}" is a filter, which makes no product{near}'
    if product.product not in producer.produces:
        near = suggestion(product.product, producer.produces)
        return f'"{product.label}" makes no product "{product.product}"{near}'
    return ""


def _labels(modules: dict[str, ReplayModule], kind: Kind) -> list[str]:
    return [label for label, module in modules.items() if module.kind is kind]


def _path_problems(job: ReplayJob, modules: dict[str, ReplayModule]) -> Iterator[str]:
    filters = _labels(modules, Kind.FILTER)
    for path in job.paths:
        for label in path.filters:
            if label not in modules:
                what = f'no filter has the label "{label}"{suggestion(label, filters)}'
                yield f"process.paths.{path.name}: {what}"
            elif label not in filters:
                what = f'"{label}" is a producer, which runs when its product is asked for'
                yield f"process.paths.{path.name}: {what}: remove it"
    if not any(path.filters for path in job.paths):
        yield "process.paths: no path has a filter, so nothing would run: name one"


def _cycle(job: ReplayJob) -> Iterator[str]:
    makers = [module for module in job.modules if module.kind is Kind.PRODUCER]
    labels = {module.label for module in makers}
    graph = {m.label: [p.label for p in m.consumes if p.label in labels] for m in makers}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        way = error.args[1]  # each is consumed by the next; the last equals the first
        chain = " → ".join(way)
        yield (
            f'process.producers (label "{way[-1]}").toGet: "{way[-1]}" waits for itself'
            f" ({chain}): remove one of these dependencies"
        )


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
        n_more = len(problems) - MAX_PROBLEMS_SHOWN
        more = [f"and {plural(n_more, 'more problem')}"] * (n_more > 0)
        shown = [*problems[:MAX_PROBLEMS_SHOWN], *more]
        raise ConfigError([f"{file}: {problem}" for problem in shown])
    return job


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
