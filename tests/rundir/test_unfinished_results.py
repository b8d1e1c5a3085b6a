"""What a merge leaves that is killed, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.opening import remove_unfinished_results


def test_temporary_files_are_removed_also_from_folders_of_outputs(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    kept = [run.output / "all.root", run.output / "skim/ttbar.root"]
    left = [file.with_name(f"{file.name}.01234567.part") for file in kept]
    elsewhere = tmp_path / "elsewhere/mine.root.01234567.part"
    for file in (*kept, *left, elsewhere, run.ledger / "child-0.jsonl"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (run.output / "link").symlink_to(elsewhere.parent)
    remove_unfinished_results(run)
    assert [file for file in (*kept, elsewhere) if not file.exists()] == []
    assert [file for file in left if file.exists()] == []
