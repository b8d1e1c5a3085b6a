"""A ledger gives back what was committed, whatever became of its file."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from forkrun.rundir.ledger import (
    Commit,
    CutCount,
    OutputPart,
    Place,
    SkippedEvent,
    StoredLedgers,
    SumsPart,
    ledger_files,
    read_ledgers,
    read_on,
    read_revoked,
    revoke,
    units_by_build,
)

COMMIT = Commit(
    unit=4,
    child=2,
    pid=77,
    run=362104,
    lumi=9,
    n_events=1200,
    digest="0a" * 16,
    skipped=(SkippedEvent(1 << 60, "dåta.root", 17, "killed by SIGSEGV"),),
    skipped_digest="0b" * 16,
    outputs={"skim": OutputPart("units/000004/skim.fragment", 30, "0c" * 16, 512, 4_294_967_295)},
    histograms=SumsPart("units/000004/histograms", 2048, 1),
    start_s=1700000000.25,
    end_s=1700000003.5,
    wall_s=3.25,
    cpu_s=3.0,
    read_calls=12,
    read_bytes=345_678,
    n_units=3,
    block_size=65536,
    cutflow={"main": [CutCount("", 1200), CutCount("dimuon", 30, [1, -2])]},
    accumulators=SumsPart("units/000004/accumulators", 100, 2),
    build="0.1.0+0123456789ab",
)
LINE = COMMIT.to_line()
FIRST = (
    '{"unit":3,"child":1,"pid":42,"run":362001,"lumi":7,"n_events":2,"digest":"00f1","skipped":[],'
    '"skipped_digest":"0","outputs":{"skim":{"file":"a.fragment","n_events":1,"digest":"0a",'
    '"n_bytes":3,"checksum":6}},"histograms":null,"start_s":1732579452.125,"end_s":1732579453.5,'
    '"wall_s":1.375,"cpu_s":1e-05,"read_calls":4,"read_bytes":4096,"crc32":"ac1bd5bf"}\n'
)


def write(folder: Path, *lines: str, child: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"child-{child:03d}.jsonl"
    file.write_text("".join(lines))
    return file


def resealed(line: str, **changes: Any) -> str:
    """The line with other values and a checksum that agrees."""
    data = {**json.loads(line), **changes}
    del data["crc32"]
    text = json.dumps(data, separators=(",", ":"))[:-1]
    return f'{text},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def unsealed(line: str, **changes: Any) -> str:
    """The line without a checksum, as others may write it."""
    data = {**json.loads(line), **changes}
    del data["crc32"]
    return json.dumps(data)


def test_a_line_gives_its_commit_back() -> None:
    assert LINE.endswith("}\n")
    assert LINE.count("\n") == 1
    assert Commit.from_line(LINE.encode()) == COMMIT
    assert Commit.from_line(LINE.rstrip().encode()) == COMMIT


def test_a_commit_knows_its_units_its_files_and_its_time() -> None:
    assert list(COMMIT.units) == [4, 5, 6]
    assert COMMIT.places == slice(4, 7)
    assert COMMIT.duration_s == 3.25
    assert [part.file.rpartition("/")[2] for part in COMMIT.parts] == [
        "skim.fragment",
        "histograms",
        "accumulators",
    ]
    assert replace(COMMIT, histograms=None, accumulators=None, outputs={}).parts == []


@given(st.integers(0, len(LINE) - 2), st.integers(0, 255))
def test_a_line_with_another_byte_is_no_commit(place: int, byte: int) -> None:
    line = bytearray(LINE.encode())
    if line[place] != byte:
        line[place] = byte
        with pytest.raises((ValueError, RecursionError)):
            Commit.from_line(bytes(line))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_units": 0}, "Expected `int` >= 1 - at `$.n_units`"),
        ({"n_units": True}, "Expected `int`, got `bool` - at `$.n_units`"),
        ({"n_units": 100_000_001}, "Expected `int` <= 100000000 - at `$.n_units`"),
        ({"outputs": []}, "Expected `object`, got `array` - at `$.outputs`"),
        ({"outputs": {"skim": {"file": "a"}}}, "missing required field `n_events`"),
        ({"unheard": 1}, "unknown field `unheard`"),
    ],
)
def test_a_line_of_another_form_is_no_commit(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        Commit.from_line(resealed(LINE, **changes).encode())


def test_a_line_of_the_first_version_is_read() -> None:
    commit = Commit.from_line(FIRST.encode())
    assert (commit.units, commit.parts) == (range(3, 4), [OutputPart("a.fragment", 1, "0a", 3, 6)])
    assert commit == replace(commit, n_units=1, block_size=0, cutflow=None, accumulators=None)
    assert FIRST[:-22].removeprefix("{") in commit.to_line()


def test_a_name_that_is_no_unicode_is_read_as_it_was_written() -> None:
    skipped = (SkippedEvent(11, "/data/\udcff.root", 5, "killed by SIGSEGV"),)
    commit = replace(COMMIT, skipped=skipped)
    assert Commit.from_line(commit.to_line().encode()) == commit


def test_the_largest_number_of_units_is_one() -> None:
    line = resealed(LINE, n_units=100_000_000)
    assert Commit.from_line(line.encode()).n_units == 100_000_000


def test_a_line_without_a_checksum_has_the_types_of_a_commit() -> None:
    assert Commit.from_line(unsealed(LINE).encode()) == COMMIT


@pytest.mark.parametrize("name", ["unit", "child", "pid", "run", "lumi", "n_events",
                                  "read_calls", "read_bytes", "start_s", "end_s", "wall_s",
                                  "cpu_s", "digest", "skipped_digest"])  # fmt: skip
def test_a_wrong_type_is_named_where_there_is_no_checksum(name: str) -> None:
    with pytest.raises(ValueError, match=f", got `null` - at `.[.]{name}`$"):
        Commit.from_line(unsealed(LINE, **{name: None}).encode())


def test_a_digest_is_a_hexadecimal_number() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        Commit.from_line(unsealed(LINE, digest="xyz").encode())


def test_a_ledger_may_be_seen_from_the_run_directory_of_the_whole_job() -> None:
    moved = Commit.from_line(LINE.encode(), Place("nodes/0007", unit=100, child=8))
    assert (moved.unit, moved.child, moved.n_units) == (104, 10, 3)
    assert [part.file for part in moved.parts] == [
        f"nodes/0007/{part.file}" for part in COMMIT.parts
    ]
    bare = replace(COMMIT, histograms=None, accumulators=None)
    assert Commit.from_line(bare.to_line().encode(), Place("n", 1, 1)).histograms is None


def test_ledgers_are_read_child_by_child(tmp_path: Path) -> None:
    commits = [replace(COMMIT, unit=unit, child=unit % 2) for unit in (0, 3, 6, 9)]
    for child in (1, 0):
        write(tmp_path, *(c.to_line() for c in commits if c.child == child), child=child)
    (tmp_path / "child-000.jsonl.part").write_text(LINE)
    (tmp_path / "merge.json").write_text("{}")
    assert [file.name for file in ledger_files(tmp_path)] == ["child-000.jsonl", "child-001.jsonl"]
    assert [commit.unit for commit in read_ledgers(tmp_path)] == [0, 6, 3, 9]


def test_no_folder_and_a_file_in_its_place_are_no_commits(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "none", tmp_path / "file"):
        assert ledger_files(place) == []
        assert read_ledgers(place) == []


def test_a_line_cut_short_is_no_damage_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    other = replace(COMMIT, unit=7)
    write(tmp_path, LINE, LINE.replace("1200", "1201"), other.to_line(), LINE[:40])
    damaged: list[str] = []
    assert read_ledgers(tmp_path, damaged) == [COMMIT, other]
    assert damaged == [f"{tmp_path.name}/child-000.jsonl: line 2 is damaged (its checksum differs)"]


def test_a_line_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    again = replace(COMMIT, end_s=COMMIT.end_s + 1)
    write(tmp_path, LINE, LINE)
    write(tmp_path, LINE, again.to_line(), child=1)
    assert read_ledgers(tmp_path) == [COMMIT, again]


def test_only_the_commit_that_was_revoked_is_gone(tmp_path: Path) -> None:
    again = replace(COMMIT, end_s=COMMIT.end_s + 1)
    write(tmp_path, LINE, again.to_line())
    revoke(tmp_path, [(COMMIT, "skim.fragment is damaged")])
    assert read_ledgers(tmp_path) == [again]
    assert [json.loads(line) for line in (tmp_path / "revoked.jsonl").read_text().splitlines()] == [
        {"unit": 4, "end_s": COMMIT.end_s, "why": "skim.fragment is damaged"}
    ]


def test_what_was_revoked_on_a_node_is_gone_for_the_whole_job(tmp_path: Path) -> None:
    write(tmp_path, LINE, replace(COMMIT, unit=7).to_line())
    revoke(tmp_path, [(COMMIT, "")])
    stored = StoredLedgers.read(tmp_path, [])
    assert [c.unit for c in stored.commits([], Place("nodes/0001", unit=50, child=0))] == [57]


def test_revoking_nothing_writes_nothing(tmp_path: Path) -> None:
    revoke(tmp_path, [])
    assert list(tmp_path.iterdir()) == []


def test_a_revocation_behind_a_line_cut_short_counts(tmp_path: Path) -> None:
    (tmp_path / "revoked.jsonl").write_text('{"unit": 1, "end')
    revoke(tmp_path, [(COMMIT, "why")])
    damaged: list[str] = []
    assert read_revoked(tmp_path, damaged) == {(4, COMMIT.end_s)}
    assert damaged == ["revoked.jsonl: line 1 is not a JSON object"]


@pytest.mark.parametrize("record", [{"unit": "4", "end_s": 1.0}, {"unit": 4}, {}])
def test_a_revocation_of_another_form_is_named(tmp_path: Path, record: dict[str, Any]) -> None:
    (tmp_path / "revoked.jsonl").write_text(json.dumps(record) + "\n")
    damaged: list[str] = []
    assert read_revoked(tmp_path, damaged) == set()
    assert damaged == [f"revoked.jsonl: not a unit and a time: {record}"]


def test_a_ledger_is_read_on_behind_its_last_whole_line(tmp_path: Path) -> None:
    other = replace(COMMIT, unit=7)
    file = write(tmp_path, LINE, other.to_line()[:50])
    assert read_on(file, 0) == ([COMMIT], len(LINE.encode()))
    with file.open("a") as end:
        end.write(other.to_line()[50:])
    n_bytes = len(LINE.encode())
    assert read_on(file, n_bytes) == ([other], n_bytes + len(other.to_line().encode()))


def test_units_are_counted_by_the_build_that_processed_them() -> None:
    commits = [COMMIT, replace(COMMIT, build=""), replace(COMMIT, unit=7, n_units=1)]
    assert units_by_build(commits) == {"0.1.0+0123456789ab": 4, "an unknown build": 3}
