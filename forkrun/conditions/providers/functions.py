"""A user's own function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from forkrun.conditions.iov import Iov
from forkrun.conditions.provider import ConditionsProvider


class FunctionProvider(ConditionsProvider):
    """What the function returns; it gets the file, if one is given, and the params by keyword."""

    depends_on_iov = False

    def __init__(self, function: Callable[..., Any], params: Mapping[str, Any]) -> None:
        self._function = function
        self._params = params

    def load(self, file: str | None, iov: Iov) -> Any:
        return self._function(*([] if file is None else [file]), **self._params)
