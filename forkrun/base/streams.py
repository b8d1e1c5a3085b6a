"""Standard streams that may fail: closed, a pipe without reader, a terminal that was hung up, a
full disk, an encoding without the characters. The end of a job does not depend on them, and control
characters in names do not reach a terminal."""

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
    """Opens /dev/null in place of closed ones: otherwise the next opened file would become standard
    input or output."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def use_lasting_streams(*, output_counts: bool) -> None:
    """Makes the streams of a command robust, before it opens anything. `output_counts`: stdout is
    the purpose of the command: it ends with 0 when the reader has gone, and raises other errors."""
    open_standard_descriptors()
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = _Filtered(_lasting(1, sys.stdout, _EndingAsPipe if output_counts else _Lenient))
    sys.stderr = _Filtered(_lasting(2, sys.stderr, _Lenient))


class _Lenient(io.FileIO):
    """Drops output that cannot be written."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data))  # type: ignore[arg-type]


class _EndingAsPipe(io.FileIO):
    """Ends the process when the reader has gone, with exit code 0: `forkrun plan … | head`."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise SystemExit(0) from None  # libraries handle the other error


def stream_of_log(descriptor: int) -> TextIO:
    """Text stream for a process's log; on a full disk output is lost without waiting."""
    raw = io.BufferedWriter(_Lenient(descriptor, "w", closefd=False))
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)


def _lasting(
    descriptor: int, before: TextIO | None, kind: type[_Lenient | _EndingAsPipe]
) -> io.TextIOWrapper:
    """A stream like the one before; it writes \\N instead of what its encoding does not have."""
    raw = kind(descriptor, "w", closefd=False)
    by_line = descriptor == 2 or raw.isatty()
    encoding = getattr(before, "encoding", None) or "utf-8"
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, encoding, "backslashreplace", line_buffering=by_line)


class _Filtered(io.TextIOWrapper):
    """A text stream that makes control characters visible."""

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
    """The stream that passes control characters: for forkrun's own."""
    stream.flush()
    passes: TextIO = getattr(stream, "unfiltered", stream)
    return passes


def tell(text: str) -> None:
    """Prints a message on stderr, ignoring failures."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):  # reader gone, or closed
        try:
            print(text, file=sys.stderr)
        except UnicodeEncodeError:
            print(text.encode("ascii", "backslashreplace").decode(), file=sys.stderr)
