"""The compiled job, in the form run by children, which may look for pages that become private."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from forkrun import _core
from forkrun.base.cpus import usable_cpus
from forkrun.conditions import Conditions
from forkrun.config.choices import Executor
from forkrun.config.model import JobConfig
from forkrun.config.outputs import OutputConfig
from forkrun.histograms.accumulators.totals import Total, total_of_core
from forkrun.histograms.finished import with_variations
from forkrun.histograms.root_file import Named, histograms_of_core
from forkrun.modules.program.dependence import JobCode
from forkrun.plan.model import Plan
from forkrun.rundir.output_content import OutputContent
from forkrun.schedule.cutflow import Cutflow
from forkrun.schedule.found_out import FoundOut

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule


class Border(IntEnum):
    """Event that preceded a page becoming private; CORE: between calls of modules; FIRST_NODE + n:
    a call of node n of the schedule."""

    START = 1
    BETWEEN_UNITS = 2
    LATER = 3
    END = 4
    CORE = 15
    FIRST_NODE = 16


class WatchedProcessor(_core.Processor):
    """A processor of a child that also checks for private pages between units of work."""

    def __init__(
        self,
        schedule: _core.Schedule,
        source: _core.Source,
        settings: _core.ProcessorSettings,
        board: _core.StatusBoard,
        child: int,
        watch: _core.PageWatch,
    ) -> None:
        super().__init__(schedule, source, settings, board, child, watch)
        self._watch = watch
        self._child = child
        watch.sample(child, Border.START, is_needed=True)

    def run(
        self,
        next_unit: Callable[[], _core.UnitToDo | None],
        commit: Callable[[int, _core.UnitResult], None],
    ) -> None:
        def next_watched() -> _core.UnitToDo | None:
            self._watch.sample(self._child, Border.BETWEEN_UNITS)
            return next_unit()

        def commit_watched(number: int, result: _core.UnitResult) -> None:
            self._watch.sample(self._child, Border.LATER)
            commit(number, result)

        super().run(next_watched, commit_watched)

    def finish(self) -> None:
        super().finish()
        self._watch.sample(self._child, Border.END, is_needed=True)


class JobSchedule(Struct, frozen=True):
    """The compiled job with everything that a child needs. `modules`: Python modules, by label.
    `columns_of`: by module label, the columns that it makes, if any; `outputs`: contents of each;
    `varied`: variations of repeated analyzers; `reads_ahead`: each child reads ahead on an extra
    thread; `warnings`: likely mistakes; `each_output`: configured outputs, including those of
    variations; `found`: facts that modules leave undeclared; `watch`: finds pages that become
    private in children; `weights_are_normalised`: cutflow weights are made from `lumi_weight`;
    `one_lumi`: blocks must hold one lumi, because a module that wants this cannot split them
    itself; `input_format`: common format of the input."""

    core: _core.Schedule
    source: _core.Source
    modules: Mapping[str, PythonModule]
    consumed: Sequence[str]
    conditions: Conditions
    outputs: Mapping[str, OutputContent]
    columns_of: Mapping[str, Sequence[str]]
    cutflow: Cutflow
    varied: Mapping[str, Sequence[str]]
    reads_ahead: bool = False
    warnings: Sequence[str] = ()
    each_output: Sequence[OutputConfig] = ()
    found: FoundOut = FoundOut({})
    weights_are_normalised: bool = False
    one_lumi: bool = False
    input_format: str = "ttree"
    watch: _core.PageWatch | None = None
    code: JobCode | None = None
    """Code of all modules of the job."""
    wiring: Mapping[str, tuple[str, Sequence[str], Sequence[str]]] = {}
    """By label of each module call: kind, products read and products made."""

    def make_processor(
        self, settings: _core.ProcessorSettings, board: _core.StatusBoard, child: int
    ) -> _core.Processor:
        """Starts threads; call in the child."""
        if self.watch is not None:
            return WatchedProcessor(self.core, self.source, settings, board, child, self.watch)
        return _core.Processor(self.core, self.source, settings, board, child)

    def take_histograms(self) -> list[Named]:
        """Returns (module, name, histogram) of all analyzers so far, and empties the histograms."""
        taken = histograms_of_core(self.core)
        for label, module in self.modules.items():
            taken += [(label, name, sums) for name, sums in module.take_histograms(label)]
        self.clear_histograms()
        return with_variations(taken, self.varied)

    def shared_histograms(self) -> list[dict[str, str | int]]:
        """Histograms that several threads of a child fill concurrently, and the location of their
        sums; `bytes`: size of one table."""
        return [
            {"name": f"{h.module}/{h.name}", "memory": h.memory, "bytes": h.n_bytes}
            for h in self.core.histograms()
            if h.memory != "one table"
        ]

    def histogram_forms(self) -> dict[str, str]:
        """Axes and storage of each histogram, by module and name, as a text."""
        in_python = {
            f"{label}/{name}": repr((*booked.histogram.axes, booked.histogram.storage_type))
            for label, module in self.modules.items()
            for name, booked in module.histograms().items()
        }
        in_cpp = {f"{h.module}/{h.name}": repr((h.axes, h.storage)) for h in self.core.histograms()}
        return {**in_python, **in_cpp}

    def take_accumulated(self) -> dict[str, dict[str, Total]]:
        """Returns accumulated values of analyzers, by label and name, and clears them."""
        taken = {label: module.take_accumulated() for label, module in self.modules.items()}
        for label, name, kind, value in self.core.accumulated():
            taken.setdefault(label, {})[name] = total_of_core(kind, value)
        self.core.clear_accumulators()
        return taken

    def take_nan_fills(self) -> dict[str, int]:
        """Number of NaN values filled since the last call, by MODULE/NAME of the histogram."""
        found = {
            f"{label}/{name}": booked.fills.take_nan()
            for label, module in self.modules.items()
            for name, booked in module.histograms().items()
        }
        return {name: n for name, n in found.items() if n}

    def clear_histograms(self) -> None:
        """Empties all histograms and all other sums."""
        self.core.clear_histograms()
        self.core.clear_accumulators()
        self.cutflow.clear()
        self.take_nan_fills()
        for module in self.modules.values():
            module.clear()


def processor_settings(config: JobConfig, reads_ahead: bool = False) -> _core.ProcessorSettings:
    """Threads of a child, and their blocks in flight. `reads_ahead`: as in the schedule."""
    threads, monitoring = config.threads, config.monitoring
    n_threads, lanes, units, iovs = threads.in_flight
    return _core.ProcessorSettings(
        executor=threads.executor.value,
        threads=n_threads,
        concurrent_blocks=lanes,
        block_size=threads.block_size,
        concurrent_units=units,
        concurrent_iovs=iovs,
        timing=monitoring.timing or monitoring.trace,
        n_trace_calls=monitoring.trace_calls if monitoring.trace else 0,
        reads_ahead=reads_ahead,
    )


def may_fork(n_children: int) -> bool:
    """Whether helper processes may be forked: false for a program with threads that runs a job
    without children in its own process."""
    return n_children > 0 or len(os.listdir("/proc/self/task")) == 1


def may_read_ahead(config: JobConfig) -> bool:
    """Whether a child with Python modules reads the next block's columns on an extra thread while
    they process this block. By default: if a CPU is free for it, and calls are not traced, which
    needs them in sequence."""
    threads, n_children = config.threads, config.forking.children
    n_threads, n_blocks, *_ = threads.in_flight
    if threads.executor is Executor.SERIAL or not n_children or n_threads * n_blocks > 1:
        return False
    if threads.read_ahead is not None:
        return threads.read_ahead
    return not config.monitoring.trace and usable_cpus() >= 2 * n_children


class Job(Struct, frozen=True):
    """The configuration, the plan of units, and the schedule of modules."""

    config: JobConfig
    plan: Plan
    schedule: JobSchedule
