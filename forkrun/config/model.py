"""A whole configuration, and those of its sections that have no file of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from forkrun.base.destinations import APART, Destination, destinations
from forkrun.config.batch import BatchConfig
from forkrun.config.checks import Rule
from forkrun.config.choices import (
    CheckConditions,
    Distribution,
    Executor,
    OnBadEvent,
    OutputMode,
    with_children,
)
from forkrun.config.conditions import ConditionConfig, PrefetchConfig
from forkrun.config.datasets import CrossSection, DatasetConfig, with_datasets
from forkrun.config.modules import MOST_IN_FLIGHT, ModuleConfig
from forkrun.config.outputs import MergeConfig, OutputConfig
from forkrun.config.section import (
    Count,
    Duration,
    Flag,
    Label,
    Number,
    Positive,
    Section,
    Size,
    Texts,
    at_most,
)
from forkrun.config.source import SourceConfig

# Upper bounds, each some times what the largest machine or the longest job needs: what is beyond
# them is a slip of the pen that would cost minutes, or all memory, before it is noticed.
_PROCESSES = at_most(10_000, "each child is a process of this one machine")
_THREADS = at_most(4096, "each is a thread of one process, with blocks and a stack of its own")
_BLOCK = at_most(1_000_000_000, "the columns of a block lie in memory as a whole")
_CALLS = at_most(100_000_000, "each child keeps them in its memory")
_INTERVAL = at_most(86_400, "a day; without samples the report knows nothing of memory")

InFlight = Annotated[Count, MOST_IN_FLIGHT]
Seed = Annotated[int, Rule(is_strict=True, ge=0, lt=2**64)]


class JobSection(Section):
    """[job]"""

    name: Label = "job"
    """Names the default run directory, NAME-run."""
    luminosity: CrossSection | None = None
    """Integrated luminosity in 1/fb: makes the column `lumi_weight` (docs/datasets.md#weights)."""
    seed: Seed = 0
    """Seed of random numbers (docs/modules.md#random-numbers)."""
    plugins: Texts = ()
    """Libraries of C++ modules, loaded in the parent; a bare name (`"forkrun_modules"`) is one that
    comes with forkrun."""


class ForkingConfig(Section):
    """[forking]: the children."""

    children: Annotated[Count, _PROCESSES] = 1
    """Child processes. `"auto"`, the default: CPUs that the job may use, divided by
    `threads.per_child`; `"contiguous"` and `"round-robin"` need a number. `0`: the job runs in the
    parent itself."""
    distribution: Distribution = Distribution.GUIDED
    """`"guided"`: units to any idle child; `"lumi"`: whole lumis, balanced by events;
    `"contiguous"`: one range of the input per child; `"round-robin"`: turns of consecutive events
    (docs/distribution.md). Merged files do not depend on it, except the order of accumulated lists
    with `"round-robin"`."""
    min_unit_events: Positive | None = None
    """For `"guided"`: fewest events of a unit where a lumi is cut; not given: 1."""
    max_unit_events: Positive | None = None
    """For `"guided"`: larger lumis are cut."""
    events_per_turn: Positive = 100
    """For `"round-robin"`: consecutive events that a child takes per turn."""
    recycle_events: Count = 0
    """Number of events after which a child ends and is forked again; `0`: never."""
    recycle_memory: Size | None = None
    """Private memory (`"2 GB"`) at which a child ends and is forked again."""
    cpu_affinity: Flag = False
    """Bind each child to CPUs of its own: `threads.per_child`, one more if it reads ahead."""


class RecoveryConfig(Section):
    """[recovery]: children that die or hang."""

    on_bad_event: OnBadEvent = OnBadEvent.STOP
    """Reaction to an event that crashes the child: end the job, or `"skip"` the event
    (docs/recovery.md)."""
    on_bad_file: OnBadEvent = OnBadEvent.STOP
    """Reaction to an input file that cannot be opened or read: end the job, or `"skip"` its events
    (docs/recovery.md#files-that-cannot-be-read), with exit code 8. Running the same command again
    processes them."""
    max_bad_events: Count = 100
    """Largest number of skipped events; with more, the job ends."""
    hang_timeout: Duration = 1800.0
    """A child that ends no block for so long (`"30m"`) hangs; `0`: never. Before its first event it
    has at least half an hour."""
    grace: Duration = 10.0
    """Time that a child has to end before it is killed."""

    @property
    def leaves_files_out(self) -> bool:
        """Whether files that cannot be read are left out."""
        return self.on_bad_file is OnBadEvent.SKIP


class LimitsConfig(Section):
    """[limits] of the whole job; those of a batch system and of a cgroup hold as well."""

    walltime: Duration | None = None
    """The job ends in time to merge and close: `"8h"`, `"1h30m"`, `"07:45:00"` or seconds
    (`--max-walltime`). The end of a Slurm allocation counts as well."""
    memory: Size | None = None
    """Memory of parent and children together: `"16 GB"`, `"500 MiB"` or bytes (`--max-memory`). The
    limit of the cgroup counts as well."""


class MemoryConfig(Section):
    """[memory]: what the parent does before the fork, so that children keep sharing its memory."""

    immortal: Flag = True
    """Remove the reference counts from all objects of the parent (Python 3.12 or newer)."""
    freeze: Flag = True
    """Keep the garbage collector from the parent's objects."""
    fill_holes: Flag = True
    """Keep children from making objects in the holes between the parent's."""
    warm_up: Flag = True
    """Run a small warm-up job in the parent, which loads the libraries and fills the caches that
    every child would load and fill; jobs with few children and few events do without it."""
    huge_pages: Flag | None = None
    """Huge pages for Python's objects, and other pages joined to huge ones. Not given: pages are
    joined with 16 children or more and 256 MB or more; `false`: neither; `true`: children have
    them, too."""
    check_conditions: CheckConditions = CheckConditions.CHILD
    """When conditions are compared with those that the parent loaded: `"child"`: after a child's
    first unit and at its end; `"unit"`: after every unit; `"call"`: after every call of a Python
    module, which is named; `"never"`."""


class ThreadsConfig(Section):
    """[threads]: inside each child."""

    per_child: Annotated[Positive, _THREADS] = 1
    """Threads of each child."""
    concurrent_blocks: InFlight = 0
    """Event blocks in flight; `0`: one per thread."""
    concurrent_lumis: InFlight = 0
    """Units in flight: the tail of one overlaps the head of the next; `0`: as many as blocks; `1`:
    no overlap."""
    concurrent_iovs: InFlight = 0
    """IOVs in flight; `0`: no limit; `1`: a unit of the next IOV waits until all units of this one
    are committed."""
    executor: Executor = Executor.TBB
    """`"tbb"`: oneTBB; `"serial"`: one thread, no tasks; `"dispatch"`: libdispatch, where forkrun
    was built with it (docs/libraries.md#onetbb-and-libdispatch)."""
    read_ahead: Flag | None = None
    """For children of one thread with Python modules: a second thread reads the columns of the next
    block. Not given: where the job may use at least twice as many CPUs as children, and keeps no
    trace. `true` also pays for remote files."""
    block_size: Annotated[Count, _BLOCK] = 0
    """Events per block; `0`: by the cost of calls of Python modules (docs/modules.md#blocks);
    without Python modules 8,192, with several threads whole clusters of up to 65,536."""

    @property
    def in_flight(self) -> tuple[int, int, int, int]:
        """Threads of a child, and blocks, units and IOVs that it has in flight at the same time."""
        if self.executor is Executor.SERIAL:
            return 1, 1, 1, 1
        blocks = self.concurrent_blocks or self.per_child
        units = self.concurrent_lumis or blocks
        return self.per_child, blocks, units, self.concurrent_iovs or units

    @property
    def n_filling(self) -> int:
        """Threads of a child that may fill a histogram at the same time."""
        n_threads, n_blocks, *_ = self.in_flight
        return min(n_threads, n_blocks)


class MonitoringConfig(Section):
    """[monitoring]"""

    timing: Flag = True
    """Count and time the calls of every module (docs/monitoring.md#times-of-modules):
    `RUNDIR/timing.json`."""
    cutflow: Flag | None = None
    """Count the events that each filter of a path leaves (docs/modules.md#cutflow); not given:
    where a filter is in Python."""
    cutflow_weight: str = ""
    """Column of weights whose sums the cutflow has as well, such as `"genWeight"`."""
    trace: Flag = False
    """Keep calls one by one: `RUNDIR/trace.json` (`--trace`), for ui.perfetto.dev."""
    trace_calls: Annotated[Positive, _CALLS] = 200_000
    """Largest number of calls that each child keeps, the first ones."""
    sampling_interval_s: Annotated[Number, Rule(ge=0.01), _INTERVAL] = 0.1
    """Shortest time between two complete samples of memory, in seconds."""
    sampling_cost: Annotated[Number, Rule(gt=0, le=1)] = 0.006
    """Largest share of one CPU that sampling takes, without the first readings of each process."""
    exact_pss: Flag = False
    """Sample all processes at once and read their PSS, however long it takes."""
    memory_detail: Flag = False
    """Find out the kinds of memory, and which becomes private in children, and why
    (`--memory-detail`; docs/memory.md)."""


class JobConfig(Section):
    """A whole configuration."""

    job: JobSection = JobSection()
    source: SourceConfig = SourceConfig()
    forking: ForkingConfig = ForkingConfig()
    recovery: RecoveryConfig = RecoveryConfig()
    limits: LimitsConfig = LimitsConfig()
    memory: MemoryConfig = MemoryConfig()
    threads: ThreadsConfig = ThreadsConfig()
    datasets: tuple[DatasetConfig, ...] = ()
    conditions: tuple[ConditionConfig, ...] = ()
    prefetch: PrefetchConfig = PrefetchConfig()
    modules: tuple[ModuleConfig, ...] = ()
    paths: dict[Label, Texts] = {}
    outputs: tuple[OutputConfig, ...] = ()
    merge: MergeConfig = MergeConfig()
    monitoring: MonitoringConfig = MonitoringConfig()
    batch: BatchConfig = BatchConfig()

    @property
    def notes(self) -> tuple[str, ...]:
        """Says which columns are left as they are in data."""
        chosen = self.source.datasets
        data = [d.name for d in self.datasets if d.is_data and (not chosen or d.name in chosen)]
        names = dict.fromkeys(n for m in self.modules if not m.on_data for n in m.replaces)
        if not data or not names:
            return ()
        return (
            f"{', '.join(names)}: replaced and varied in simulation alone; data ({', '.join(data)})"
            " are left as they are (on_data=True in job.vary and job.redefine: data as well)",
        )

    @property
    def run_directory(self) -> Path:
        """The one that a job has if none is named: NAME-run in the current directory."""
        return Path(f"{self.job.name}-run")

    @property
    def output_of(self) -> dict[str, OutputConfig]:
        """By label."""
        return {output.label: output for output in self.outputs}

    @property
    def carrying(self) -> list[str]:
        """Labels of outputs that get the other trees and objects of the input."""
        is_one, carry = len(self.source.datasets or self.datasets) < 2, self.merge.carry
        return [
            output.label
            for output in self.outputs
            if output.mode is OutputMode.FULL and not output.per_lumi
            if (carry if carry is not None else is_one or output.datasets == APART)
        ]

    @property
    def destinations(self) -> list[Destination]:
        """Where events of the outputs go."""
        labels = {output.label: output.datasets for output in self.outputs}
        return destinations(labels, [d.name for d in self.datasets], self.source.datasets)

    @classmethod
    def completed(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Chooses the children, and what follows from datasets."""
        return with_children(with_datasets(given))
