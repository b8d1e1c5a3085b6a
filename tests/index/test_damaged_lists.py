"""Lists of a file's objects, and descriptions of leaves, of which a number or a letter is wrong.
Readers pass over such an object and all behind it: here it is an error, or nothing is lost."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.errors import InputError
from tests.fuzz.records import Record, records
from tests.support.files import write_events
from tests.support.jobs import forkrun, write_job
from tests.support.object_file import write_objects

REFUSED = 3


def write_trees(path: Path) -> Path:
    write_events(path, [(1, 1, 12), (1, 2, 8)])
    for name in ("Runs", "Lumis"):
        writer = _core.TreeWriter(str(path), name, [("x", "int32")], "none", append_tree=True)
        writer.write({"x": np.array([1, 2, 3], np.int32)})
        writer.close()
    return path


def write_folders(path: Path) -> Path:
    """Histograms, graphs, an ntuple, in folders."""
    write_objects(path, 1)
    return path


def lists(data: bytes) -> Iterator[Record]:
    """The lists of objects of the file and of its folders."""
    for record in records(data):
        content = data[record.payload]
        if record.kind.startswith(("TFile", "TDirectory")) and len(content) > 34:
            n_keys, _, version = struct.unpack_from(">iih", content)
            if 0 < n_keys < 1000 and version in (4, 1004):
                yield record


def damaged(data: bytes, draw: random.Random) -> bytes:
    """With one byte of a list changed that is none of a date's, a title's or a cycle's."""
    record = draw.choice(list(lists(data)))
    places = [record.at + record.key_bytes + n for n in range(4)]  # how many there are
    at = record.at + record.key_bytes + 4
    while at < record.at + record.n_bytes:
        (n_key_bytes,) = struct.unpack_from(">h", data, at + 14)
        n_type = data[at + 26]
        n_name = data[at + 27 + n_type]
        numbers = [*range(10), 14, 15, *range(18, 22)]
        places += [at + n for n in (*numbers, *range(26, 28 + n_type + n_name))]
        at += n_key_bytes
    changed = bytearray(data)
    changed[draw.choice(places)] ^= 1 << draw.randrange(8)
    return bytes(changed)


def merge_each(files: list[Path]) -> list[int]:
    """How the merge of each ends, beside it. In a process of its own, and in another one from the
    next file on where ROOT dies of one."""
    codes: list[int] = []
    while len(codes) < len(files):
        ends, says = os.pipe()
        pid = os.fork()
        if pid == 0:
            for file in files[len(codes) :]:
                os.write(says, bytes([_merge(file)]))
            os._exit(0)
        os.close(says)
        with os.fdopen(ends, "rb") as told:
            codes += told.read()
        if died := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            codes.append(died)
    return codes


def _merge(file: Path) -> int:
    try:
        _core.merge_trees([str(file)], str(merged(file)), verify=True)
        return 0
    except InputError as error:
        return REFUSED if str(file) in str(error) else 4
    except BaseException:
        return 5


def merged(file: Path) -> Path:
    return file.with_suffix(".merged.root")


def objects_in(path: Path) -> dict[str, tuple[str, int]]:
    """Classes, and entries of trees, by path within the file."""
    with uproot.open(path) as file:
        return {
            name: (kind, file[name].num_entries if kind.startswith(("TTree", "TNtuple")) else 0)
            for name, kind in file.classnames(cycle=False).items()
        }


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("write", "n_files"), [(write_trees, 300), (write_folders, 60)])
def test_no_object_is_lost_by_a_damaged_list(tmp_path: Path, write, n_files: int) -> None:  # type: ignore[no-untyped-def]
    sound = write(tmp_path / "sound.root")
    draw = random.Random(1)
    files = [tmp_path / f"damaged{number}.root" for number in range(n_files)]
    for file in files:
        file.write_bytes(damaged(sound.read_bytes(), draw))
    code, *codes = merge_each([sound, *files])
    assert code == 0
    assert {*codes} <= {0, REFUSED}
    expected = objects_in(merged(sound))
    taken = [file for file, code in zip(files, codes, strict=True) if code == 0]
    assert [file for file in taken if objects_in(merged(file)) != expected] == []
    assert len(taken) < 0.2 * n_files


@pytest.mark.parametrize(("n_told", "words"), [(2, "there are more"), (4, "3 can be read")])
def test_a_job_refuses_a_wrong_number_of_objects_before_it_reads_events(
    tmp_path: Path, n_told: int, words: str
) -> None:
    file = write_trees(tmp_path / "in.root")
    data = bytearray(file.read_bytes())
    (record,) = lists(bytes(data))
    assert struct.unpack_from(">i", data, record.payload.start) == (3,)
    struct.pack_into(">i", data, record.payload.start, n_told)
    file.write_bytes(data)
    job = write_job(tmp_path, {"source": {"files": [str(file)]}, "outputs": [{"label": "all"}]})
    ended = forkrun("run", job, "-o", tmp_path / "run", cwd=tmp_path)
    assert ended.code == REFUSED
    assert f"{file}: is damaged: the list of its objects tells {n_told} of them" in ended.err
    assert words in ended.err
    ended = forkrun("merge", tmp_path / "merged.root", file, cwd=tmp_path)
    assert ended.code == REFUSED
    assert words in ended.err


@pytest.mark.parametrize("n_bytes", [-1, 0, 2, 8])
def test_a_leaf_with_values_of_another_size_than_its_class_is_refused(
    tmp_path: Path, n_bytes: int
) -> None:
    file = tmp_path / "in.root"
    writer = _core.TreeWriter(str(file), "Runs", [("x", "int32")], "none")
    writer.write({"x": np.array([1, 2, 3], np.int32)})
    writer.close()
    data = bytearray(file.read_bytes())
    numbers = data.index(b"\x01x\x01x") + 4  # behind name and title of the leaf
    assert struct.unpack_from(">iii", data, numbers) == (1, 4, 0)
    struct.pack_into(">i", data, numbers + 4, n_bytes)
    file.write_bytes(data)
    ended = forkrun("merge", tmp_path / "merged.root", "--verify", file, cwd=tmp_path)
    assert ended.code == REFUSED
    assert f'leaf "x" (TLeafI) has values of {n_bytes} bytes' in ended.err
