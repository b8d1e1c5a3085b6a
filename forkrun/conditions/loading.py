"""Loads payloads, and checks that they are what the configuration says."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from forkrun.base.input_files.urls import hide_secrets, whole_url
from forkrun.base.nearest import suggestion
from forkrun.base.refusals import refusal
from forkrun.conditions.provider import Arrays
from forkrun.conditions.read_only import freeze
from forkrun.conditions.sources import ConditionSource, PayloadSource
from forkrun.config.conditions import ArrayConfig
from forkrun.errors import ConfigError, InputError


class Payload(Struct, frozen=True):
    """The value of a condition in some of its intervals. `arrays`, `attributes`: what C++ modules
    see of it."""

    value: Any
    arrays: Arrays
    attributes: Mapping[str, str]
    n_bytes: int
    """Size of its arrays; of the file where it has none."""
    load_s: float


def load_payload(source: ConditionSource, number: int) -> Payload:
    """Loads one payload. Raises ConfigError with everything that is wrong with it, InputError if
    the disk does not give it."""
    payload = source.payloads[number]
    start_s = time.perf_counter()
    try:
        value = payload.provider.load(payload.file and whole_url(payload.file), payload.iov)
    except (Exception, SystemExit) as error:
        if refused := refusal(error):
            raise refused from error
        is_of_disk = isinstance(error, OSError) and (
            error.errno is None or isinstance(error, PermissionError)  # None: NumPy's failed seek
        )
        kind = InputError if is_of_disk else ConfigError
        raise kind(f"{payload.where}: {_explain(source, payload, error)}") from None
    arrays = payload.provider.arrays(value)
    problems = list(_array_problems(source, arrays))
    if problems:
        raise ConfigError([f"{payload.where}: {problem}" for problem in problems])
    attributes = payload.provider.attributes(value)
    value = freeze(value, source.label)
    for array in arrays.values():
        array.flags.writeable = False
    n_bytes = sum(array.nbytes for array in arrays.values()) or _size(payload.file)
    return Payload(value, arrays, attributes, n_bytes, time.perf_counter() - start_s)


def _size(file: str | None) -> int:
    try:
        return os.stat(file).st_size if file else 0
    except OSError:  # a function may take what is not a file
        return 0


def _explain(source: ConditionSource, payload: PayloadSource, error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return f"file not found: {error.filename}"
    kind = type(error).__name__
    if source.config.type.startswith("python:"):
        from forkrun.base.user_code import in_user_code

        return hide_secrets(f"{source.config.type} raised {in_user_code(error)}")
    return f"{payload.file} cannot be read as {source.config.type}: {kind}: {error}"


def _array_problems(source: ConditionSource, arrays: Arrays) -> Iterator[str]:
    config = source.config
    if config.dtype or config.shape is not None:
        if "" in arrays:
            yield from _mismatches(config, arrays[""], "the array")
        else:
            yield "dtype and shape are of a single array, which it is not; use arrays.NAME instead"
    for name, wanted in config.arrays.items():
        if name in arrays:
            yield from _mismatches(wanted, arrays[name], f'array "{name}"')
        elif "" in arrays:
            yield f'it is a single array, without the name "{name}"; use dtype and shape instead'
        else:
            yield f'it has no array "{name}"' + suggestion(name, arrays)


def _mismatches(wanted: ArrayConfig, array: npt.NDArray[Any], what: str) -> Iterator[str]:
    if wanted.dtype and array.dtype != np.dtype(wanted.dtype):
        yield f"{what} is {array.dtype}, not {wanted.dtype} as declared"
    if wanted.shape is not None and not _fits(array.shape, wanted.shape):
        shape = str(list(wanted.shape)).replace("-1", "any")
        yield f"{what} has the shape {list(array.shape)}, not {shape} as declared"


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        w in (-1, n) for n, w in zip(shape, wanted, strict=True)
    )


def describe_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, str]:
    """`{"muon": "float64[5, 3]"}`."""
    return {name: f"{array.dtype}{list(array.shape)}" for name, array in arrays.items()}
