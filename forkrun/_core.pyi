"""Types of the C++ extension. Paths are str; entry ranges are half-open; sizes are in bytes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

Counts: TypeAlias = int | npt.NDArray[np.int64]

# --- errors ---------------------------------------------------------------------------------------
class Stopped(Exception): ...  # noqa: N818 - nothing is wrong; all other errors are forkrun.errors

# --- ids and digests ------------------------------------------------------------------------------
class EventDigest:
    """Count and order-independent digest of a set of event ids; `a + b` is that of the union."""

    count: int
    hex: str
    def __init__(self, count: int = 0, hex: str = "0" * 32) -> None: ...
    def add(self, run: int, lumi: int, events: npt.NDArray[np.uint64]) -> None: ...
    def __add__(self, other: EventDigest) -> EventDigest: ...
    def __sub__(self, other: EventDigest) -> EventDigest: ...
    def __eq__(self, other: object) -> bool: ...

class KeyIndex:
    """Finds entries by keys: `n_keys` integers that name an event together. `keys`: a column for
    each, (n,), all as long. Both functions release the GIL."""

    def __init__(self, n_keys: int) -> None: ...
    def add(self, keys: Sequence[npt.NDArray[np.uint64]]) -> None:
        """Adds entries behind those that it has. Raises RuntimeError beyond 2^32 - 2."""

    def __len__(self) -> int: ...
    def partners(
        self, keys: Sequence[npt.NDArray[np.uint64]], takes_first: bool = False
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Which of its entries have these keys, as stretches: place of the first of each; the
        entry, each further one having the next, or -1 (none) or -2 (several, unless it
        `takes_first`); and whether all have this same one."""

def is_plain_tree(path: str, tree: str) -> bool:
    """Whether the columns of this tree can be read without ROOT's interpreter: the tree is in a
    local file and of a form that is known here. Opens nothing else. Raises InputError if the file
    cannot be opened."""

def has_plain_trees_alone(path: str) -> bool:
    """Whether outputs of this file can be made without ROOT's interpreter: it is a local file with
    nothing but trees of numbers. Raises InputError if it cannot be opened."""

# --- reading the input's shape (call in a helper process, never in the parent) --------------------
def branch_accounts(path: str, tree: str) -> list[tuple[str, int, int, int]]:
    """Name, bytes unpacked, bytes in the file and ROOT's number of the compression of each branch,
    with those within it. Raises InputError."""

def index_tree(
    path: str, tree: str, run_branch: str, lumi_branch: str, event_branch: str, file_number: int = 0
) -> dict[str, Any]:
    """Index of one file, of what msgpack can hold:

    `{"uuid": str, "n_bytes": int, "modified_ns": int,      # 0 for a remote file
      "n_entries": int,
      "clusters": [first entry of each cluster, …, n_entries],  # of a tree without branches: []
      "ranges": {"run": …, "lumi": …, "last": …, "digest": …},  # maximal runs of entries of one
                      # lumi, bytes of columns: uint32, uint32, int64, four uint32 from the highest
      "events": [least, most], "rises": bool,   # numbers of events; whether they rise in each lumi
      "absent": str,                            # why there is no such tree, and so nothing else
      "branches": [[name, type, counter], …],
      "forms": [[name of a split branch, digest of what is within it], …],
      "short_branches": names of those with fewer entries than the tree,
      "beside": [digest of forms, digest of contents, [what cannot be carried, …],
      whether objects may refer to others]}`
    where type is a column type such as "float32" or "float32[]", or "other:<TypeName>" for a branch
    that can only be passed through; counter is the counting branch or "".
    With run_branch, lumi_branch or event_branch "" the ids are run 1, lumi file_number + 1, event
    entry number. Raises InputError: missing or truncated file; no such tree (names those there
    are); no such branch (names the nearest one).
    """

class UnitSizes:
    """How many events units should have. `last`: events that may be left while the last ones are
    processed; `n_units_left`: units of the present size in what is left; `slack`: largest size over
    the wanted one; `least`: of a lumi that is cut; `limit`: events that none exceeds."""

    def __init__(
        self, *, last: float, n_units_left: float, slack: float, least: int, limit: int
    ) -> None: ...

def cut_lumis(
    n_ranges: npt.NDArray[np.int64],
    n_left: npt.NDArray[np.int64],
    file: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    last: npt.NDArray[np.int64],
    clusters: Sequence[Sequence[int]],
    sizes: UnitSizes,
) -> npt.NDArray[np.int64]:
    """(n, 4): range, part of its lumi, first and last entry of what lumis are cut into, at clusters
    where they begin near enough. `n_ranges`, `n_left` : (n_lumis,) ranges of each, and events of
    the job from it on; `file`, `first`, `last` : (n_ranges,) of them, lumi after lumi; `clusters`:
    for each file, the first entry of each, then the number of entries. Raises ValueError if columns
    do not fit each other."""

def number_keys(
    keys: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Different keys of (n,), numbered in the order in which they first appear: the first place of
    each number, and (n,) the number of each place. As `np.unique`, without sorting."""

def json_list(numbers: npt.NDArray[np.int64]) -> bytes:
    """(n,) numbers as JSON has them, "[1, 2, 3]": faster than from a list of Python's."""

class OpenTree:
    """A tree or RNTuple of a file that stays open."""

    def __init__(self, path: str, tree: str) -> None: ...
    def read(
        self, names: Sequence[str], first: int = 0, last: int = -1
    ) -> dict[str, npt.NDArray[Any] | tuple[npt.NDArray[np.int64], npt.NDArray[Any]]]:
        """As `read_columns`."""

def read_columns(
    path: str, tree: str, names: Sequence[str], first: int = 0, last: int = -1
) -> dict[str, npt.NDArray[Any] | tuple[npt.NDArray[np.int64], npt.NDArray[Any]]]:
    """Columns of a tree: values, (n, 4) of arrays of fixed size; (offsets, values) of lists and of
    texts, whose values are "S1"; (offsets, offsets, values) of lists of lists."""

def byte_costs() -> dict[Literal["read", "unzip"], tuple[int, int, float]]:
    """Number, bytes and seconds of the reads of this thread since it began, and of what it
    unpacked: baskets, pages, and the bytes that they became."""

def list_remote(url: str) -> list[tuple[str, bool, int, int]]:
    """Names in a folder of a server, whether each is a folder, its bytes, -1: not known, and when
    it changed last in ns. Raises InputError."""

def stat_remote(urls: Sequence[str]) -> list[tuple[int, int]]:
    """Bytes of each remote file, and when it changed last in ns; -1 bytes where its server does not
    tell."""

def read_origins(path: str) -> dict[str, list[tuple[int, int, int, int]]] | None:
    """Where the rows of a file's carried trees came from: by path of a tree, in the order of its
    rows, the halves of a file's UUID, its bytes, and the number of rows; None if the file has no
    such record."""

# --- conditions as C++ modules see them -----------------------------------------------------------
class Conditions:
    """Filled before modules are constructed."""

    def __init__(self, n_iovs: int) -> None: ...
    def add_label(self, label: str, payload_of: Sequence[int]) -> None:
        """`payload_of`: (n_iovs,) number of the payload that holds."""
    def add_payload(
        self,
        label: str,
        number: int,
        arrays: Mapping[str, npt.NDArray[Any]],
        attributes: Mapping[str, str],
        file: str,
    ) -> None:
        """Arrays are looked at where they are, and held; those of other types than columns have are
        left out."""
    def set_load(self, load: Callable[[str, int], None]) -> None:
        """`load(label, number)` adds a payload that is not there."""
    def prepare(self, iov: int) -> None:
        """Call it before blocks of an IOV are processed: what is not there is loaded."""
    def drop(self, label: str, number: int) -> None: ...

# --- describing a job -----------------------------------------------------------------------------
class ScheduleBuilder:
    def __init__(
        self,
        source_columns: Sequence[tuple[str, str]],
        seed: int = 0,
        conditions: Conditions | None = None,
    ) -> None:
        """Name and type ("float32[]") of each column the input offers; `seed` of random numbers."""
    def reserve_module(self, label: str) -> None:
        """Keeps a place for a module that is added later."""
    def add_cpp_module(
        self,
        label: str,
        class_name: str,
        params: Mapping[str, Any],
        concurrency: Literal["", "reentrant", "one", "unsafe", "limited"] = "",
        limit: int = 1,
        instances: Literal["", "shared", "per_block"] = "",
        resources: Sequence[str] = (),
        sees: Mapping[str, str] = ...,
        makes: Mapping[str, str] = ...,
    ) -> None:
        """An empty text: as the module itself has it. `sees`, `makes`: products that the module
        means by these names, where they are others: versions of a column."""
    def add_python_module(
        self,
        label: str,
        kind: Literal["producer", "filter", "analyzer"],
        module: object,
        consumes: Sequence[str],
        produces: Mapping[str, str],
        random_name: str = "",
        one_lumi: bool = False,
        sees: Mapping[str, str] = ...,
        makes: Mapping[str, str] = ...,
    ) -> None:
        """`module` is called with a `Block`, with `one_lumi` with a part of it for each lumi:
        `produce(block) -> Mapping[str, array]`, `filter(block) -> mask`,
        `analyze(block) -> None`; it may also have any of the callbacks
        pre_fork(), post_fork(child), begin_job(), end_job(), begin_run(run), end_run(run),
        begin_lumi(run, lumi), end_lumi(run, lumi). Its random numbers are those of `random_name`,
        or of its label."""
    def add_path(self, name: str, labels: Sequence[str]) -> None: ...
    def add_output(
        self,
        label: str,
        paths: Sequence[str],
        branches: Sequence[str],
        products: Sequence[str],
        has_decisions: bool = ...,
    ) -> None:
        """`branches`: input branches to keep; `products`: columns to write anew; `has_decisions`:
        of paths, behind these. Its units' files are fragments, for `make_outputs`."""
    def add_path_decision(self, label: str, path: str) -> None:
        """Adds an analyzer for the end of a path. Outputs with `has_decisions` are added later."""
    def add_dataset_column(self, name: str, of_file: Sequence[int]) -> None:
        """Adds a producer of a column, int32, with what each event's file has in `of_file`."""
    def produced_columns(self) -> list[tuple[str, str]]: ...
    def columns_by_module(self) -> dict[str, list[str]]: ...
    def products_by_module(self) -> dict[str, tuple[str, list[str], list[str]]]:
        """Of each module its kind, names of the products that it consumes, and that it makes."""
    def consumed_source_columns(self) -> list[str]: ...
    def compile(self) -> Schedule:
        """Raises ScheduleError with every problem. The builder is empty afterwards."""

class Schedule:
    """A checked job: modules, paths, outputs. Made in the parent, used in the children."""

    wants_whole_lumis: bool  # a module is called with events of one lumi

    def wants_one_lumi(self, n_blocks: int) -> bool:
        """Whether blocks have to be of one lumi, where so many are in flight, as such a module
        cannot be called with parts of a block."""
    def pre_fork(self) -> None: ...
    def post_fork(self, child: int) -> None: ...
    def begin_job(self) -> None: ...
    def end_job(self) -> None: ...
    def node_labels(self) -> list[str]:
        """Labels of modules and names of input columns, as they are numbered in the schedule."""
    def histograms(self) -> list[Histogram]:
        """Histograms of the C++ modules, in booking order; a snapshot."""
    def clear_histograms(self) -> None: ...
    def accumulated(self) -> list[tuple[str, str, Literal["number", "table", "list"], Any]]:
        """(module, name, kind, value) of what analyzers in C++ have accumulated. Of a number
        (whole, parts, is_float): whole numbers, and floats that add up to the others exactly."""
    def clear_accumulators(self) -> None: ...
    def share_histograms(self, n_threads: int) -> None:
        """Chooses where those of analyzers that see several blocks at once have their sums."""

class Histogram:
    """A histogram of a C++ module; of one that grows, what one thread has filled. `storage`: which
    sums it keeps. `memory`: where they are while several threads fill it. `n_bytes`: of one table
    of them. The first axis runs fastest."""

    module: str
    name: str
    title: str
    storage: str
    memory: str
    n_bytes: int
    sparse: bool
    # kind, title, bins, underflow, overflow, grows, n_declared: see HistogramAxis
    axes: list[tuple[str, str, tuple[Any, ...], bool, bool, bool, int]]
    sums: ExactSums

class ExactSums:
    """Sums of doubles without rounding, n_sums for each of n_cells. They depend neither on the
    order nor on the grouping of what was added. Memory is taken when something is added."""

    def __init__(self, n_sums: int, n_cells: int) -> None: ...
    @property
    def n_sums(self) -> int: ...
    @property
    def n_cells(self) -> int: ...
    @property
    def n_words(self) -> int:
        """Words of 64 bits per sum."""
    @property
    def n_not_finite(self) -> int:
        """Values added that were infinite or NaN."""
    @property
    def empty(self) -> bool: ...
    def add(self, cells: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """`cells`: (n,); `values`: (n_sums, n)"""
    def merge(self, other: ExactSums) -> None: ...
    def clear(self) -> None: ...
    def clear_cells(self, cells: npt.ArrayLike) -> None: ...
    def move_cells(self, places: npt.ArrayLike, n_cells: int) -> None:
        """Moves each cell to its place, (n_cells,), in another table; no two to the same."""
    def copy(self) -> ExactSums: ...
    def rounded(self) -> npt.NDArray[np.float64]:
        """(n_sums, n_cells), as math.fsum rounds."""
    def packed(self) -> npt.NDArray[np.uint64]:
        """The same for the same sums; cells with content only."""
    @staticmethod
    def unpacked(packed: npt.NDArray[np.uint64], n_sums: int, n_cells: int) -> ExactSums:
        """Inverse of `packed`; takes memory for what is given, whatever it says. Raises ValueError
        if it is no result of it."""

class FillAxes:
    """Axes of a histogram: what does not change from fill to fill."""

    def __init__(self, axes: Sequence[tuple[Any, ...]]) -> None:
        """`axes`: number of bins, whether there are underflow and overflow; of those that are
        filled with coordinates also low and width of all bins, or (n_bins + 1,) edges. Raises
        ValueError if these are not as many."""

class CellTable:
    """What a histogram was filled with, exactly: entries without weight or sample are counted,
    others are sums. `storage`: that of HistogramSums. The first axis runs fastest."""

    def __init__(self, storage: str, n_cells: int) -> None: ...
    @staticmethod
    def of_sums(storage: str, sums: ExactSums) -> CellTable: ...
    @property
    def n_cells(self) -> int: ...
    @property
    def empty(self) -> bool:
        """Nothing was filled."""
    def fill(
        self,
        axes: FillAxes,
        columns: Sequence[npt.NDArray[Any]],
        weights: npt.NDArray[np.float64] | None = None,
        samples: npt.NDArray[np.float64] | None = None,
    ) -> int:
        """Adds w, w², w y, w y², whichever the storage has, of each entry. Entries in flow bins
        that an axis does not have are left out. Columns: coordinates, or bins from -1 to n_bins;
        all are (n,), or (1,) for all entries. Gives how many coordinates are NaN. Raises ValueError
        if lengths differ. Releases the GIL."""
    def fill_columns(
        self,
        axes: FillAxes,
        columns: tuple[object, ...],
        weights: object,
        samples: object = None,
    ) -> int | None:
        """The same for coordinates on each axis, and one of weights and one of samples, or None.
        None, and nothing is filled, unless all are (n,) of float64 or float32, contiguous, and
        there are samples for a storage of means and none for others."""
    def total(self) -> ExactSums: ...

class Block:
    """What a Python module sees of an event block. Arrays are read-only views of the core's memory
    and stay valid as long as they are held."""

    run: int  # Error if the block has events of several lumis
    lumi: int
    n_lumis: int
    iov: int
    file: int  # the number of the input file
    place: tuple[int, int, int]  # lane of the concurrent block; file and entry of its first event
    n_events: int
    events: npt.NDArray[np.uint64]  # (n_events,) event numbers
    mask: npt.NDArray[np.bool_]  # (n_events,) events left by the filters before the module
    has_all: bool  # the module is called with all events
    def lumi_spans(self) -> npt.NDArray[np.int64]:
        """(n_lumis, 4) run, lumi, first, last: events [first, last) of the block are of it."""
    def random(self) -> BlockRandom:
        """Random numbers of the module for these events, from their beginning; a copy."""
    def column(
        self, name: str
    ) -> npt.NDArray[Any] | tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """A declared column: values, or (offsets, values) when jagged. KeyError names the
        declared columns."""
    def column_left(
        self, name: str
    ) -> npt.NDArray[Any] | tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """The same of the events in `mask`."""

class BlockRandom:
    """A stream of random words for each of some events. Each call draws `counts` values per event,
    a number or the offsets of a jagged column, (n_events + 1,), and gives them flat: (n_values,).
    Parameters: (1,) or (n_values,). Releases the GIL. Raises ValueError for parameters that mean
    nothing."""

    n_events: int
    def __init__(
        self, seed: int, name: str, run: int, lumi: int, events: npt.NDArray[np.uint64]
    ) -> None: ...
    def uniform(
        self, counts: Counts, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]: ...
    def normal(
        self, counts: Counts, location: npt.NDArray[np.float64], scale: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]: ...
    def exponential(
        self, counts: Counts, scale: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]: ...
    def integers(
        self, counts: Counts, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]: ...
    def poisson(self, counts: Counts, mean: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]: ...
    def words(self, counts: Counts) -> npt.NDArray[np.uint64]: ...
    def words_of(self, event: int, n: int) -> npt.NDArray[np.uint64]:
        """The next n words of one event, which is numbered in the block. Raises IndexError."""

# --- running --------------------------------------------------------------------------------------
class Source:
    """Where events come from."""

    def expect(self, ranges: npt.NDArray[np.int64]) -> None:
        """Entries that this process will most likely read before others. `ranges` : (n_ranges, 3)
        file, first and last of each, in input order."""

class TreeSource(Source):
    def __init__(
        self,
        files: Sequence[str],
        tree: str,
        run_branch: str,
        lumi_branch: str,
        event_branch: str,
        columns: Sequence[tuple[str, str]],
        clusters: Sequence[Sequence[int]],
        identities: Sequence[tuple[str, int, int]] = ...,
        fills: Mapping[str, tuple[float, str]] = ...,
        friends: Sequence[tuple[Sequence[str], Sequence[tuple[Any, ...]], int]] = ...,
        friend_columns: Mapping[str, tuple[int, str, float]] = ...,
        n_kept_bytes: int = 0,
        trees: Sequence[str] = ...,
        expected: Sequence[str] = ...,
    ) -> None:
        """`columns` as given to ScheduleBuilder; `clusters` and `identities` (UUID, bytes,
        modified_ns) per file as in the index; without these, files may change. `fills`: by column
        that files may lack, its value and the branch that counts its values. `friends`:
        branches of event ids, for each file where its entries are, and memory for baskets that
        stay unpacked. Of a file: the friend's files (path, tree, identity), and as columns of
        stretches the first entry, the number of the friend's file (less than 0: no partner), the
        first entry there, whether all have this one; `trees`: per file, if not all have `tree`;
        `friend_columns`: by column, number of the friend, name of the branch, and value of entries
        without a partner; `n_kept_bytes`: as that of friends. Opens nothing."""

class OpenLcio:
    """A file of LCIO that stays open. Raises InputError."""

    n_bytes: int
    def __init__(self, path: str) -> None: ...
    def runs(self) -> list[tuple[int, int, int]]:
        """Number, first byte and end of each run header."""

    def check(self, entries: Sequence[int], n_threads: int = 1) -> None:
        """Unpacks the records of these events, and goes through their blocks. Raises InputError
        if one is damaged."""

    def index(self, events_per_lumi: int = 0) -> dict[str, Any]:
        """`branches`: name and type of each column; `clusters`: first event of each, then the
        number of events; `identity`: two numbers of 64 bits that tell the file from others;
        `status`: bytes of the file, and when it was written [ns], 0: not known; `run`,
        `lumi`, `event`: (n,) uint64; `places`: (n, 2) first byte of each event, and the one behind
        its last; `runs`: number of each run header, with the same. `events_per_lumi`: 0: each run
        is one lumi."""

    def read(self, names: Sequence[str], first: int = 0, last: int = -1) -> dict[str, Any]:
        """As `read_columns`."""

    def stored(self, place: int, end: int) -> bytes:
        """The bytes of the file from `place` to `end`. Raises InputError if it ends before."""

    def changed(
        self,
        entry: int,
        dropped_collections: Sequence[str],
        dropped_parameters: Sequence[str],
        new_collections: Sequence[tuple[str, str]],
        new_blocks: bytes,
        new_parameters: Sequence[tuple[str, str, bytes | Sequence[str]]],
    ) -> tuple[bytes, bytes]:
        """Data of an event's two records, not compressed, without what is dropped and with what is
        new: names and types of collections, their blocks; names, types and values of parameters,
        as big-endian numbers or as texts. Pointers to dropped objects become null."""

class LcioSource(Source):
    def __init__(
        self,
        files: Sequence[str],
        columns: Sequence[tuple[str, str]],
        clusters: Sequence[Sequence[int]],
        identities: Sequence[tuple[str, int, int]] = ...,
        events_per_lumi: int = 0,
        expected: Sequence[str] = ...,
    ) -> None:
        """As TreeSource."""

def python_source(
    columns: Sequence[tuple[str, str]],
    clusters: Sequence[Sequence[int]],
    read: Callable[[Sequence[tuple[int, int, int]], str], Any],
    read_ids: Callable[[Sequence[tuple[int, int, int]]], tuple[Any, Any, Any]],
) -> Source:
    """Events that Python reads: `read` gets ranges (file, first, last) and the name of a column,
    and gives its values as `read_columns`; `read_ids` gives run, lumi and number of each event."""

class ProcessorSettings:
    """How many threads, and what is in flight at the same time. `block_size`: events, 0: the source
    chooses; `n_trace_calls`: of so many calls each is recorded by itself; `reads_ahead`: a thread
    more reads the columns of the next block, where there is one block at a time."""

    def __init__(
        self,
        *,
        executor: Literal["serial", "tbb", "dispatch"],
        threads: int,
        concurrent_blocks: int,
        block_size: int,
        concurrent_units: int = 1,
        concurrent_iovs: int = 1,
        timing: bool = False,
        n_trace_calls: int = 0,
        reads_ahead: bool = False,
    ) -> None: ...

class Processor:
    """Starts threads: make it in the child."""

    def __init__(
        self,
        schedule: Schedule,
        source: Source,
        settings: ProcessorSettings,
        board: StatusBoard | None = None,
        child: int = 0,
        watch: PageWatch | None = None,
        n_watched_calls: int = 0,
    ) -> None:
        """`watch` looks before and after each of the first `n_watched_calls` calls; the border is
        15, and 16 + the node's number."""
    def run(
        self,
        next_unit: Callable[[], UnitToDo | None],
        commit: Callable[[int, UnitResult], None],
    ) -> None:
        """Processes units until `next_unit` gives none; up to `concurrent_units` are in flight at a
        time. `commit` gets number and result of each, in order, when its outputs are closed and
        before histograms are filled with the next. Both are called on any thread; what they raise
        ends the run. Releases the GIL."""
    def stop(self) -> None:
        """Has `run` return when the committing unit is committed; those begun behind it are
        dropped. For `next_unit` and `commit`, or another thread."""
    def timing(self) -> dict[str, Any]:
        """What was recorded so far: forkrun.monitoring.timing.record says what it holds."""
    def called(self) -> list[str]:
        """Names of the modules and columns of the input that were called, of what was recorded."""
    def trace(self) -> npt.NDArray[np.void]:
        """(n,) records of calls: thread, node, lane, run, lumi, sequence, start_ns, end_ns."""
    def process(
        self,
        number: int,
        run: int,
        lumi: int,
        ranges: Sequence[tuple[int, int, int]],
        outputs: Mapping[str, str],
        iov: int = 0,
        dataset: int = 0,
    ) -> UnitResult:
        """Processes one unit: ranges are (file, first, last). Releases the GIL."""
    def finish(self) -> None: ...

class UnitToDo:
    def __init__(
        self,
        number: int,
        run: int,
        lumi: int,
        ranges: npt.NDArray[np.int64] | Sequence[tuple[int, int, int]],
        outputs: Mapping[str, str],
        iov: int = 0,
        alone: bool = False,
        lumis: tuple[npt.NDArray[np.int64], ...] | None = None,
        block_size: int = 0,
        dataset: int = 0,
    ) -> None:
        """ranges: (file, first, last); outputs: paths by label; alone: never in flight together
        with other units; lumis: runs, lumis and number of events up to the end of each, (n_lumis,)
        each, if there are several; block_size: events, 0: as the settings say; dataset: number of
        the one that all events belong to."""

class UnitResult:
    read: EventDigest
    outputs: list[OutputSummary]
    wall_s: float
    cpu_s: float
    n_column_bytes: int  # that the columns of a block took at most
    read_calls: int
    read_bytes: int
    n_blocks: int

class OutputSummary:
    label: str
    path: str
    written: EventDigest
    n_bytes: int
    checksum: int
    """CRC-32C of what was to be written."""

Order = Literal["go_on", "end_after_unit", "end_after_block"]

class StatusBoard:
    """Shared memory: one row per child. Make it before the fork."""

    def __init__(self, n_children: int) -> None: ...
    def __len__(self) -> int: ...
    def read(self, child: int) -> ChildStatus: ...
    def set_state(
        self,
        child: int,
        state: Literal["not_started", "starting", "processing", "finishing", "done", "failed"],
    ) -> None: ...
    def give_order(self, child: int, order: Order) -> None: ...
    def reset(self, child: int, n_events_done: int) -> None:
        """For a new child in the place of one that has ended."""

    def obey_only(self, child: int, parent: int) -> None:
        """In the child: signals of others than its parent are ignored; SIGTERM of the parent is
        the order to end after the present block."""

    def add_calls(self, child: int, n_calls: int, calls_s: float, fixed_s: float) -> None:
        """In the child: calls of blocks, their CPU time, and what of it they take whatever their
        number of events."""

    def note_kept(self, child: int, module: int, per_event_bytes: int) -> None:
        """In the child: number of the module in Python that keeps most memory, from 1 on, and how
        much of each event."""

    def beat(self, child: int) -> None:
        """In the child: it is alive."""

class UnitCounter:
    """Shared memory: hands out 0, 1, … n - 1, each once. Make it before the fork."""

    n_taken: int
    end: int
    def __init__(self, n: int) -> None: ...
    @overload
    def take(self, child: int) -> int | None: ...
    @overload
    def take(self, child: int, first: int, n: int) -> int:
        """Numbers [first, first + n), or fewer up to the end: how many; 0 if `first` is not the
        next one (any more)."""
    def taken_by(self, child: int) -> npt.NDArray[np.int64]: ...
    def end_at(self, n: int) -> None:
        """Numbers from here on are not handed out."""

class CommitCounter:
    """Adds up commits by the lines of ledgers. A unit that is there twice counts once."""

    def __init__(self) -> None: ...
    def read(self, path: str, apart: set[int]) -> tuple[int, float, float, list[bytes]]:
        """Counts the complete lines of a ledger, but commits that begin with units in `apart`.
        Events, begin of the first commit and end of the last [s since the epoch, 0: there is none],
        and complete lines that were not counted: damaged ones, of commits that leave events out,
        and of units in `apart`. Raises InputError if the file cannot be read."""
    def put(self, unit: int, n_units: int, n_events: int, n_left_out: int) -> None:
        """Counts a commit that begins with this unit, instead of one that was counted before."""
    def total(self) -> tuple[int, int, int]:
        """Units, events, and events that were left out."""

class ChildStatus:
    state: str
    order: Order
    n_events_done: int
    n_units_done: int
    unit: int
    run: int
    lumi: int
    first_event: int
    last_event: int
    heartbeat_ns: int
    crashed_elsewhere: bool
    """Whether a thread has crashed that is not the process's first."""
    n_calls: int
    calls_ns: int
    fixed_ns: int
    kept_by: int
    kept_per_event_bytes: int

# --- replay ---------------------------------------------------------------------------------------
class ReplayModule:
    """A module that takes its time. `event_times_s`: (n,) float64 [s]."""

    def __init__(
        self,
        label: str,
        kind: str,
        concurrency: str,
        work: Literal["none", "busywait", "fixedwork", "sleep", "async"],
        get: Literal["prefetch", "blocking", "coroutine"],
        event_times_s: npt.NDArray[np.float64],
        consumes: Sequence[str],
        produces: Sequence[str],
    ) -> None: ...

class ReplayResult:
    checksum: int
    start_s: float
    end_s: float
    cpu_s: float

class Replay:
    """A compiled replay; can be run once per process."""

    def __init__(
        self, modules: Sequence[ReplayModule], paths: Sequence[tuple[str, Sequence[str]]]
    ) -> None: ...
    def run(
        self,
        *,
        executor: str,
        threads: int,
        events_in_flight: int,
        block_size: int,
        always_tasks: bool,
        first_event: int,
        n_events: int,
        steps_per_s: float,
        board: StatusBoard,
        child: int,
    ) -> ReplayResult: ...

class FillEntries:
    """Entries for histograms from 0 to 1."""
    def __init__(self, n_entries: int) -> None: ...
    def time_fills(
        self, *, way: str, n_axes: int, n_bins: int, is_weighted: bool, threads: int
    ) -> tuple[float, float]:
        """Wall and CPU time [s] of filling all of them. `way`: "copy", "lock", "buffer", "exact",
        "one_by_one"."""

def measure_steps_per_s() -> float: ...

# --- writing and merging --------------------------------------------------------------------------
class TreeWriter:
    """Writes columns to a new tree of a new file (the sample generator, tests)."""

    def __init__(
        self,
        path: str,
        tree: str,
        columns: Sequence[tuple[str, str]],
        compression: str,
        title: str = "",
        append_tree: bool = False,
        counters: Mapping[str, str] = ...,
    ) -> None:
        """A jagged column "Muon_pt" gets the counter branch "nMuon" (what is before the first
        "_"), shared by all columns of that prefix. append_tree: adds a tree to an existing file.
        `counters`: by column, another one that it has; "": one of its own."""
    def write(self, columns: Mapping[str, Any]) -> None:
        """One cluster. Values, or (offsets, values) for jagged columns; counters are made here."""
    def close(self) -> None: ...

def merge_trees(
    inputs: Sequence[str],
    output: str,
    trees: Sequence[str] | None = None,
    compression: str | None = None,
    progress: Callable[[int], None] | None = None,
    keep_first: bool = False,
    verify: bool = False,
    note: Callable[[str], None] | None = None,
    recluster: str = "auto",
    on_written: Callable[[], None] | None = None,
    format: str | None = None,
    needs_checksums: bool = True,
) -> dict[str, int]:
    """Joins trees and RNTuples (all when None; as `format`: "ttree" or "rntuple", None: each as in
    the first file with it) of `inputs` in the given order into the new file `output` by
    copying baskets, or by writing their entries anew in larger ones: `recluster`: "auto" (of files
    where they are small, or with `compression`), "always" or "never". Merges objects as ROOT does,
    and keeps once those that it cannot merge: they must be equal, unless `keep_first`. Sizes,
    places and headers of baskets are checked, with `verify` their contents as well. Returns entries
    by tree. `progress` gets the number of inputs done, `note` a line about the baskets of each
    tree, and about each object that was not merged. Samples of the complete file are compared with
    the inputs, after `on_written`. Raises InputError, OutputError, VerificationError."""

class OutputContent:
    """What the tree of an output holds: `branches` of the input, and new columns by name and type.
    `compression`: "zstd:5", "lz4:4", "zlib:1", "lzma:6" or "none", of baskets that are made anew;
    `recompresses`: those that are kept whole as well; `goes_with_events`: the tree is added to the
    file of the events, without new columns; `tree`: its path there."""

    def __init__(
        self,
        branches: Sequence[str],
        products: Sequence[tuple[str, str]],
        compression: str,
        recompresses: bool = False,
        goes_with_events: bool = False,
        tree: str = "Events",
    ) -> None: ...

class OutputToMake:
    """An output to make of what children have selected. `fragments`: groups in the order of the
    output, each with its number in the order of the input (for all outputs of a job alike) and the
    files of fragments whose events alternate; new columns are in them. `files`: path of each, and
    (file, first, last) of the entries whose events it has, in the order of the events; no entries:
    it has all. `n_events`: in all fragments. `before_group` gets the number, in the list, of the
    group that is read next, `progress` the number of events written so far, `on_written` the path
    of each complete file, before samples of it are compared with what it was made of."""

    def __init__(
        self,
        fragments: Sequence[tuple[int, Sequence[str]]],
        files: Sequence[tuple[str, Sequence[tuple[int, int, int]]]],
        content: OutputContent,
        n_events: int,
        before_group: Callable[[int], None] | None = None,
        progress: Callable[[int], None] | None = None,
        on_written: Callable[[str], None] | None = None,
    ) -> None: ...

def make_outputs(
    outputs: Sequence[OutputToMake],
    source: TreeSource,
    n_threads: int = 1,
    verify: bool = False,
    on_open: Callable[[int], None] | None = None,
    format: str = "ttree",
) -> list[list[int]]:
    """Makes the files of all outputs; what several of them take from the input is read once.
    `format`: of the outputs, "ttree" or "rntuple", where the source may have either; `verify`:
    unzip baskets that are copied as they are, and check what they hold. `on_open` gets the number
    of each input file just before it is opened. Returns the number of events in each file, by
    output; if it raises, there are no files. Raises InputError, OutputError,
    VerificationError."""

def first_file(clusters: Sequence[Sequence[int]]) -> int:
    """Number of the file whose tree gives outputs their structure: the first with more than one
    entry in `clusters`, else with one, else 0."""

def cluster_begins(
    output: OutputToMake, source: TreeSource, format: str = "ttree"
) -> list[tuple[int, int, int]]:
    """Where `make_outputs` begins the clusters of an output: file and entry of the input, and the
    number of events. It reads no event, so where a cluster's events are much larger than the mean
    of their file it really ends sooner. The path of the output's first file is used meanwhile.
    Raises InputError, OutputError."""

def read_fragment(
    path: str,
) -> list[tuple[list[tuple[int, int, int]], dict[str, Any]]]:
    """Pieces of a fragment, one after the other: its entries as (file, first, last), and the new
    columns of these events. Raises InputError."""

def events_of_fragment(path: str) -> int:
    """Number of events in a fragment, all of which is read. Raises InputError."""

def add_text(output: str, name: str, text: str) -> None:
    """Adds a text, a TObjString of this name, to a file that was just made. Raises OutputError."""

def carry_objects(
    inputs: Sequence[str],
    output: str,
    exclude: Iterable[str],
    keep_first: bool = False,
    identities: Sequence[tuple[str, int, int]] = ...,
    common_branches: bool = False,
) -> list[str]:
    """Adds to the existing file `output` everything of `inputs` but the objects named in `exclude`,
    joined as in `merge_trees`. `identities`: of the inputs as they were indexed; `common_branches`:
    branches that not all trees of a name have are left out. Returns the names. Raises InputError,
    OutputError."""

def check_carried(
    inputs: Sequence[str],
    scratch: str,
    exclude: Sequence[str],
    keep_first: bool,
    common_branches: bool,
) -> None:
    """Joins what `carry_objects` would, into the new file `scratch`. Raises InputError,
    OutputError."""

def branches_written_anew(path: str, tree: str) -> list[str]:
    """Branches of objects whose entries an output cannot copy as bytes: ROOT reads them and writes
    them anew. Raises InputError."""

def try_copy(path: str, tree: str, branches: Sequence[str], scratch: str) -> None:
    """Copies the first entries of branches whose objects ROOT has to write anew, to see whether it
    can: without the dictionary of a class it may die of it. `scratch`: path of a file that is
    written, and removed. Raises InputError, OutputError."""

def tree_digest(
    path: str, tree: str, run_branch: str, lumi_branch: str, event_branch: str
) -> EventDigest: ...
def read_histogram(path: str, name: str) -> dict[str, Any]:
    """A TH1, TH2 or TH3: title; edges, a (n_bins + 1,) array per axis; values and variances,
    float64 with flow bins, a dimension per axis; axis_titles. Raises InputError."""

AxisContent = tuple[str, npt.NDArray[np.float64], bool, Sequence[str]]
"""Title, edges, whether the bins between the first and the last one are equal, labels of bins."""

HistogramContent = tuple[str, str, Sequence[AxisContent], str, npt.NDArray[np.float64], bool]
"""Name, which may have folders ("dimuon/mass"), title, axes, storage, sums: (n_sums, …,
n_bins + 2 of axis 1, of axis 0), flow bins included. w: weights, y: what a profile takes the mean
of; the sums of a storage: "counts": w; "weights": w, w²; "means": w, w y, w y²; "weighted means":
w, w², w y, w y²."""

def write_histograms(path: str, histograms: Sequence[HistogramContent]) -> None:
    """Writes a new file of TH1D, TProfile and their sisters of 2 and 3 axes, and THnSparseD.
    Raises OutputError."""

def leave_hole_in_new_files(n_bytes: int) -> None:
    """For tests: every ROOT file that this process or its children begin from now on has so many
    bytes that it does not use, nor take from the disk, before its first record."""

# --- memory that children share -------------------------------------------------------------------
HAS_IMMORTAL_OBJECTS: bool
"""From Python 3.12 on."""

def count_objects(roots: list[Any]) -> tuple[int, int]:
    """Python objects that can be reached from the roots, and the bytes of their blocks. Follows
    items, keys, attributes, elements and bases of arrays, closures, constants, and what the classes
    of instances define; not modules, their namespaces, or running code."""

def make_immortal(roots: list[Any]) -> tuple[int, int]:
    """The same objects are never freed again, and reading them writes nothing. Counts those that
    were mortal. Only with HAS_IMMORTAL_OBJECTS."""

def make_program_immortal() -> tuple[int, int]:
    """The same with modules, classes, functions, and all that they hold; not what is running."""

class ContainerSnapshot:
    """What each list, dict, set, bytearray, instance of a class written in Python, and header of an
    array refers to, of all that can be reached. `roots`: (label, object)."""

    def __init__(self, roots: list[tuple[str, Any]]) -> None: ...
    def __len__(self) -> int: ...
    def first_change(self) -> tuple[str, Any] | None:
        """Label and container of the first that refers to something else. Writes nothing."""

def take_free_blocks() -> int:
    """Leaves no hole between Python's small objects; gives the bytes taken. For ever."""

def keep_freed_memory() -> None:
    """In a process that takes blocks: up to 128 MB that arrays have freed stay for later ones."""

def watch_kept_memory(is_alone: bool) -> None:
    """In a process that takes blocks: begins to see what calls of modules in Python leave in
    memory. `is_alone`: no other thread calls modules; else calls count during which no other thread
    computes."""

def most_kept() -> tuple[str, int] | None:
    """Label of the module whose calls have left most memory, and how much [bytes]; None until it
    was seen several times."""

def trim_heap() -> None:
    """Gives free pages of the C library's heap back to the operating system."""

def use_huge_arenas() -> None:
    """From here on Python's small objects are made in huge pages, where the kernel allows it."""

def use_ordinary_arenas() -> None:
    """In ordinary pages again."""

def join_pages() -> int:
    """Joins this process's own pages to huge ones where nearly all of one are in use; gives their
    bytes. 0 before Linux 6.1."""

# --- memory -------------------------------------------------------------------------------------
class PageCounts:
    """Sizes of a process's memory, by its page table."""

    resident: int
    resident_private: int  # no other process maps it
    anonymous: int  # no page of a file
    anonymous_private: int
    longest_read_ns: int  # CPU time of one piece: how long the process was stopped

def count_pages(pid: int = 0) -> PageCounts:
    """Counts the pages of a process (0: this one), in pieces that stop it for microseconds only.
    Raises OSError where it has gone or may not be looked at."""

def page_size() -> int: ...

class PageWatch:
    """Finds pages that a child had in common with its parent at the fork and has for itself later.
    Make it in the parent, just before the fork, and fork a process that sleeps and keeps the pages.
    Raises OSError where the kernel does not show page tables."""

    def __init__(self, n_children: int) -> None: ...
    def sample(self, child: int, border: int) -> None:
        """In the child: notes `border` (1 to 65534) for pages that have become private."""
    def found(self, child: int) -> npt.NDArray[np.void]:
        """(n,) records: page (address / page size), border; in the order of addresses."""
    def pages_at_fork(self) -> npt.NDArray[np.uint64]:
        """(n,) all anonymous pages of the parent, in order."""

class ObjectPages:
    """Which Python objects lie on which pages. An object counts for the first owner walked."""

    def __init__(self) -> None: ...
    def walk(self, owner: str, root: object, everything: bool = False) -> None:
        """`root` and all that it holds; not through classes, modules and functions, unless
        `everything`."""
    def parts(self) -> npt.NDArray[np.void]:
        """(n,) records: page (address / 4096), owner and type (numbers), n_bytes, is_small (in one
        of pymalloc's pools); in any order."""
    owners: list[str]
    types: list[str]

# --- process --------------------------------------------------------------------------------------
def load_plugin(path: str) -> list[str]:
    """Loads a library of C++ modules; returns the class names it registered."""

def registered_module_classes() -> list[str]: ...
def fork(n: int, together: bool) -> list[int] | int:
    """Forks `n` children in a row: pids in the parent, its number in a child. `together`: none of
    them begins before all are there. Raises OSError, with no child left."""

def adopt_orphans(yes: bool) -> None:
    """What descendants of this process leave behind when they end become its children, or not.
    Forked children do so from the beginning."""

def claim_process() -> None:
    """This process does the work of a job. A copy that a module forks of it is ended when it comes
    back from the module."""

def end_forked_copy() -> None:
    """In such a copy: ends it."""

def write_stacks_on_signal() -> None:
    """Before the fork: every thread of a child can then be asked for its stack."""

def ask_for_stack(process: int, thread: int) -> bool:
    """The thread writes its call stack to its process's stderr. False if there is none."""

def crc32c(data: Any, before: int = 0) -> int:
    """CRC-32C of contiguous bytes. `before`: that of the bytes before these."""

def file_checksum(path: str) -> int:
    """CRC-32C of a whole file. Raises InputError."""

def load_checksums_of_rntuples() -> None:
    """Loads ROOT's library that makes them: for children, before they are forked."""

def warm_up() -> None:
    """Loads ROOT's libraries, dictionaries and interpreter, so that children share them. Signals
    keep the handlers that they have."""

def root_version() -> str: ...
