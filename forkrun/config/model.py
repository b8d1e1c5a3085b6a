"""The sections of a configuration, with their defaults."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from forkrun.base.destinations import APART, Destination, TreeNames, destinations
from forkrun.config.auto_children import with_children
from forkrun.config.batch import BatchConfig
from forkrun.config.branches import BranchesRule
from forkrun.config.conditions import ConditionConfig, PrefetchConfig
from forkrun.config.datasets import CrossSection, DatasetConfig, with_datasets
from forkrun.config.friends import FriendConfig
from forkrun.config.modules import MOST_IN_FLIGHT, ModuleConfig
from forkrun.config.runs import Runs
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
    one_or_many,
)


class Distribution(StrEnum):
    """How events are shared among children."""

    GUIDED = "guided"
    LUMI = "lumi"
    ROUND_ROBIN = "round-robin"
    CONTIGUOUS = "contiguous"


class Executor(StrEnum):
    """What runs the tasks of a child."""

    SERIAL = "serial"
    TBB = "tbb"
    DISPATCH = "dispatch"
    THREAD = "thread"


class OnBadEvent(StrEnum):
    """What is done about an event that crashes the child."""

    STOP = "stop"
    SKIP = "skip"


class Duplicates(StrEnum):
    """What becomes of input that is there twice."""

    WARN = "warn"
    ERROR = "error"
    KEEP = "keep"
    DROP = "drop"


class EventOrder(StrEnum):
    """Order of events in the plan and in outputs."""

    AUTO = "auto"
    INPUT = "input"
    LUMI = "lumi"
    SORTED = "sorted"


class OutputMode(StrEnum):
    """What an output holds of its events."""

    FULL = "full"
    FRIEND = "friend"


class CheckConditions(StrEnum):
    """How often children compare conditions with what the parent loaded."""

    NEVER = "never"
    CHILD = "child"
    UNIT = "unit"
    CALL = "call"


# Upper bounds, each some times what the largest machine or the longest job needs: what is beyond
# them is a slip of the pen that would cost minutes, or all memory, before it is noticed.
_PROCESSES = at_most(10_000, "each child is a process of this one machine")
_THREADS = at_most(4096, "each is a thread of one process, with blocks and a stack of its own")
_BLOCK = at_most(1_000_000_000, "the columns of a block lie in memory as a whole")
_CALLS = at_most(100_000_000, "each child keeps them in its memory")
_INTERVAL = at_most(86_400, "a day; without samples the report knows nothing of memory")

InFlight = Annotated[Count, MOST_IN_FLIGHT]
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**64)]
CollectionPattern = Annotated[str, Field(pattern=r"^[^{}]*\{collection\}[^{}]+\{field\}[^{}]*$")]
Compression = Annotated[
    Annotated[str, Field(pattern=r"^(none|(zstd|lz4|zlib|lzma):[1-9])$")] | None,
    BeforeValidator(lambda given: None if given == "auto" else given),
]


class JobSection(Section):
    """[job]"""

    name: Label = "job"
    luminosity: CrossSection | None = None
    """In 1/fb: makes the column lumi_weight, luminosity times cross section over sum of weights."""
    seed: Seed = 0
    """Seed of the modules' random numbers."""
    plugins: Texts = ()
    """Libraries of C++ modules, loaded in the parent; a bare name: one that comes with forkrun."""


class IdBranches(NamedTuple):
    """Names of the tree and of its branches of event ids."""

    tree: str
    run_branch: str
    lumi_branch: str
    event_branch: str


class SourceConfig(Section):
    """[source]: which events to read."""

    files: Texts = ()
    """Paths, globs and URLs (root://…), in input order; URLs of one file are a list in the list, or
    have | between them: the next is read where one fails."""
    list: str | None = None
    """A file with one path, glob or URL per line; # starts a comment."""
    prefixes: Texts = ()
    """Beginnings of URLs, the best first: files are names below each of them, /store/…/f.root."""
    tree: str = "Events"
    """Its key; "Events;2": an older cycle than the newest; a pattern, "DF_*/O2track": all such
    trees of a file, one after the other."""
    tree_in_outputs: str = ""
    """Name of the tree in outputs; "": as in the input; of a pattern what is behind its last slash,
    or "Events" if that is one, too."""
    run_branch: str = "run"
    lumi_branch: str = "luminosityBlock"
    """"" (with run_branch = "" and event_branch = ""): each file is one lumi of run 1."""
    event_branch: str = "event"
    events_per_lumi: Positive | None = None
    """Events of a lumi, by their numbers, in files of LCIO, which have no lumis; not given: each
    run is one."""
    friends: tuple[FriendConfig, ...] = ()
    """Trees with an entry for each of this tree's, whose branches are columns, too:
    [{ tree = "corrections", files = ["corrections.root"], prefix = "" }]."""
    trees_with_events: Annotated[Texts, BeforeValidator(one_or_many)] = ()
    """Names and patterns of trees in the same files and folder, with an entry for each event: their
    branches are columns TREE.BRANCH, and outputs have them as trees of their own."""
    branches: BranchesRule = "same"
    """Those that only some files have: an error if they are used, left out ("common"), or filled
    where they lack: { fill = { "HLT_*" = false } }."""
    collections: Annotated[tuple[CollectionPattern, ...], BeforeValidator(one_or_many)] = (
        "{collection}.{field}",
        "{collection}_{field}",
    )
    """How columns of objects are named, the first that fits."""
    fields: dict[str, str] = {}
    """Names that modules see instead of those of the input's fields: {"PT" = "pt"}."""
    duplicates: Duplicates = Duplicates.WARN
    """Events whose ids come again: a warning, an error, kept without a word, or left out ("drop":
    the first in input order stays). But with "keep", the same file twice is an error."""
    lumi_mask: str | None = None
    """Golden JSON: {"run": [[first lumi, last lumi], …], …}."""
    runs: Runs | None = None
    """Only these runs: "362001-362100,362200", both ends of a range included; beside a lumi mask,
    what both accept."""
    max_events: Count | None = None
    """Largest number of events, counted after runs, the lumi mask and skip_events."""
    skip_events: Count = 0
    order: EventOrder = EventOrder.AUTO
    """Order of events in blocks and outputs: "input": as in the input; "lumi": each lumi in one
    piece, where its first event is; "sorted": by run and lumi; "auto": "input", unless something
    needs whole lumis."""
    datasets: Texts = ()
    """Names of the [[datasets]] to read; none: all."""
    only: Texts = ()
    """These events alone ("RUN:LUMI:EVENT"), instead of runs, mask, skip_events and max_events."""

    @property
    def ids(self) -> IdBranches:
        """The tree and its branches of event ids."""
        lumi = f"event/{self.events_per_lumi}" if self.events_per_lumi else self.lumi_branch
        return IdBranches(self.tree, self.run_branch, lumi, self.event_branch)

    @property
    def tree_names(self) -> TreeNames:
        of_files = tuple(friend.tree for friend in self.friends if not friend.files)
        return TreeNames(self.tree, self.tree_in_outputs, of_files)


class ForkingConfig(Section):
    """[forking]: the children."""

    children: Annotated[Count, _PROCESSES] = 1
    """0: process in the parent's own process. "auto", which a job has where nothing else is said:
    as many as the CPUs that it may use, by threads of a child."""
    distribution: Distribution = Distribution.GUIDED
    min_unit_events: Positive | None = None
    """guided: where a lumi is cut, events per unit at least, roughly."""
    max_unit_events: Positive | None = None
    """guided: larger lumis are cut."""
    events_per_turn: Positive = 100
    """round-robin: consecutive events that a child takes per turn."""
    recycle_events: Count = 0
    """Number of events after which a child ends and is forked again; 0: never."""
    recycle_memory: Size | None = None
    """Private memory ("2 GB") from which on a child ends and is forked again."""
    cpu_affinity: Flag = False
    """Bind each child to CPUs of its own, threads.per_child of them."""


class RecoveryConfig(Section):
    """[recovery]: children that die or hang."""

    on_bad_event: OnBadEvent = OnBadEvent.STOP
    """What is done about an event that crashes the child: end the job, or leave the event out."""
    on_bad_file: OnBadEvent = OnBadEvent.STOP
    """What is done about a file of the input that cannot be opened or read: end the job, or go on
    without its events. What is left out is done when the same command runs again."""
    max_bad_events: Count = 100
    """skip: largest number of bad events; with more, the job ends."""
    hang_timeout: Duration = 1800.0
    """A child without progress for so long ("30m") hangs; 0: none ever does."""
    grace: Duration = 10.0
    """How long a child that is to end has before it is killed."""

    @property
    def leaves_files_out(self) -> bool:
        """Whether the job goes on without files that cannot be read."""
        return self.on_bad_file is OnBadEvent.SKIP


class LimitsConfig(Section):
    """[limits] of the whole job; those of a batch system and of a cgroup hold as well."""

    walltime: Duration | None = None
    """The job ends in time to merge and close ("8h", "07:45:00")."""
    memory: Size | None = None
    """Parent and children together ("16 GB")."""


class MemoryConfig(Section):
    """[memory]: what the parent does before the fork, so that children keep sharing its memory."""

    immortal: Flag = True
    """Take the reference counts from all objects of the parent (Python 3.12 or newer)."""
    freeze: Flag = True
    """Keep the garbage collector from the parent's objects."""
    fill_holes: Flag = True
    """Keep children from making objects in the holes between the parent's."""
    warm_up: Flag = True
    """Load libraries and fill caches in the parent that every child would load and fill, with a
    small job; few children with few events do without that job."""
    huge_pages: Flag | None = None
    """Make Python's objects in huge pages, and join other pages to huge ones; not given: join them
    where there is much memory and many children to share it; false: neither. Children have huge
    pages of their own only if this is true."""
    check_conditions: CheckConditions = CheckConditions.CHILD
    """Compare conditions after a child's first unit and at its end ("child"), after every unit, or
    after every call of a Python module, which names the module."""


class ThreadsConfig(Section):
    """[threads]: inside each child."""

    per_child: Annotated[Positive, _THREADS] = 1
    concurrent_blocks: InFlight = 0
    """Event blocks in flight; 0: one per thread."""
    concurrent_lumis: InFlight = 0
    """Work units (lumis, or parts of them) in flight; 0: one per block."""
    concurrent_iovs: InFlight = 0
    """Intervals of validity to which these may belong; 0: as many as there are."""
    executor: Executor = Executor.TBB
    read_ahead: Flag | None = None
    """With Python modules: a thread more in each child of one thread reads the columns of the next
    block meanwhile; not given: where the job may use twice as many CPUs as it has children."""
    unpack: Literal["lazy", "eager"] = "lazy"
    """Input of LCIO: events are inflated and collections taken apart when a column is asked for, or
    all that is in a block at once."""
    block_size: Annotated[Count, _BLOCK] = 0
    """Events per block; 0: by what calls of Python modules cost; without them, cache-sized."""

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


class OutputConfig(Section):
    """[[outputs]]: selected events, in output/LABEL.root."""

    label: Label
    mode: OutputMode = OutputMode.FULL
    """Whole events, or the ids of events and new columns alone: a friend of the input's tree."""
    paths: Texts = ()
    """Write events that one of these paths accepts; none: every event."""
    per_lumi: Flag = False
    """A file for each lumi, in output/LABEL/, with a list of them."""
    datasets: Literal["apart", "together"] | None = None
    """Where the job has [[datasets]]: a file for each, output/LABEL/DATASET.root, or one for all
    with a column `dataset`, a number whose name its object `datasets` says; not given: apart if
    there are several."""
    keep: Texts = ("*",)
    """Patterns of input branches and of produced columns."""
    drop: Texts = ()
    format: str = ""
    """Format of the file: "ttree", "rntuple", "parquet", or one that an installed package adds; the
    first two are for input in either. "": that of the input."""
    parquet: Flag = False
    """Older form: the same rows in output/LABEL.parquet as well; format = "parquet" writes these
    alone."""
    decisions: Flag = False
    """New columns forkrun_paths_NAME, one for each path of the job: which events it accepts."""
    variations: Literal["all"] | Texts = ()
    """Systematic variations with an output of their own, LABEL_VARIATION, of the events that they
    select and with their columns; "all": those in which something is different."""
    variation: str = ""
    """The variation whose events and columns these are; "": the nominal case."""
    compression: Compression = None
    """Compression of all baskets, as ROOT does it at this level; None, from "auto": input baskets
    that are kept whole stay as they are, others are "zstd:5" with forkrun's own search."""


class MergeConfig(Section):
    """[merge]"""

    enabled: Flag = True
    keep_temporary: Flag = False
    """Keep RUNDIR/units after a verified merge."""
    when_stopped: Flag = False
    """Merge what has been committed also when the job was stopped before its end."""
    carry: Flag | None = None
    """Carry other trees and objects of the input (Runs, MetaData, …) to each output, merged; not
    given: to outputs of one dataset each."""
    verify: Flag = False
    """Unzip also baskets that are kept whole, and check what they hold."""
    keep_first: Flag = False
    """Keep the first file's objects where they cannot be merged and differ between files."""
    histograms_json: Flag = False
    """Write histograms to output/histograms.json as well, by the schema of UHI: for hist, without
    ROOT."""


class MonitoringConfig(Section):
    """[monitoring]"""

    timing: Flag = True
    """Count and time the calls of every module: RUNDIR/timing.json."""
    cutflow: Flag | None = None
    """Count the events that each filter of a path leaves; None: where a filter is in Python."""
    cutflow_weight: str = ""
    """The column of weights whose sums the cutflow has as well, such as "genWeight"."""
    trace: Flag = False
    """Keep calls one by one: RUNDIR/trace.json, for ui.perfetto.dev."""
    trace_calls: Annotated[Positive, _CALLS] = 200_000
    """Calls that each child keeps at most."""
    sampling_interval_s: Annotated[Number, Field(ge=0.01), _INTERVAL] = 0.1
    """Between looks at the memory of all processes, at least."""
    sampling_cost: Annotated[Number, Field(gt=0, le=1)] = 0.006
    """CPU time that sampling may take, as a fraction of one CPU."""
    exact_pss: Flag = False
    """Sample all processes at once, and read PSS whatever time that takes: for measurements."""
    unshared: Flag = False
    """Find out which memory becomes private, and why: forkrun measure unshared RUNDIR."""


_DEFAULTS: Any = Field(default={}, validate_default=True)
"""A section that is not given. An object of it would need a validator of its own: eleven more to be
built by each command."""


class JobConfig(Section):
    """A whole configuration."""

    job: JobSection = _DEFAULTS
    source: SourceConfig = _DEFAULTS
    forking: ForkingConfig = _DEFAULTS
    recovery: RecoveryConfig = _DEFAULTS
    limits: LimitsConfig = _DEFAULTS
    memory: MemoryConfig = _DEFAULTS
    threads: ThreadsConfig = _DEFAULTS
    datasets: tuple[DatasetConfig, ...] = ()
    conditions: tuple[ConditionConfig, ...] = ()
    prefetch: PrefetchConfig = _DEFAULTS
    modules: tuple[ModuleConfig, ...] = ()
    paths: dict[Label, Texts] = {}
    outputs: tuple[OutputConfig, ...] = ()
    merge: MergeConfig = _DEFAULTS
    monitoring: MonitoringConfig = _DEFAULTS
    batch: BatchConfig = _DEFAULTS

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
        """Labels of outputs that get what the input has beside its events."""
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

    @model_validator(mode="before")
    @classmethod
    def _choose_children(cls, raw: Any) -> Any:
        return with_children(with_datasets(raw)) if isinstance(raw, dict) else raw
