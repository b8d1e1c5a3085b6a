"""Amounts with units, as people write them."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError

_SIZES = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}  # fmt: skip
_SIZE_FORM = 'write a size as "2 GB", "500 MiB" or a number of bytes'
_TIME_FORM = 'write a time as "90 s", "1h30m", "HH:MM:SS" or a number of seconds'
_MOST_DIGITS = 100
_TIMES_S = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}


def parse_size(value: object) -> object:
    """`"2 GB"`, `"500 MiB"` or a number of bytes → bytes. Raises ValueError."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", value)
    if not match or match[2] not in _SIZES:
        raise ValueError(_SIZE_FORM)
    return round(_number(match[1], _SIZE_FORM) * _SIZES[match[2]])


def parse_duration(value: object) -> object:
    """`"90 s"`, `"1h30m"`, `"HH:MM:SS"` or a number of seconds → seconds. Raises ValueError."""
    if not isinstance(value, str):
        return value
    text = value.replace(" ", "")
    if re.fullmatch(r"[0-9.]+", text):
        return _number(text, _TIME_FORM)
    if re.fullmatch(r"(\d+-)?\d+:\d\d(:\d\d)?", text):
        return _clock(text)
    parts = re.findall(r"([0-9.]+)(min|[smhd])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(_TIME_FORM)
    return float(sum(_number(number, _TIME_FORM) * _TIMES_S[unit] for number, unit in parts))


def _number(text: str, form: str) -> float:
    """Of digits and points. Raises ValueError if they are no number, or one beyond all bounds."""
    if text.count(".") > 1 or not any(map(str.isdigit, text)) or len(text) > _MOST_DIGITS:
        raise ValueError(form)
    return float(text)


def whole_number(text: str) -> int:
    """Of an argument of the command line, within 64 bits. Raises ArgumentTypeError."""
    digits = text.strip().lstrip("+-")
    value = int(text) if digits.isdecimal() and len(digits) < _MOST_DIGITS else None
    if value is None or not -(1 << 63) <= value < 1 << 63:
        shown = text if len(text) < _MOST_DIGITS else text[:20] + "…"
        raise ArgumentTypeError(f"a whole number of at most 19 digits is needed, not {shown!r}")
    return value


def _clock(text: str) -> float:
    """`D-HH:MM:SS`, `HH:MM:SS` or `MM:SS`, as Slurm writes them."""
    if len(text) > _MOST_DIGITS:
        raise ValueError(_TIME_FORM)
    days, _, clock = text.rpartition("-")
    seconds = 0
    for part in clock.split(":"):
        seconds = 60 * seconds + int(part)
    return float(86400 * int(days or 0) + seconds)
