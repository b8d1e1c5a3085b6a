"""Rules for branches that only some files of the input have."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, StrictBool, StrictFloat, StrictInt

from forkrun.config.section import Section

_NOT_FINITE = ("nan", "inf", "-inf")


def _number(value: Any) -> Any:
    return float(value) if value in _NOT_FINITE else value


def _for_json(value: float) -> Any:
    """JSON has no such numbers: words, as TOML writes them."""
    return value if math.isfinite(value) else str(value)


FillValue = Annotated[
    StrictBool | StrictInt | StrictFloat,
    BeforeValidator(_number),
    PlainSerializer(_for_json, when_used="json"),
]


class FilledBranches(Section):
    """[source.branches]"""

    fill: Annotated[dict[str, FillValue], Field(min_length=1)]
    """Values by pattern of branch names: `{ "HLT_*" = false }`."""


BranchesRule = Literal["same", "common"] | FilledBranches
