"""Branches of Float16_t and Double32_t, in outputs of every compression: ROOT opens them without a
word, and reads what it reads of the input."""

from __future__ import annotations

from pathlib import Path

from forkrun.merge import merge_files
from tests.server.root_program import call_root
from tests.support import counted_file
from tests.support.jobs import forkrun, write_job
from tests.support.opened_by_root import open_with_root

COMPRESSIONS = ("none", "zlib:1", "lzma:4", "lz4:4", "zstd:5")


def test_outputs_with_rounded_numbers_are_opened_without_a_message(tmp_path: Path) -> None:
    file = tmp_path / "in.root"
    call_root(counted_file.write_rounded, str(file))
    ids = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    job = {
        "source": {"files": [str(file)], **ids},
        "forking": {"children": 0},
        "modules": [{"label": "even", "type": "expression:event % 2 == 0", "kind": "filter"}],
        "paths": {"even": ["even"]},
        "outputs": [
            {"label": name.replace(":", "-"), "paths": ["even"], "compression": name}
            for name in COMPRESSIONS
        ],
    }
    ended = forkrun("run", write_job(tmp_path, job), "-o", tmp_path / "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    skims = sorted((tmp_path / "run/output").glob("*.root"))
    assert len(skims) == len(COMPRESSIONS)
    copied, joined = tmp_path / "copied.root", tmp_path / "joined.root"
    merge_files([file, file], copied, recluster="never")
    merge_files([file, file], joined, recluster="always")
    merge_files([file], tmp_path / "lzma.root", compression="lzma:1")
    open_with_root([*skims, copied, joined, tmp_path / "lzma.root"])
    given = [file, tmp_path / "lzma.root", copied, joined, *skims]
    found = call_root(counted_file.rounded, [str(path) for path in given])
    assert found[0][7][:2] == [[7], [7]]
    assert found[1] == found[0]
    assert found[2] == found[3] == 2 * found[0]
    assert found[4:] == [found[0][::2]] * len(skims)
