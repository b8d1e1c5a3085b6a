"""What the operating system refuses, in words for users."""

from __future__ import annotations

import errno
import os

from forkrun.base.refusals import refusal


def test_a_refusal_names_its_place_where_there_is_one_and_says_nothing_twice() -> None:
    said = os.strerror(errno.EAGAIN)
    texts = {str(refusal(OSError(errno.EAGAIN, said, place))) for place in (None, said)}
    assert len(texts) == 1
    [text] = texts
    assert text.startswith(f"{said}: no more threads or processes may be started (ulimit -u, ")
    assert str(refusal(OSError(errno.EMFILE, "Too many", "/x"))).startswith("/x: Too many: ")
