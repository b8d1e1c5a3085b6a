"""[[modules]]: what a module is, and the axes of a histogram that needs no code."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from forkrun.base.user_text import leaves
from forkrun.config.section import Flag, Label, Number, Positive, Section, Texts, at_most

MOST_IN_FLIGHT = at_most(10_000, "each has products of its own in memory")
ModuleType = Annotated[
    str, Field(pattern=r"^(python:[^:]+:\w+|cpp:[\w:]+|given:[^:]+:[\w.-]+|expression:[^\x00]+)$")
]
Integer = Annotated[int, Field(strict=True)]
Edge = Annotated[
    Number,
    BeforeValidator(lambda edge: float(edge) if edge in ("inf", "-inf") else edge),
    PlainSerializer(lambda edge: edge if math.isfinite(edge) else str(edge), when_used="json"),
]
"""Edge of a bin; JSON has infinity as a text."""
VariationName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$")]
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

    bins: Positive | None = None
    low: Number | None = None
    high: Number | None = None
    log: Flag = False
    """Bins of equal width in the logarithm."""
    edges: tuple[Edge, ...] = ()
    start: Integer | None = None
    stop: Integer | None = None
    """Integers from start to stop - 1."""
    categories: tuple[str, ...] | tuple[Integer, ...] = ()
    growth: Flag = False
    """Other categories get bins of their own."""
    integers: Flag = False
    """Categories are integers: where none is named, and they grow."""
    name: str = ""
    label: str = ""

    @model_validator(mode="after")
    def _has_bins(self) -> Self:
        forms = (
            None not in (self.bins, self.low, self.high),
            len(self.edges) > 1,
            None not in (self.start, self.stop),
            bool(self.categories) or self.growth,
        )
        if sum(forms) != 1:
            raise ValueError("an axis has bins, low and high; or edges; start and stop; categories")
        if self.integers and any(isinstance(category, str) for category in self.categories):
            raise ValueError("integers = true: the categories are texts")
        return self


class ModuleConfig(Section):
    """[[modules]]: a producer, filter or analyzer."""

    label: Label
    type: ModuleType
    params: dict[str, Any] = Field(default_factory=dict)  # {} would be copied deeply
    concurrency: (
        Literal["reentrant", "one", "unsafe"] | Annotated[Positive, MOST_IN_FLIGHT] | None
    ) = None
    """Instead of what a C++ module says itself; a number: so many blocks at a time."""
    instances: Literal["shared", "per_block"] | None = None
    """C++ modules: one object for all blocks in flight, or one for each."""
    resources: Texts = ()
    """Names of shared resources: one module at a time runs of those that name the same one."""
    kind: Literal["filter", "producer", "analyzer", "histogram"] | None = None
    """What a function or an expression is; a class says it itself."""
    name: Label | None = None
    """Name of the histogram, or of the one column that is made; not given: the label."""
    axes: tuple[AxisConfig, ...] = ()
    """Axes of the histogram."""
    weight: str | Annotated[Number, Field(allow_inf_nan=False)] | None = None
    """Weight of the histogram: an expression or a number."""
    consumes: tuple[str, ...] | None = None
    """Columns that a function reads; not given: found out with the first events."""
    produces: dict[str, str] | None = None
    """Types of the columns that a function makes; not given: found out."""
    replaces: Texts = ()
    """Columns that a function, an expression or a C++ module makes anew for all behind it."""
    variations: dict[VariationName, Texts] = Field(default_factory=dict)
    """Systematic variations of a function and their directions, {"jes": ["up", "down"]}."""
    variation: VariationName | None = None
    """The one in which alone a function or an expression replaces its columns: "jes_up"."""
    on_data: Flag = True
    """false: events of data keep the columns that it replaces, in all variations."""
    code: str | None = None
    """Digest of a function that is given by a running program."""
    values: dict[str, str] = Field(default_factory=dict)
    """By `FILE.py:NAME`, digests of what a running program has in its modules and this one uses."""
    place: tuple[str, int] | None = None
    """File and line of a program that adds it to its job."""

    @model_validator(mode="after")
    def _has_params_to_keep(self) -> Self:
        """The configuration of a run directory is JSON."""
        for name, value in self.params.items():
            if not all(math.isfinite(x) for x in leaves([value]) if isinstance(x, float)):
                raise ValueError(f"params: {name} has a number that is not finite; leave it out")
        return self

    @model_validator(mode="after")
    def _is_of_its_kind(self) -> Self:
        is_class = self.type.startswith("cpp:") or (
            self.type.startswith("python:") and self.kind is None
        )
        keys = _OF_FUNCTIONS if self.type.startswith("cpp:") else _OF_PYTHON_FUNCTIONS
        given = self.model_fields_set
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
        return self

    @model_validator(mode="after")
    def _is_producer(self) -> Self:
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
        return self

    @model_validator(mode="after")
    def _is_cpp(self) -> Self:
        if not self.type.startswith("cpp:") and (
            self.concurrency is not None or self.instances or self.resources
        ):
            raise ValueError(
                "concurrency, instances and resources are for C++ modules: of all Python modules"
                " one runs at a time"
            )
        return self
