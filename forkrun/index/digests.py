"""Digests that show whether the input of a job is unchanged."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from forkrun.config.anchor import is_url
from forkrun.index.model import FileIndex
from forkrun.index.partners import FriendFile
from forkrun.index.ranges import LumiRanges


def input_digests(index: Sequence[FileIndex], ranges: LumiRanges) -> dict[str, str]:
    """Digest of each file's identity and ranges, by name, and of the friends."""
    digests = {
        input_name(file): _input_digest(file, held)
        for file, held in zip(index, ranges.bytes_by_file(len(index)), strict=True)
    }
    of_friends = (each for file in index for part in file.friends for each in part.files)
    return digests | {friend_name(each): each.digest for each in of_friends}


def input_name(file: FileIndex) -> str:
    """Name of a file among digests. A remote file is the same on any server: its UUID and size name
    it."""
    if not is_url(file.path):
        return file.name
    return f"{file.uuid}, {file.n_bytes} bytes" + f": {file.tree}" * bool(file.tree)


def friend_name(file: FriendFile) -> str:
    """Name of a friend's file among digests."""
    return f'friend "{file.tree}" in {file.path}'


def _input_digest(file: FileIndex, held: memoryview) -> str:
    """Digest of the file's identity and of `held`, the records of its lumi ranges."""
    size = None if is_url(file.path) else file.n_bytes
    digest = hashlib.sha256(repr((file.uuid, file.n_entries, size)).encode())
    digest.update(held)
    return digest.hexdigest()
