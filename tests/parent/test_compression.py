"""How outputs are compressed, and where that is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import uproot

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import forkrun, write_job

OUTPUTS = {"usual": {}, "auto": {"compression": "auto"}, "named": {"compression": "zstd:5"}}


def bytes_of_branches(file: Path) -> dict[str, int]:
    with uproot.open(file) as root:
        assert root["Events"].branches[0].compression.level == 5
        return {name: branch.compressed_bytes for name, branch in root["Events"].items()}


@pytest.mark.slow
def test_auto_is_the_default_and_the_report_says_what_was_used(tmp_path: Path) -> None:
    (file,) = write_sample(tmp_path / "a.root", SampleSettings(20_000, 1, 1, cluster=20_000))
    job = write_job(
        tmp_path,
        {
            "source": {"files": [str(file)]},
            "modules": [{"label": "few", "type": "expression:(event % 2 == 0)", "kind": "filter"}],
            "paths": {"path": ["few"]},
            "outputs": [
                {"label": label, "paths": ["path"], **given} for label, given in OUTPUTS.items()
            ],
        },
    )
    ended = forkrun("run", job, "-o", "run", "--children", "1", cwd=tmp_path)
    assert ended.code == 0, ended.err
    usual, auto, named = (
        bytes_of_branches(tmp_path / f"run/output/{label}.root") for label in OUTPUTS
    )
    assert usual == auto
    assert sum(named.values()) < sum(auto.values()) < 1.05 * sum(named.values())
    report = json.loads((tmp_path / "run/report.json").read_text())
    used = {output["label"]: output["compression"] for output in report["events"]["outputs"]}
    assert used == {"usual": "auto", "auto": "auto", "named": "zstd:5"}
    words = (tmp_path / "run/report.txt").read_text().split()
    assert words[words.index("zstd:5") + 1] == "agrees"
