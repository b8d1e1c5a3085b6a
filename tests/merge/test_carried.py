"""Other trees and objects of the input: what outputs over parts of the same files have of them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.errors import InputError
from forkrun.index.find import sums_of_weights, total_of
from forkrun.merge import merge_files
from tests.support.files import write_events
from tests.support.jobs import forkrun, sha256, write_job
from tests.support.object_file import hadd

RUNS = [("run", "uint32"), ("genEventSumw", "float64"), ("LHEPdfSumw", "float64[]")]
RECORD = "forkrun_origins"


def write_source(path: Path, number: int, n_pdf: int = 2, columns: Any = RUNS) -> Path:
    """A file of three lumis, with the sums of its weights: exact numbers, of its own."""
    write_events(path, [(number, lumi, 10) for lumi in (1, 2, 3)], 1 + 100 * number)
    runs = _core.TreeWriter(str(path), "Runs", columns, "zstd:1", append_tree=True)
    values: dict[str, Any] = {
        "run": np.array([number], np.uint32),
        "genEventSumw": np.array([2.0**number + 0.25]),
        "LHEPdfSumw": (np.array([0, n_pdf]), np.arange(n_pdf) + 1.0 * number),
        "more": np.array([7], np.int32),
    }
    kinds = {"float32": np.float32}
    runs.write({n: values[n].astype(kinds[k]) if k in kinds else values[n] for n, k in columns})
    runs.close()
    lumis = [("luminosityBlock", "uint32"), ("weight", "float64")]
    tree = _core.TreeWriter(str(path), "LuminosityBlocks", lumis, "zstd:1", append_tree=True)
    tree.write({"luminosityBlock": np.arange(1, 4, dtype=np.uint32), "weight": 3.0**number * ONES})
    tree.close()
    return path


ONES = np.ones(3)


def run_job(folder: Path, name: str, files: Sequence[Path], **source: Any) -> Path:
    job = {
        "source": {"files": [str(file) for file in files], **source},
        "forking": {"children": 0},
        "outputs": [{"label": "all"}],
    }
    (folder / name).mkdir()
    path = write_job(folder / name, job)
    ended = forkrun("run", path, "-o", folder / name / "run", cwd=folder)
    assert ended.code == 0, ended.err
    return folder / name / "run/output/all.root"


def lumi_mask(folder: Path, lumis: Mapping[int, tuple[int, int]]) -> str:
    mask = folder / f"{len(list(folder.glob('*.json')))}.json"
    mask.write_text(json.dumps({str(run): [first_last] for run, first_last in lumis.items()}))
    return str(mask)


def sums(file: Path) -> dict[str, Any]:
    with uproot.open(file) as opened:
        runs, lumis = opened["Runs"], opened["LuminosityBlocks"]
        return {
            "run": sorted(runs["run"].array().tolist()),
            "weights": runs["genEventSumw"].array(library="np").sum(),
            "pdf": sorted(map(tuple, runs["LHEPdfSumw"].array().tolist())),
            "lumis": lumis["weight"].array(library="np").sum(),
        }


def expected(numbers: Sequence[int]) -> dict[str, Any]:
    return {
        "run": sorted(numbers),
        "weights": sum(2.0**n + 0.25 for n in numbers),
        "pdf": sorted((1.0 * n, 1.0 * n + 1) for n in numbers),
        "lumis": sum(3 * 3.0**n for n in numbers),
    }


def test_jobs_over_parts_of_a_file_have_its_rows_once_when_they_are_merged(tmp_path: Path) -> None:
    files = [write_source(tmp_path / f"{n}.root", n) for n in (1, 2)]
    outputs = [
        run_job(tmp_path, "a", files, lumi_mask=lumi_mask(tmp_path, {1: (1, 2)})),
        run_job(tmp_path, "b", files, lumi_mask=lumi_mask(tmp_path, {1: (3, 3), 2: (1, 3)})),
    ]
    assert [sums(output) for output in outputs] == [expected([1, 2])] * 2
    merged, notes = tmp_path / "merged.root", list[str]()
    entries = merge_files(outputs, merged, note=notes.append)
    assert entries == {"Events": 60, "LuminosityBlocks": 6, "Runs": 2}
    assert sums(merged) == expected([1, 2])
    assert [note for note in notes if "carried more than once" in note] == [
        'tree "LuminosityBlocks": taken once: 6 rows of input files that were carried more than'
        " once",
        'tree "Runs": taken once: 2 rows of input files that were carried more than once',
    ]


def test_rows_are_told_apart_within_outputs_that_share_some_files(tmp_path: Path) -> None:
    files = [write_source(tmp_path / f"{n}.root", n) for n in range(4)]
    one = run_job(tmp_path, "one", files[:3], max_events=45)
    other = run_job(tmp_path, "other", files[1:], skip_events=15)
    merged = tmp_path / "merged.root"
    assert merge_files([one, other], merged)["Runs"] == 4
    assert sums(merged) == expected([0, 1, 2, 3])
    again = run_job(tmp_path, "again", [merged, other], max_events=50)  # a job over outputs
    assert sums(again) == expected([0, 1, 2, 3])


@pytest.mark.long
def test_random_splits_over_real_files_have_exact_sums(tmp_path: Path) -> None:
    files = [write_source(tmp_path / f"{n}.root", n) for n in range(5)]
    draw, ids = random.Random(4), [(_identity(file)) for file in files]
    for split in range(60):
        level: list[Path] = []
        picks = [draw.sample(range(5), draw.randint(1, 4)) for _ in range(3)] + [list(range(5))]
        for number, picked in enumerate(picks):
            out = tmp_path / f"{split}_{number}.root"
            write_events(out, [(1, 1, 1)])
            chosen = [str(files[i]) for i in picked]
            _core.carry_objects(chosen, str(out), ["Events"], False, [ids[i] for i in picked])
            level.append(out)
        draw.shuffle(level)
        pair = tmp_path / f"{split}_pair.root"
        merge_files(level[:2], pair)
        merged = tmp_path / f"{split}_all.root"
        merge_files([pair, *level], merged)
        assert sums(merged) == expected(range(5)), picks


def _identity(file: Path) -> tuple[str, int, int]:
    with uproot.open(file) as opened:
        return str(opened.file.uuid), file.stat().st_size, 0


def test_files_joined_by_another_program_still_say_where_rows_come_from(tmp_path: Path) -> None:
    files = [write_source(tmp_path / f"{n}.root", n) for n in (1, 2)]
    first = run_job(tmp_path, "first", files, max_events=20)
    joined = tmp_path / "joined.root"
    hadd(joined, [str(first)] * 2)
    assert sums(joined)["run"] == [1, 1, 2, 2]
    merged = tmp_path / "merged.root"
    merge_files([joined, first], merged)
    assert sums(merged) == expected([1, 2])


def test_rows_of_which_the_origin_is_not_known_are_an_error(tmp_path: Path) -> None:
    source = write_source(tmp_path / "1.root", 1)
    output = run_job(tmp_path, "a", [source])
    joined = tmp_path / "joined.root"
    hadd(joined, [str(output), str(write_source(tmp_path / "2.root", 2))])
    with pytest.raises(
        InputError, match=r"joined\.root: tree \"Runs\" has 2 rows, .* where 1 came"
    ):
        merge_files([joined], tmp_path / "merged.root")


def test_weights_of_datasets_count_rows_once(tmp_path: Path) -> None:
    files = [write_source(tmp_path / f"{n}.root", n) for n in (1, 2, 3)]
    parts = [
        run_job(tmp_path, "one", files[:2], max_events=40),
        run_job(tmp_path, "other", files[:2], skip_events=40),
    ]
    joined = tmp_path / "joined.root"
    hadd(joined, [str(part) for part in parts])
    for of_dataset in ([*parts, files[2]], [joined, files[2]], [parts[0], joined, files[2]]):
        names = [str(file) for file in of_dataset]
        assert total_of(sums_of_weights(names)) == expected([1, 2, 3])["weights"]


@pytest.mark.slow
def test_carried_sums_are_taken_once_and_not_taken_apart(tmp_path: Path) -> None:
    files = [write_source(tmp_path / f"{n}.root", n) for n in (1, 2, 3)]
    for file, n in zip(files, (1, 10, 100), strict=True):
        _add_histogram(file, n)
    both = run_job(tmp_path, "both", files[:2], max_events=40)
    rest = run_job(tmp_path, "rest", files[:2], skip_events=40)
    third = run_job(tmp_path, "third", files[2:])
    merged = tmp_path / "merged.root"
    merge_files([both, rest, third], merged)
    with uproot.open(merged) as opened:
        assert opened["sums/weights"].values().tolist() == [111, 222]
    shares = run_job(tmp_path, "shares", files[1:])
    words = r"shares/.*all\.root: object \"sums/weights\" .* in it of .*both/.*all\.root already"
    with pytest.raises(InputError, match=words):
        merge_files([both, shares], tmp_path / "no.root")
    assert merge_files([both, shares], tmp_path / "yes.root", ["Events", "Runs"])["Runs"] == 3


def _add_histogram(file: Path, n: int) -> None:
    """Into a new file: the trees of this one, and a histogram of two bins, n and 2 n."""
    axes: list[Any] = [("w", np.linspace(0, 1, 3), False, [])]
    contents = np.array([[0.0, n, 2 * n, 0.0]] * 2)
    plots = file.with_suffix(".plots.root")
    _core.write_histograms(str(plots), [("sums/weights", "w", axes, "weights", contents, False)])
    joined = file.with_suffix(".joined.root")
    merge_files([file, plots], joined)
    joined.replace(file)


def test_files_without_record_are_merged_without_one(tmp_path: Path) -> None:
    file = write_source(tmp_path / "1.root", 1)
    merged = tmp_path / "merged.root"
    assert merge_files([file, file], merged)["Runs"] == 2
    with uproot.open(merged) as opened:
        assert RECORD not in opened


def test_the_record_has_the_same_bytes_whatever_path_the_input_has(tmp_path: Path) -> None:
    source = write_source(tmp_path / "1.root", 1)
    (tmp_path / "there").mkdir()
    copy = tmp_path / "there" / "other.root"
    copy.write_bytes(source.read_bytes())
    outputs = [run_job(tmp_path, "a", [source]), run_job(tmp_path, "b", [copy])]
    assert sha256(outputs[0]) == sha256(outputs[1])


def test_lists_of_weights_of_different_lengths_stay_as_they_are(tmp_path: Path) -> None:
    files = [write_source(tmp_path / f"{n}.root", n, n_pdf=n) for n in (1, 3)]
    output = run_job(tmp_path, "a", files)
    with uproot.open(output) as opened:
        assert opened["Runs"]["LHEPdfSumw"].array().tolist() == [[1], [3, 4, 5]]


def test_carried_trees_of_other_branches_are_refused_with_branch_and_both_files(
    tmp_path: Path,
) -> None:
    files = [
        write_source(tmp_path / "1.root", 1),
        write_source(tmp_path / "2.root", 2, columns=RUNS[:2]),
    ]
    job = write_job(tmp_path, {"source": {"files": [str(f) for f in files]}, "outputs": ALL})
    ended = forkrun("run", job, "-o", tmp_path / "run", cwd=tmp_path)
    assert ended.code == 3
    assert f'{files[1]}: tree "Runs" differs from that of {files[0]}' in ended.err
    assert (
        "it lacks nLHEPdfSumw (uint32), LHEPdfSumw (float64[] counted by nLHEPdfSumw)" in ended.err
    )
    assert not (tmp_path / "run").exists()  # before the first event
    again = ("--set", "merge.carry=false")
    ended = forkrun("run", job, "-o", tmp_path / "run", *again, cwd=tmp_path)
    assert ended.code == 0


def test_carried_trees_keep_the_branches_that_all_files_have_if_events_do(tmp_path: Path) -> None:
    shapes = [RUNS, [*RUNS[:2], ("more", "int32")], [RUNS[0], RUNS[2], RUNS[1]]]
    files = [
        write_source(tmp_path / f"{n}.root", n, columns=columns) for n, columns in enumerate(shapes)
    ]
    for order in (files, files[::-1]):
        output = run_job(tmp_path, f"first-{order[0].stem}", order, branches="common")
        with uproot.open(output) as opened:
            runs = opened["Runs"]
            assert runs.keys() == ["run", "genEventSumw"]
            numbers = [int(file.stem) for file in order]
            assert runs["run"].array().tolist() == numbers
            assert runs["genEventSumw"].array().tolist() == [2.0**n + 0.25 for n in numbers]
            assert opened["LuminosityBlocks"].num_entries == 9


def test_branches_of_other_types_are_not_common(tmp_path: Path) -> None:
    shapes = [RUNS, [("run", "uint32"), ("genEventSumw", "float32"), RUNS[2]]]
    files = [
        write_source(tmp_path / f"{n}.root", n, columns=columns) for n, columns in enumerate(shapes)
    ]
    with uproot.open(run_job(tmp_path, "a", files, branches="common")) as opened:
        assert opened["Runs"].keys() == ["run", "nLHEPdfSumw", "LHEPdfSumw"]
        assert opened["Runs"]["LHEPdfSumw"].array().tolist() == [[0, 1], [1, 2]]


ALL = [{"label": "all"}]
