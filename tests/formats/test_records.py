"""Records of the core, which Python makes and reads field by field."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

from forkrun import _core
from forkrun.errors import ForkrunError


@pytest.mark.parametrize("compression", ["auto", "none", "zstd:3", "lz4:4", "zlib:1", "lzma:9"])
def test_an_output_tells_the_compression_it_was_given(compression: str) -> None:
    content = _core.OutputContent(compression=compression, tree="Events")
    assert content.compression == compression


def test_a_field_of_another_type_is_refused() -> None:
    with pytest.raises(ForkrunError, match="is not auto, zstd:N"):
        _core.OutputContent(compression="best", tree="Events")
    with pytest.raises(TypeError):
        _core.EventSource(files=[1])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        _core.OutputContent(tree="Events")  # type: ignore[call-arg]


def test_a_source_tells_what_it_was_given() -> None:
    entries = (
        np.array([0, 5], np.int64), np.array([0, -1], np.int32), np.array([7, 0], np.int64),
        np.array([0, 1], np.uint8),
    )  # fmt: skip
    identity = ("uuid", 100, 5)
    friend = (("", "", ""), [([("b", "Friend", identity)], entries)], 1 << 20)
    events = _core.EventSource(
        files=["a"], tree="Events", ids=("run", "lumi", "event"), columns=[("x", "float32[]")],
        clusters=[(0, 4, 9)], identities=[identity], fills={"x": (-1.0, "nx")}, friends=[friend],
        friend_columns={"y": (0, "y", 2.0)}, format="ttree", expected=("x",),
    )  # fmt: skip
    assert events.files == ["a"]
    assert events.ids == ("run", "lumi", "event")
    assert events.columns == [("x", "float32[]")]
    assert events.clusters == [[0, 4, 9]]
    assert events.identities == [identity]
    assert events.fills == {"x": (-1.0, "nx")}
    assert events.friend_columns == {"y": (0, "y", 2.0)}
    assert events.n_kept_bytes == 0
    ((ids, ((files, found),), n_kept_bytes),) = events.friends
    assert (ids, files, n_kept_bytes) == (friend[0], [("b", "Friend", identity)], 1 << 20)
    arrays = [np.asarray(each) for each in found]
    for array, given in zip(arrays, map(np.asarray, entries), strict=True):
        assert array.dtype == given.dtype
        assert array.tolist() == given.tolist()


def test_each_file_has_its_tree_or_that_of_all() -> None:
    events = _core.EventSource(files=["a", "b"], tree="Events")
    assert [events.tree_of(0), events.tree_of(1)] == ["Events", "Events"]
    events.trees = ["One", "Other"]
    assert events.tree_of(1) == "Other"


def test_a_copy_changes_by_itself() -> None:
    content = _core.OutputContent(branches=["x"], compression="auto", tree="Events")
    output = _core.OutputToMake(
        fragments=[(3, ["f"])], files=[("out", [(0, 1, 9)])], content=content, progress=print
    )
    other = copy(output)
    other.content.tree, other.n_events = "Runs", 5
    assert (output.content.tree, content.tree, other.content.tree) == ("Events", "Events", "Runs")
    assert (output.n_events, other.n_events) == (0, 5)
    assert (other.fragments, other.files) == ([(3, ["f"])], [("out", [(0, 1, 9)])])
