"""Runs a job's first events in several layouts, and finds the modules whose results differ."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from forkrun.base.quantities import plural
from forkrun.errors import ConfigError, ForkrunError, JobError
from forkrun.formats import format_of
from forkrun.formats.ttree import TTREE
from forkrun.parent.preparation import PreparedJob
from forkrun.studies.blocks.layouts import (
    Difference,
    Layout,
    Results,
    differences,
    filter_outputs,
    first_place,
    is_same,
    job_of,
    layouts,
    read_results,
)
from forkrun.studies.frame.jobs import RunningJob


class Found(Struct, frozen=True):
    """`event`: RUN:LUMI:EVENT of the first difference; `layout`: differs from large blocks."""

    difference: Difference
    event: str
    layout: Layout


class Checked(Struct, frozen=True):
    """`layouts` compared with large blocks; `found`: for each differing column, decision and
    histogram, the first layout in which it differs. `makers`: for each module, labels of the
    modules that make its input, as declared by Python modules, or that select the events of an
    analyzer."""

    layouts: tuple[Layout, ...]
    found: tuple[Found, ...]
    makers: Mapping[str, Sequence[str]]


def check_blocks(job: PreparedJob, n_events: int) -> Checked:
    """Runs the first `n_events` of the job. Raises JobError if it fails in one of the layouts."""
    source = job.config.source
    if source.only:
        raise ConfigError("--blocks is for the first events of a job: leave source.only out")
    if not (source.run_branch and source.lumi_branch and source.event_branch):
        raise ConfigError("--blocks compares event by event: the source has to have event ids")
    with tempfile.TemporaryDirectory(prefix="forkrun-blocks-") as folder:
        return _Study(job, Path(folder)).check(min(n_events, job.plan.n_events))


class _Study:
    def __init__(self, job: PreparedJob, folder: Path) -> None:
        self._config, self._folder = job.config, folder
        of_input = format_of(next(iter(job.plan.files), ""))
        self._form = TTREE if of_input.becomes_root else of_input
        self._output_format = "" if of_input is TTREE else self._form.name
        self._columns_of = job.schedule.columns_of
        self._columns = [name for names in self._columns_of.values() for name in names]
        filters = _filters(job)
        self._filters = filter_outputs(job.config, filters)
        self._makers = _makers(job, filters)

    def check(self, n_events: int) -> Checked:
        tried = tuple(layouts(n_events))
        found: dict[tuple[str, str], Found] = {}
        for layout in tried:
            one, other = self._results_of(layout)
            for difference in differences(one, other, self._columns_of):
                key = (difference.module, difference.what)
                if key not in found:
                    event = self._event(difference, layout, one)
                    found[key] = Found(difference, event, layout)
        return Checked(tried, tuple(found.values()), self._makers)

    def _event(self, difference: Difference, layout: Layout, results: Results) -> str:
        place = difference.place
        if place is None:
            place = self._first_of_histogram(difference, layout)
        return ":".join(map(str, results.ids[place].tolist()))

    def _first_of_histogram(self, difference: Difference, layout: Layout) -> int:
        """Finds the first event at which the sums differ, by running fewer events."""
        key = (difference.module, difference.what.removeprefix("histogram "))

        def differs(n_events: int) -> bool:
            one, other = self._results_of(layout.of_first(n_events))
            return not is_same(one.histograms.get(key), other.histograms.get(key))

        return first_place(differs, layout.n_events)

    def _results_of(self, layout: Layout) -> tuple[Results, Results]:
        """Results in this layout, and of the same events in large blocks."""
        both = (layout, Layout(layout.n_events))
        jobs = [self._start(each) for each in both]
        try:
            for job, each in zip(jobs, both, strict=True):
                _wait_for(job, each)
        finally:
            for job in jobs:
                job.stop()
        source, columns = self._config.source, self._columns
        one, other = (
            read_results(job.folder, source, self._form, columns, self._filters) for job in jobs
        )
        return one, other

    def _start(self, layout: Layout) -> RunningJob:
        config = job_of(self._config, layout, self._columns, self._filters, self._output_format)
        return RunningJob(config, self._folder / layout.name, (), merges=True)


def _wait_for(job: RunningJob, layout: Layout) -> None:
    while not job.has_ended():
        pass
    try:
        job.check()
    except ForkrunError as error:
        what = f"{layout.words}, the first {plural(layout.n_events, 'event')}: {error}"
        raise JobError(what) from error


def _filters(job: PreparedJob) -> list[str]:
    """Labels of filters on paths. A C++ module without histograms may be one; if it is not, it
    accepts all events in every layout."""
    schedule = job.schedule
    named = dict.fromkeys(label for labels in job.config.paths.values() for label in labels)
    analyzers = {histogram.module for histogram in schedule.core.histograms()}
    analyzers |= {label for label, module in schedule.modules.items() if module.kind != "filter"}
    return [label for label in named if label not in analyzers]


def _makers(job: PreparedJob, filters: Sequence[str]) -> dict[str, list[str]]:
    """For each module, labels of the modules on which its results depend."""
    schedule = job.schedule
    maker = {name: label for label, names in schedule.columns_of.items() for name in names}
    makers = {
        label: [maker[name] for name in module.consumes if name in maker]
        for label, module in schedule.modules.items()
    }
    for labels in job.config.paths.values():
        for place, label in enumerate(labels):
            if label not in filters:
                makers.setdefault(label, []).extend(labels[:place])
    return makers


_REMEDY = """\
No result may depend on blocks: how large they are follows from the machine. Usual reasons, and
what to do:
- a value of the whole block (a mean, a maximum, an index into it): compute it for each event, or
  before the job, as a condition
- random numbers that do not belong to events: take events.random
- something kept from one call to the next: leave sums to histograms"""


def describe(checked: Checked) -> str:
    """A line for each differing column, decision and histogram, and remedies."""
    compared = "; ".join(
        f"{layout.words} ({plural(layout.n_events, 'event')})" for layout in checked.layouts
    )
    if not checked.found:
        return f"no result depends on blocks: large ones compared with {compared}"
    lines = [_line(found, checked) for found in checked.found]
    return "\n".join([*lines, "", f"Large blocks were compared with {compared}.", _REMEDY])


def _line(found: Found, checked: Checked) -> str:
    difference = found.difference
    line = (
        f'module "{difference.module}": {difference.what} differs from event {found.event} on'
        f" ({found.layout.words})"
    )
    differing = {each.difference.module for each in checked.found}
    before = [label for label in _before(difference.module, checked) if label in differing]
    return line + (f'; this may follow from "{before[0]}"' if before else "")


def _before(module: str, checked: Checked) -> Iterator[str]:
    """Labels of all other modules on whose products this one depends."""
    seen, ahead = {module}, [module]
    while ahead:
        for label in checked.makers.get(ahead.pop(0), ()):
            if label not in seen:
                seen.add(label)
                ahead.append(label)
                yield label
