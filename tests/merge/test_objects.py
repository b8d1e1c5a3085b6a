"""Joining objects other than trees: as ROOT does, or once."""

from __future__ import annotations

from pathlib import Path

import pytest

from forkrun import _core
from forkrun.cli import main
from forkrun.errors import InputError
from forkrun.merge import merge_files
from tests.server.root_program import call_root
from tests.support.jobs import sha256
from tests.support.object_file import contents, hadd, write_histogram, write_named, write_objects


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("objects")
    return [write_objects(folder / f"{i}.root", i) for i in range(3)]


def write_texts(path: Path, **texts: str) -> str:
    """A file with a TNamed "folder/KEY" for each."""
    call_root(write_named, str(path), texts)
    return str(path)


@pytest.mark.slow
def test_all_that_root_can_merge_is_merged_as_hadd_does(tmp_path: Path, inputs: list[str]) -> None:
    ours, theirs = tmp_path / "ours.root", tmp_path / "theirs.root"
    notes: list[str] = []
    assert merge_files(inputs, ours, note=notes.append) == {"folder/ntuple": 15}
    hadd(theirs, inputs)
    merged, expected = contents(ours), contents(theirs)
    assert merged == expected
    assert len(merged["folder/TGraph"]) == 1 + 10 + 11 + 12
    assert merged["folder/THnSparseD"][1] == 150
    assert merged["folder/TList"][1][0] == merged["folder/THStack"][1][0] == 3 * 30
    assert merged["empty/"] == ["nothing in it"]
    assert notes == [
        "folder/ntuple: 6 baskets of 3 files, 90 bytes each on average, were joined, as a third or"
        " more of such baskets is their headers",
        'object "folder/same" (TNamed) cannot be merged: it is the same in 3 files, kept once',
    ]


@pytest.mark.long
def test_the_bytes_are_the_same_each_time(tmp_path: Path, inputs: list[str]) -> None:
    outputs = [tmp_path / "one.root", tmp_path / "other.root"]
    for output in outputs:
        merge_files(inputs, output)
    assert len({sha256(output) for output in outputs}) == 1


def test_objects_that_differ_and_cannot_be_merged_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        write_texts(tmp_path / f"{i}.root", tag=f"v{i}", same="s", era=f"e{i}") for i in range(2)
    ]
    output = tmp_path / "out.root"
    assert main(["merge", str(output), *files]) == 3
    message = capsys.readouterr().err
    assert f'{files[1]}: object "folder/tag" (TNamed) differs from that of {files[0]}' in message
    assert f'; object "folder/era" (TNamed) differs from that of {files[0]}' in message
    assert "same" not in message
    assert "--keep-first" in message
    assert not output.exists()


def test_the_first_one_is_kept_if_that_is_wished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [write_texts(tmp_path / f"{i}.root", tag=f"v{i}") for i in range(2)]
    output = tmp_path / "out.root"
    assert main(["merge", str(output), *files, "--keep-first"]) == 0
    assert contents(output) == {"folder/": ["folder"], "folder/tag": ["TNamed", "v0"]}
    assert "1 of 2 files differ" in capsys.readouterr().out


def test_histograms_whose_axes_cannot_be_joined_are_an_error(tmp_path: Path) -> None:
    files = []
    for i, low in enumerate((0.0, 0.03)):
        path = tmp_path / f"{i}.root"
        call_root(write_histogram, str(path), low)
        files.append(str(path))
    with pytest.raises(InputError, match=r'object "h" \(TH1D\) cannot be merged.*limits'):
        merge_files(files, tmp_path / "out.root")


def test_carried_objects_follow_the_same_rules(tmp_path: Path) -> None:
    files = [write_texts(tmp_path / f"{i}.root", tag=f"v{i}", same="x") for i in range(2)]
    output = tmp_path / "out.root"
    write_texts(output)
    with pytest.raises(InputError, match="keep_first = true"):
        _core.carry_objects(files, str(output), [])
    output.unlink()
    write_texts(output)
    _core.carry_objects(files, str(output), [], True)
    assert contents(output)["folder/tag"] == ["TNamed", "v0"]
