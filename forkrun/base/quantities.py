"""Numbers for people."""

from __future__ import annotations

DASH = "-"
BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
THIN_SPACE = " "


def count(n: int | float | None) -> str:
    """`1 234 567`; a dash for None."""
    return DASH if n is None else f"{round(n):,}".replace(",", THIN_SPACE)


def plural(n: int | None, word: str) -> str:
    """`1 lumi`, `2 lumis`."""
    return f"{count(n)} {word}" + ("" if n == 1 else "s")


def size(n_bytes: float | None) -> str:
    """Three digits and a binary unit: `1.21 GiB`, `345 MiB`."""
    if n_bytes is None:
        return DASH
    value, unit = float(n_bytes), 0
    while abs(value) >= 1000 and unit < len(BINARY_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if unit == 0 or abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f} {BINARY_UNITS[unit]}"


def seconds(value_s: float | None) -> str:
    """`0.012`, `1.23`, `123.4`: at least milliseconds, without a unit."""
    if value_s is None:
        return DASH
    return f"{value_s:.{3 if abs(value_s) < 1 else 2 if abs(value_s) < 100 else 1}f}"


def percent(fraction: float | None, digits: int = 1) -> str:
    """`97.3 %`."""
    return DASH if fraction is None else f"{100 * fraction:.{digits}f} %"


def bar(fraction: float, width: int) -> str:
    """`████▌   `: a fraction of `width` characters, to an eighth of one."""
    eighths = round(max(0.0, min(fraction, 1.0)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[rest] * (rest > 0)).ljust(width)
