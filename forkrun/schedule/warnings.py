"""Warnings about valid but probably unintended settings, printed once before the job runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from forkrun.config.datasets import WEIGHT
from forkrun.config.model import JobConfig
from forkrun.config.outputs import OutputConfig
from forkrun.config.source import FilledBranches
from forkrun.rundir.output_content import OutputContent
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.problems import is_index

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


class Described(Struct, frozen=True):
    """A job with constructed modules. `modules`: Python modules, by label; `columns_of`: by module
    label, the columns that it makes; `outputs`: contents of each; `branches`: of the input."""

    config: JobConfig
    modules: Mapping[str, PythonModule]
    columns_of: Mapping[str, Sequence[str]]
    outputs: Mapping[str, OutputContent]
    branches: InputBranches


def find_warnings(job: Described) -> list[str]:
    """One line per warning, with the remedy."""
    return [
        *_idle_producers(job),
        *_idle_filters(job),
        *(text for label, module in job.modules.items() for text in _not_booked(label, module)),
        *_stored_friends(job),
        *_pointing_fills(job),
        *_older_forms(job.config.outputs),
    ]


def _stored_friends(job: Described) -> Iterator[str]:
    file = next((file for file in job.branches.files if file.stored_friends), None)
    if job.config.outputs and file:
        yield (
            f"{file.path}: the friend {', '.join(file.stored_friends)}, which is stored with the"
            " tree, is kept only where an output is a tree of all entries of a single file; it does"
            " not fit other entries. Name it in source.friends to have its columns"
        )


def _pointing_fills(job: Described) -> Iterator[str]:
    """Fill patterns that make an index point to an unintended object."""
    rule = job.config.source.branches
    for pattern, value in rule.fill.items() if isinstance(rule, FilledBranches) else ():
        names = [
            name
            for name, (its, _) in job.branches.fills.items()
            if is_index(name) and its == value >= 0 and name != pattern
            if fnmatchcase(name, pattern)
        ]
        if names and not pattern.endswith("Idx"):
            yield (
                f'source.branches.fill."{pattern}": "{names[0]}" = {value:g} is the first object of'
                f' its collection; before it write "*Idx" = -1'
            )


def _older_forms(outputs: Sequence[OutputConfig]) -> Iterator[str]:
    for output in outputs:
        if output.parquet:
            yield (
                f'outputs "{output.label}": parquet = true is an older form: an output of its own,'
                ' with format = "parquet", is written without the ROOT file, also for each lumi'
            )


def _idle_producers(job: Described) -> Iterator[str]:
    """Producers whose columns are unused. Reads of C++ modules are unknown here."""
    kinds = {module.label: module.type for module in job.config.modules}
    if any(kind.startswith("cpp:") for label, kind in kinds.items() if label not in job.columns_of):
        return
    wanted = {name for module in job.modules.values() for name in module.consumes}
    wanted |= {name for content in job.outputs.values() for name, _ in content.products}
    for label, names in job.columns_of.items():
        if names and label != WEIGHT and not wanted.intersection(names):
            yield (
                f'module "{label}": no module or output uses its columns ({", ".join(names)}), so'
                " it does"
                " not run; name them in `keep` of an output, or in `consumes` of a module"
            )


def _idle_filters(job: Described) -> Iterator[str]:
    named = {label for labels in job.config.paths.values() for label in labels}
    for label, module in job.modules.items():
        if module.kind == "filter" and label not in named:
            yield (
                f'module "{label}": a filter on no path does not run; name it in [paths], and the'
                " path in `paths` of an output"
            )


def _not_booked(label: str, module: PythonModule) -> Iterator[str]:
    """Histograms that a module keeps but never books."""
    if "boost_histogram" not in sys.modules:
        return
    import boost_histogram as bh

    booked = [each.histogram for each in module.histograms().values()]
    for name, value in vars(module.module).items():
        if name == "_booked":
            continue
        found = [h for h in _values(value) if isinstance(h, bh.Histogram)]
        if any(not any(h is other for other in booked) for h in found):
            remedy = (
                f'self.{name} = self.book("{name}", …) makes it one of the job'
                if module.kind == "analyzer"
                else "a forkrun.Analyzer can book and fill it"
            )
            yield (
                f'module "{label}": the histogram self.{name} is not booked: what children fill'
                f" into it is lost; {remedy}"
            )


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):  # only dict: other mappings may load values on access
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
    else:
        yield value
