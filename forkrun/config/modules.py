"""[[modules]]: what a module is, and the axes of a histogram that needs no code."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from forkrun.base.user_text import leaves
from forkrun.config.checks import Before, Rule
from forkrun.config.section import Flag, Label, Number, Positive, Section, Texts, at_most, whole

MOST_IN_FLIGHT = at_most(10_000, "each has products of its own in memory")
ModuleType = Annotated[
    str, Rule(pattern=r"^(python:[^:]+:\w+|cpp:[\w:]+|given:[^:]+:[\w.-]+|expression:[^\x00]+)$")
]
Integer = Annotated[int, Rule(is_strict=True)]
Edge = Annotated[
    Number,
    Before(lambda edge: float(edge) if edge in ("inf", "-inf") else edge),
]
"""Edge of a bin; JSON has infinity as a text."""
VariationName = Annotated[str, Rule(pattern=r"^[A-Za-z0-9_]+$")]
Concurrency = Literal["reentrant", "one", "unsafe"] | Annotated[Positive, MOST_IN_FLIGHT]
NOMINAL = "nominal"
"""No systematic variation."""
_EXPRESSION_KINDS = ("filter", "producer", "histogram")
_OF_FUNCTIONS = ("name", "axes", "weight", "consumes", "produces", "variations", "variation")
_OF_HISTOGRAMS = ("axes", "weight")
_OF_PYTHON_FUNCTIONS = (*_OF_FUNCTIONS, "replaces")


def varied_label(label: str, variation: str) -> str:
    """Label of a module's call in a variation, or of a path."""
    return f"{label}@{variation}"


class AxisConfig(Section):
    """[[modules.axes]]: of a histogram: bins, low and high; edges; start and stop; or
    categories."""

    numbers_as_texts = ("edges",)

    bins: Positive | None = None
    """Number of bins between `low` and `high`."""
    low: Number | None = None
    """Lower edge."""
    high: Number | None = None
    """Upper edge."""
    log: Flag = False
    """Bins of equal width in the logarithm."""
    edges: tuple[Edge, ...] = ()
    """Edges of bins of any width; the first and last may be infinite."""
    start: Integer | None = None
    """First integer, one bin each."""
    stop: Integer | None = None
    """Integer after the last one."""
    categories: tuple[str, ...] | tuple[Integer, ...] = ()
    """Categories: texts or integers."""
    growth: Flag = False
    """Give other categories bins of their own."""
    integers: Flag = False
    """Categories are integers: for an axis that grows and names none."""
    keep_fine: Flag = False
    """Keep finer sums, from which other bins can be made (docs/recovery.md#other-bins)."""
    name: str = ""
    """Name of the axis."""
    label: str = ""
    """Label of the axis in plots."""

    @whole
    def _has_bins(self) -> None:
        forms = (
            None not in (self.bins, self.low, self.high),
            len(self.edges) > 1,
            None not in (self.start, self.stop),
            bool(self.categories) or self.growth,
        )
        if sum(forms) != 1:
            raise ValueError("an axis has bins, low and high; or edges; start and stop; categories")
        if self.keep_fine and (self.log or not (self.bins or self.edges)):
            raise ValueError("keep_fine needs bins, low and high without log, or edges")
        if self.integers and any(isinstance(category, str) for category in self.categories):
            raise ValueError("integers = true: the categories are texts")


class ModuleConfig(Section):
    """[[modules]]: a producer, filter or analyzer."""

    label: Label
    """Name in paths, messages and the histogram file; not given: that of the class or function, if
    no other module has it."""
    type: ModuleType
    """`"python:FILE.py:NAME"` or `"python:PACKAGE.MODULE:NAME"`, a class or function;
    `"cpp:CLASS"`; `"expression:EXPRESSION"` (docs/expressions.md)."""
    params: dict[str, Any] = {}
    """Keyword parameters of the class or function."""
    concurrency: (
        Literal["reentrant", "one", "unsafe"] | Annotated[Positive, MOST_IN_FLIGHT] | None
    ) = None
    """Blocks at the same time in a C++ module (docs/modules.md#several-blocks-at-once), instead of
    its own declaration."""
    instances: Literal["shared", "per_block"] | None = None
    """For C++ modules: one object for all blocks in flight, or one for each."""
    resources: Texts = ()
    """Names of shared resources: of the C++ modules that name the same one, one runs at a time."""
    kind: Literal["filter", "producer", "analyzer", "histogram"] | None = None
    """Kind of a function or an expression; a class has its own."""
    name: Label | None = None
    """Name of the histogram, or of the one column of a function or expression; not given: the
    label."""
    axes: tuple[AxisConfig, ...] = ()
    """Axes of a histogram, a table for each."""
    weight: str | Annotated[Number, Rule(is_finite=True)] | None = None
    """Weight of a histogram: an expression or a number."""
    consumes: tuple[str, ...] | None = None
    """Columns that a function reads; not given: found out with the first events
    (docs/modules.md#what-a-module-reads)."""
    produces: dict[str, str] | None = None
    """Types of the columns that a function makes; not given: found out."""
    replaces: Texts = ()
    """Columns that a function, expression or C++ module replaces for all modules after it
    (docs/systematics.md#replace-a-column)."""
    variations: dict[VariationName, Texts] = {}
    """Systematic variations of a function with their directions: `{ jes = ["up", "down"] }`
    (docs/systematics.md#systematic-variations)."""
    variation: VariationName | None = None
    """The one variation in which a function or expression replaces its columns: `"jes_up"`."""
    on_data: Flag = True
    """`false`, with `replaces`: data keep the columns."""
    code: str | None = None
    """Set by programs: digest of a function of theirs."""
    values: dict[str, str] = {}
    """Set by programs: digests, by `FILE.py:NAME`, of the values of their own that it uses."""
    place: tuple[str, int] | None = None
    """Set by programs: file and line at which it was added to the job."""

    @whole
    def _has_params_to_keep(self) -> None:
        """The configuration of a run directory is JSON."""
        for name, value in self.params.items():
            if not all(math.isfinite(x) for x in leaves([value]) if isinstance(x, float)):
                raise ValueError(f"params: {name} has a number that is not finite; leave it out")

    @whole
    def _is_of_its_kind(self) -> None:
        is_class = self.type.startswith("cpp:") or (
            self.type.startswith("python:") and self.kind is None
        )
        keys = _OF_FUNCTIONS if self.type.startswith("cpp:") else _OF_PYTHON_FUNCTIONS
        given = self.given_keys
        used = [key for key in keys if key in given and getattr(self, key)]
        used += [] if self.on_data else ["on_data"]
        if is_class and used:
            raise ValueError(
                f"{', '.join(used)}: for functions and expressions, which have a kind; a class says"
                " itself what it consumes and produces"
            )
        if self.type.startswith("expression:") and self.kind not in _EXPRESSION_KINDS:
            raise ValueError('an expression needs kind = "filter", "producer" or "histogram"')
        used = [key for key in _OF_HISTOGRAMS if getattr(self, key) not in (None, ())]
        if used and self.kind != "histogram":
            raise ValueError(f'{", ".join(used)}: for modules of kind = "histogram"')
        if self.name and self.kind not in ("histogram", "producer"):
            raise ValueError('name: for modules of kind = "histogram" or "producer"')
        if self.kind == "histogram" and not self.axes:
            raise ValueError("a histogram needs axes = [{ bins = 50, low = 0, high = 200 }]")

    @whole
    def _is_producer(self) -> None:
        makes_anew = self.replaces or self.variations or self.variation
        if self.kind not in (None, "producer") and makes_anew:
            raise ValueError("replaces, variations and variation are for producers")
        if self.variation in (NOMINAL, "input"):
            raise ValueError(f'"{self.variation}" is reserved and cannot name a variation')
        if self.variation and (self.variations or not self.replaces):
            raise ValueError(
                'variation = "jes_up" goes with replaces, and without variations: in this variation'
                " alone the columns are replaced"
            )
        if not self.on_data and not self.replaces:
            raise ValueError("on_data = false goes with replaces: data keep these columns")

    @whole
    def _is_cpp(self) -> None:
        if not self.type.startswith("cpp:") and (
            self.concurrency is not None or self.instances or self.resources
        ):
            raise ValueError(
                "concurrency, instances and resources are for C++ modules: of all Python modules"
                " one runs at a time"
            )
