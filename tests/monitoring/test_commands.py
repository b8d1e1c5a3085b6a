from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import uproot

from forkrun.cli import main


@pytest.mark.slow
def test_report_prints_the_text_and_writes_all_files(
    write_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run()
    assert main(["report", str(run), "--plots"]) == 0
    assert capsys.readouterr().out == (run / "report.txt").read_text()
    assert (run / "report.json").exists()
    assert (run / "report.html").exists()
    assert len(list((run / "plots").iterdir())) == 6


def test_report_prints_json_and_draws_plots_only_on_request(
    write_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run()
    assert main(["report", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["events"]["n_events_read"] == 600
    assert not (run / "plots").exists()


def test_report_of_no_run_directory_is_an_input_error_in_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path)]) == 3
    assert "not a run directory" in capsys.readouterr().err


def test_sample_writes_what_its_options_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.root"
    options = [
        "--events",
        "50",
        "--runs",
        "1",
        "--lumis",
        "5",
        "--branches",
        "120",
        "--compression",
        "lz4:4",
        "--seed",
        "7",
    ]
    assert main(["sample", str(file), *options]) == 0
    with uproot.open(file) as sample:
        assert (sample["Events"].num_entries, len(sample["Events"].keys())) == (50, 120)
        assert sample["LuminosityBlocks"].num_entries == 5
        assert sample.file.compression.name == "LZ4"
    assert "50 events, 120 branches" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--events", "-3"], 2, "--events -3"),
        (["--branches", "12"], 2, "at least 95"),
        (["--compression", "brotli:3"], 2, "brotli"),
    ],
)
def test_sample_says_what_is_wrong_with_its_options(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    code: int,
    words: str,
) -> None:
    assert main(["sample", str(tmp_path / "s.root"), *options]) == code
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_sample_in_a_folder_that_is_not_there_is_an_output_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", str(tmp_path / "no" / "s.root")]) == 4
    assert "folder not found" in capsys.readouterr().err
