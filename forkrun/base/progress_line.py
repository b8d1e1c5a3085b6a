"""Progress in words."""

from __future__ import annotations


def progress_line(n_done: int, total: int, elapsed_s: float, what: str) -> str:
    """`1,200 of 5,000 events (24 %), 400/s, 0:10 left`. Pure."""
    rate = n_done / elapsed_s if elapsed_s > 0 else 0.0
    percent = 100 * n_done // total if total else 100
    text = f"{n_done:,} of {total:,} {what} ({percent} %), {rate:,.0f}/s"
    if not rate:
        return text
    minutes, seconds = divmod(round((total - n_done) / rate), 60)
    return f"{text}, {minutes}:{seconds:02d} left"
