"""Standard streams of a command that nobody may be listening to: closed, a pipe whose reader has
gone, a terminal that was hung up, a full disk, an encoding without the characters. A job ends the
same in any case, and control characters in names do not reach a terminal."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import TextIO

_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}


def open_standard_descriptors() -> None:
    """Opens /dev/null in the place of those that are closed: the next file that is opened would be
    taken for standard input or output."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def use_lasting_streams(*, output_counts: bool) -> None:
    """For the process of a command, before it opens anything. `output_counts`: what the command
    writes to stdout is what it is for: it ends with 0 when the reader has gone, and other errors
    there are raised."""
    open_standard_descriptors()
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = _Filtered(_lasting(1, sys.stdout, _Telling if output_counts else _Lenient))
    sys.stderr = _Filtered(_lasting(2, sys.stderr, _Lenient))


class _Lenient(io.FileIO):
    """Takes what cannot be written, so that nobody waits for it."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data))  # type: ignore[arg-type]


class _Telling(io.FileIO):
    """Ends the process as SIGPIPE would, with 0: `forkrun plan … | head`."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise SystemExit(0) from None  # libraries know what to do with the other


def stream_of_log(descriptor: int) -> TextIO:
    """Text for a process's log; what a full disk does not take is lost, and nobody waits for it."""
    raw = io.BufferedWriter(_Lenient(descriptor, "w", closefd=False))
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)


def _lasting(
    descriptor: int, before: TextIO | None, kind: type[_Lenient | _Telling]
) -> io.TextIOWrapper:
    """A stream like the one before; it writes \\N instead of what its encoding does not have."""
    raw = kind(descriptor, "w", closefd=False)
    by_line = descriptor == 2 or raw.isatty()
    encoding = getattr(before, "encoding", None) or "utf-8"
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, encoding, "backslashreplace", line_buffering=by_line)


class _Filtered(io.TextIOWrapper):
    """A text stream in which control characters can be read."""

    def __init__(self, unfiltered: io.TextIOWrapper) -> None:
        self.unfiltered = unfiltered
        by_line = unfiltered.line_buffering
        super().__init__(
            unfiltered.buffer, unfiltered.encoding, unfiltered.errors, line_buffering=by_line
        )

    def write(self, text: str, /) -> int:
        super().write(text.translate(_CONTROLS))
        return len(text)


def unfiltered(stream: TextIO) -> TextIO:
    """What passes control characters on: for forkrun's own."""
    stream.flush()
    passes: TextIO = getattr(stream, "unfiltered", stream)
    return passes


def tell(text: str) -> None:
    """Prints a message on stderr, wherever that leads."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):  # gone, or closed
        try:
            print(text, file=sys.stderr)
        except UnicodeEncodeError:
            print(text.encode("ascii", "backslashreplace").decode(), file=sys.stderr)
