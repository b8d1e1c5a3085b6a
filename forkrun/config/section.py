"""Types of keys, and the base class of all sections of a configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from forkrun.base.arguments import LABEL
from forkrun.base.quantities import parse_duration, parse_size


def one_or_many(value: object) -> object:
    """A list, of which one text may stand for a list of one."""
    return [value] if isinstance(value, str) else value


def share_or_size(value: object) -> object:
    """`"5%"` stays; sizes become bytes. Raises ValueError."""
    if isinstance(value, str) and re.fullmatch(r"(100|[1-9]?\d)%", value):
        return value
    size = parse_size(value)
    if not isinstance(size, int) or size < 0:
        raise ValueError('a share of the free space, "5%", or a size, "20 GB"')
    return size


@dataclass(frozen=True)
class AtMost:
    """Refuses a number that makes no sense, and says why."""

    most: float
    why: str

    def __call__(self, value: float) -> float:
        if value > self.most:
            raise ValueError(f"at most {self.most:,}: {self.why}")
        return value


def at_most(most: float, why: str) -> AfterValidator:
    """An upper bound with its reason."""
    return AfterValidator(AtMost(most, why))


_ENTRIES = at_most((1 << 63) - 1, "entries of files are counted in 63 bits")
Count = Annotated[int, Field(strict=True, ge=0), _ENTRIES]
Positive = Annotated[int, Field(strict=True, ge=1), _ENTRIES]
_SIZE = at_most((1 << 63) - 1, "addresses have 63 bits")
_TIME = at_most(1_000_000_000, "that is 31 years; leave the limit out")
Size = Annotated[int, BeforeValidator(parse_size), Field(ge=1), _SIZE]
ShareOrSize = Annotated[int | str, BeforeValidator(share_or_size)]
Duration = Annotated[
    float, BeforeValidator(parse_duration), Field(ge=0, allow_inf_nan=False), _TIME
]
Number = Annotated[float, Field(strict=True)]
"""Also an integer, but neither true nor a text."""
Flag = Annotated[bool, Field(strict=True)]
Texts = Annotated[tuple[str, ...], BeforeValidator(one_or_many)]
Label = Annotated[str, Field(pattern=rf"^{LABEL}$")]


class Section(BaseModel):
    """Base of all sections: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
