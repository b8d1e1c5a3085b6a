"""Arguments of the public calls; errors name the allowed values."""

from __future__ import annotations

import inspect
import io
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any

from forkrun.base.user_text import text_problem
from forkrun.errors import ConfigError

LABEL = r"[A-Za-z_][A-Za-z0-9_.-]*"
LABEL_FORM = "a letter or _, then letters, digits, '_', '-' and '.'"
_MOST_SHOWN = 60


def refused(call: str, argument: str, allowed: str, value: Any) -> ConfigError:
    """Error about an argument: the allowed values, and the given one. `call`: as in the program."""
    return ConfigError(f"{call}: {argument} takes {allowed}, not {described(value)}")


def described(value: Any) -> str:
    """A value in a message."""
    text = repr(value)
    if inspect.isclass(value) or text.startswith("<function "):
        name = getattr(value, "__name__", "")
        kind = "class" if inspect.isclass(value) else "function"
        return "a lambda" if name == "<lambda>" else f"the {kind} {name}"
    if re.fullmatch(r"<[^ ]+ object at 0x\w+>", text):
        return f"an object of the class {type(value).__name__}"
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    return f"{shown} ({type(value).__name__})"


def check_text(call: str, argument: str, value: Any) -> str:
    """Returns a name. Raises ConfigError."""
    if not isinstance(value, str):
        raise refused(call, argument, "a text", value)
    return value


def check_texts(call: str, **texts: Any) -> None:
    """Checks optional names. Raises ConfigError."""
    for argument, value in texts.items():
        if value is not None:
            check_text(call, argument, value)


def check_label(call: str, argument: str, value: str) -> None:
    """Returns a name for files and for folders in ROOT files. Raises ConfigError."""
    if not re.fullmatch(LABEL, value):
        raise refused(call, argument, LABEL_FORM, value)


def check_flags(call: str, **flags: Any) -> None:
    """Raises ConfigError for values other than True and False; None is allowed as a default."""
    for argument, value in flags.items():
        if not isinstance(value, bool):
            raise refused(call, argument, "True or False", value)


def check_path(call: str, argument: str, value: Any) -> Path:
    """Returns the path. Raises ConfigError."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        raise refused(call, argument, "a path", value)
    return Path(_sound(call, argument, path))


def listed_names(call: str, argument: str, what: str, value: Any) -> list[str]:
    """Lists one name or several. `what`: the kind of things named. Raises ConfigError."""
    names = [value] if isinstance(value, str) else value
    is_list = isinstance(names, Sequence) and not isinstance(names, bytes)
    if not is_list or not names or not all(isinstance(name, str) for name in names):
        raise refused(call, argument, f"the name of a {what}, or a list of names", value)
    return list(names)


def listed_files(call: str, argument: str, value: Any) -> list[str]:
    """Lists one path, glob or URL, or several. Raises ConfigError."""
    allowed = "a path, glob or URL, or several in their order"
    several = [value] if isinstance(value, str | os.PathLike) else value
    is_unordered = isinstance(several, bytes | io.IOBase | set | frozenset | Mapping)
    if is_unordered or not isinstance(several, Iterable):
        raise refused(call, argument, allowed, value)
    files = []
    for each in several:
        path = os.fspath(each) if isinstance(each, str | os.PathLike) else None
        if not isinstance(path, str):
            raise refused(call, argument, allowed, each)
        files.append(_sound(call, argument, path))
    return files


def _sound(call: str, argument: str, path: str) -> str:
    if problem := text_problem(path):
        raise ConfigError(f"{call}: {argument}: {problem}")
    return path


def plain_value(call: str, argument: str, value: Any, *, is_finite: bool = False) -> Any:
    """A parameter or section in the form of a configuration: numbers and arrays of NumPy become
    Python's, paths become texts, tuples and iterators lists. `is_finite`: refuses NaN and infinity.
    Raises ConfigError for values that a configuration cannot hold, and for sets."""

    def plain(name: str, of: Any) -> Any:
        return plain_value(call, name, of, is_finite=is_finite)

    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    is_float = isinstance(value, float) and (math.isfinite(value) or not is_finite)
    if value is None or is_float or isinstance(value, int | str | date | time):
        return value
    is_iterator = isinstance(value, Iterator) and not isinstance(value, io.IOBase)
    if isinstance(value, list | tuple) or is_iterator:
        return [plain(argument, each) for each in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(f"{argument}.{key}", of) for key, of in value.items()}
    allowed = "finite numbers, texts, None, and lists and dicts of them with texts as keys"
    raise refused(call, argument, allowed, value)
