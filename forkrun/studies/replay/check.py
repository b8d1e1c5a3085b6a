"""Checks for unknown names and circular dependencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from forkrun.base.nearest import suggestion
from forkrun.studies.replay.model import Kind, Product, ReplayJob, ReplayModule


def reference_problems(job: ReplayJob) -> Iterator[str]:
    """Yields a line per problem: place, problem and remedy."""
    yield from _duplicates(job)
    modules = {module.label: module for module in job.modules}
    for module in job.modules:
        for product in module.consumes:
            what = _unmet(product, modules)
            if what:
                yield f"{_place(module)}.toGet: {what}"
    yield from _path_problems(job, modules)
    yield from _cycle(job)


def _place(module: ReplayModule) -> str:
    return f'process.{module.kind.value}s (label "{module.label}")'


def _duplicates(job: ReplayJob) -> Iterator[str]:
    counts = Counter(module.label for module in job.modules)
    for label, count in counts.items():
        if count > 1:
            yield f'process: {count} modules have the label "{label}"; give each its own'


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
