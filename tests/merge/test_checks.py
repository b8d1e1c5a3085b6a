"""Files that are damaged are not merged."""

from __future__ import annotations

import gzip
import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.cli import main
from forkrun.errors import InputError
from forkrun.merge import merge_files
from tests.server.root_program import call_root
from tests.support.object_file import lose_entries

DATA = Path(os.environ.get("FORKRUN_TEST_DATA", "../shared/data"))
N_CLUSTERS, N_EVENTS = 4, 300


def write(path: Path, compression: str = "zstd:5") -> Path:
    """Clusters of 300 events with a scalar and a jagged column of numbers that do not compress."""
    columns = [("x", "float64"), ("y", "float64"), ("Jet_pt", "float32[]")]
    writer = _core.TreeWriter(str(path), "Events", columns, compression)
    random = np.random.default_rng(1)
    for _ in range(N_CLUSTERS):
        x, y = (np.round(random.random(N_EVENTS), 2) for _ in range(2))
        offsets = np.arange(N_EVENTS + 1, dtype=np.int64) * 2
        values = np.round(random.random(2 * N_EVENTS), 1).astype(np.float32)
        writer.write({"x": x, "y": y, "Jet_pt": (offsets, values)})
    writer.close()
    return path


def basket(path: Path, branch: str, number: int) -> tuple[int, int]:
    """Place and size on file."""
    with uproot.open(path) as file:
        members = file["Events"][branch].all_members
        return int(members["fBasketSeek"][number]), int(members["fBasketBytes"][number])


def overwrite(path: Path, place: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(content)


def test_a_file_that_is_whole_passes_the_whole_check(tmp_path: Path) -> None:
    path = write(tmp_path / "a.root")
    entries = merge_files([path, path], tmp_path / "out.root", verify=True)
    assert entries == {"Events": 2400}


@pytest.mark.parametrize("name", ["nano_dimuon.root", "nanoAOD_2015_CMS_Open_Data_ttbar.root"])
def test_files_of_experiments_pass_the_whole_check(tmp_path: Path, name: str) -> None:
    if not (DATA / name).exists():
        pytest.skip("needs the real input files")
    assert merge_files([DATA / name], tmp_path / "out.root", verify=True)["Events"] > 0


def test_baskets_that_were_exchanged_are_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.root", "none")
    (one, n_one), (other, n_other) = basket(path, "x", 1), basket(path, "y", 1)
    content = path.read_bytes()
    assert n_one == n_other
    overwrite(path, one, content[other : other + n_other])
    overwrite(path, other, content[one : one + n_one])
    expected = r'a\.root: tree "Events", branch "x", basket 1 \(entries 300 to 599\).* belongs at'
    with pytest.raises(InputError, match=expected):
        merge_files([path], tmp_path / "out.root")
    assert not (tmp_path / "out.root").exists()


def test_a_basket_with_another_number_of_entries_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.root")
    place, _ = basket(path, "x", 2)
    header = path.read_bytes()[place : place + 100]
    key_length = struct.unpack(">h", header[14:16])[0]
    overwrite(path, place + key_length - 9, struct.pack(">i", N_EVENTS - 1))
    with pytest.raises(InputError, match=r"basket 2 \(entries 600 to 899\): it has 299 entries"):
        merge_files([path], tmp_path / "out.root")


def test_compressed_blocks_that_do_not_fit_are_found(tmp_path: Path) -> None:
    path = write(tmp_path / "a.root")
    place, _ = basket(path, "x", 0)
    key_length = struct.unpack(">h", path.read_bytes()[place + 14 : place + 16])[0]
    overwrite(path, place + key_length + 6, b"\x01")
    with pytest.raises(InputError, match=r"compressed data (do not fit|are cut short)"):
        merge_files([path], tmp_path / "out.root")


def test_a_branch_that_has_lost_entries_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_root(lose_entries, str(tmp_path / "b.root"))
    code = main(["merge", str(tmp_path / "out.root"), str(tmp_path / "b.root")])
    assert code == 3
    expected = 'b.root: tree "Events", branch "y" has 200 entries, where the tree has 400'
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "out.root").exists()


def test_damaged_contents_are_found_by_the_whole_check_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.root")
    place, n_bytes = basket(path, "Jet_pt", 1)
    overwrite(path, place + n_bytes // 2, bytes(n_bytes // 3))
    copy = tmp_path / "copy.root"
    shutil.copy(path, copy)
    assert merge_files([copy], tmp_path / "out.root") == {"Events": 1200}
    assert main(["merge", str(tmp_path / "checked.root"), str(path), "--verify"]) == 3
    assert not (tmp_path / "checked.root").exists()


@pytest.mark.parametrize("number", [n for n in range(12) if n != 7])  # 7: the tree's own record
def test_files_that_passed_once_do_not_pass_any_more(tmp_path: Path, number: int) -> None:
    packed = DATA / "damaged" / f"passed-{number:02}.root.gz"
    if not packed.exists():
        pytest.skip("needs the damaged files")
    path = tmp_path / "damaged.root"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    with pytest.raises(InputError, match=r"damaged\.root"):
        merge_files([path], tmp_path / "out.root", verify=True)
