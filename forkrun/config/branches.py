"""Rules for branches that only some files of the input have."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from forkrun.config.checks import Before, Rule
from forkrun.config.section import Section

_NOT_FINITE = ("nan", "inf", "-inf")


def _number(value: Any) -> Any:
    return float(value) if value in _NOT_FINITE else value


FillValue = Annotated[bool | Annotated[int, Rule(is_strict=True)] | float, Before(_number)]


class FilledBranches(Section):
    """[source.branches]"""

    numbers_as_texts = ("fill",)

    fill: Annotated[dict[str, FillValue], Rule(min_length=1)]
    """Values by pattern of branch names: `{ "HLT_*" = false }`."""


BranchesRule = Literal["same", "common"] | FilledBranches
