"""Numbers with units: printing and parsing."""

from __future__ import annotations

import re
import time
from argparse import ArgumentTypeError

DASH = "-"
SIZE_UNITS = ("B", "kB", "MB", "GB", "TB")
_SIZES = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}  # fmt: skip
_SIZE_FORM = 'write a size as "2 GB", "500 MiB" or a number of bytes'
_TIME_FORM = 'write a time as "90 s", "1h30m", "HH:MM:SS" or a number of seconds'
_MOST_DIGITS = 100
_TIMES_S = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}


def count(n: int | float | None) -> str:
    """`1,234,567`; a dash for None."""
    return DASH if n is None else f"{round(n):,}"


_PLURALS = {
    "axis": "axes", "branch": "branches", "child": "children", "copy": "copies",
    "entry": "entries", "process": "processes",
}  # fmt: skip


def plural(n: float | None, words: str) -> str:
    """`1 lumi`, `2 lumis`, `2 more children`: a number, and words of which the last agrees."""
    before, space, last = words.rpartition(" ")
    return f"{count(n)} {words if n == 1 else before + space + _PLURALS.get(last, last + 's')}"


def size(n_bytes: float | None) -> str:
    """Three digits and a unit, of powers of 1000: `1.21 GB`, `345 MB`."""
    if n_bytes is None:
        return DASH
    value, unit = float(n_bytes), 0
    while abs(value) >= 999.5 and unit < len(SIZE_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    digits = 0 if unit == 0 or abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f} {SIZE_UNITS[unit]}"


def seconds(value_s: float | None) -> str:
    """`0.012`, `1.23`, `123.4`: at least milliseconds, without a unit."""
    if value_s is None:
        return DASH
    return f"{value_s:.{3 if abs(value_s) < 1 else 2 if abs(value_s) < 100 else 1}f}"


def megabytes(n_bytes: float) -> str:
    """`700.0 MB`, for tables of one unit; three decimals below 10."""
    value = n_bytes / 1e6
    return f"{value:,.{3 if abs(value) < 10 else 1}f} MB"


def duration(time_s: float | None) -> str:
    """Three digits and a unit: `12.3 µs`, `1.5 s`, `120 s`, `1 h 5 min`."""
    if time_s is None:
        return DASH
    if time_s >= 3600:
        hours, minutes = divmod(round(time_s / 60), 60)
        return f"{hours} h {minutes} min"
    if time_s >= 100:
        return f"{time_s:.0f} s"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if time_s >= factor:
            return f"{time_s / factor:.3g} {unit}"
    return f"{time_s / 1e-9:.3g} ns" if time_s else "0 s"


def date(time_s: float) -> str:
    """`2026-11-29 01:20`: local time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(time_s))


def clock(time_s: float) -> str:
    """`0:10`, `1:02:03`: hours, minutes and seconds."""
    minutes, left_s = divmod(round(time_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left_s:02d}" if hours else f"{minutes}:{left_s:02d}"


def percent(fraction: float | None, digits: int = 1) -> str:
    """`97.3 %`."""
    return DASH if fraction is None else f"{100 * fraction:.{digits}f} %"


def bar(fraction: float, width: int) -> str:
    """`████▌   `: a fraction of `width` characters, to an eighth of one."""
    eighths = round(max(0.0, min(fraction, 1.0)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[rest] * (rest > 0)).ljust(width)


def parse_size(value: object) -> object:
    """`"2 GB"`, `"500 MiB"` or a number of bytes → bytes. Raises ValueError."""
    if isinstance(value, bool):
        raise ValueError(_SIZE_FORM)
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", value)
    if not match or match[2] not in _SIZES:
        raise ValueError(_SIZE_FORM)
    return round(_number(match[1], _SIZE_FORM) * _SIZES[match[2]])


def parse_duration(value: object) -> object:
    """`"90 s"`, `"1h30m"`, `"HH:MM:SS"` or a number of seconds → seconds. Raises ValueError."""
    if isinstance(value, bool):
        raise ValueError(_TIME_FORM)
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
    """The number in a text of digits and points. Raises ValueError for other or too long texts."""
    if text.count(".") > 1 or not any(map(str.isdigit, text)) or len(text) > _MOST_DIGITS:
        raise ValueError(form)
    return float(text)


def whole_number(text: str) -> int:
    """A command-line argument as an integer of 64 bits. Raises ArgumentTypeError."""
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


def progress_line(n_done: int, total: int, elapsed_s: float, what: str) -> str:
    """`1,200 of 5,000 events (24 %), 400/s, 0:10 left`. Pure."""
    rate = n_done / elapsed_s if elapsed_s > 0 else 0.0
    percent = 100 * n_done // total if total else 100
    text = f"{n_done:,} of {total:,} {what} ({percent} %), {rate:,.0f}/s"
    return f"{text}, {clock((total - n_done) / rate)} left" if rate else text
