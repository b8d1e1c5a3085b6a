"""Friends whose entries are found by keys: the values of ROOT and of a join in NumPy, and what
becomes of events without a partner, or with several."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import forkrun as package
from tests.index.test_friends import ids_of, job, two_files, write_friend
from tests.server.root_program import call_root
from tests.support.files import write_events
from tests.support.jobs import forkrun, output_digests, write_job

BY = ["run", "event"]
FILL = {"fill": {"*": -1}}
KEEPS_TAG = [{"label": "all", "keep": ["*", "tag"]}]


def shuffled(seed: int = 1, n: int = 150) -> Any:
    return np.random.default_rng(seed).permutation(np.arange(1, n + 1, dtype=np.uint64))


def friend_of(
    folder: Path, events: Any, name: str = "f.root", as_ntuple: bool = False, **columns: Any
) -> Path:
    """A tree of ids, "twice", and a list of as many values as the last digit of the event."""
    events = np.asarray(events, dtype=np.uint64)
    hits = ak.Array([[float(n)] * (int(n) % 10) for n in events])
    values = {
        **ids_of(events),
        "twice": 2.0 * events,
        **columns,
        "hits": ak.values_astype(hits, "f4"),
    }
    path = folder / name
    with uproot.recreate(path) as file:
        if as_ntuple:
            file.mkrntuple("Friend", values)
        else:
            file.mktree(
                "Friend",
                {
                    name: column.type if name == "hits" else column.dtype
                    for name, column in values.items()
                },
            )
            file["Friend"].extend(values)
    return path


def joined(path: Path | list[Path], **options: Any) -> list[dict[str, Any]]:
    files = [str(each) for each in (path if isinstance(path, list) else [path])]
    return [{"tree": "Friend", "files": files, "by": BY, **options}]


def run_job(folder: Path, friends: list[dict[str, Any]], *options: Any, **sections: Any) -> Any:
    """Events of a job that keeps the columns of the friend."""
    given: dict[str, Any] = {
        "modules": [{"label": "sum", "type": "expression:twice + event", "kind": "producer"}],
        "paths": {},
        "outputs": [{"label": "all", "keep": ["*", "twice", "hits"]}],
    }
    config = job(folder, two_files(folder), friends, **{**given, **sections})
    ended = forkrun("run", config, "-o", "run", *options, cwd=folder)
    assert ended.code == 0, ended.err
    with uproot.open(folder / "run/output/all.root") as file:
        return file["Events"].arrays()


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("as_ntuple", [False, True])
def test_entries_in_any_order_are_those_of_the_same_event(tmp_path: Path, as_ntuple: bool) -> None:
    """Of a tree, or of an RNTuple beside a tree."""
    events = run_job(tmp_path, joined(friend_of(tmp_path, shuffled(), as_ntuple=as_ntuple)))
    numbers = np.arange(1, 151)
    assert events.event.tolist() == numbers.tolist()
    assert events.twice.tolist() == (2.0 * numbers).tolist()
    assert events["sum"].tolist() == (3.0 * numbers).tolist()
    assert events.hits.tolist() == [[float(n)] * (n % 10) for n in range(1, 151)]


@pytest.mark.long
def test_the_bytes_are_those_of_any_children_and_blocks(tmp_path: Path) -> None:
    events = shuffled()
    files = [friend_of(tmp_path, events[:60]), friend_of(tmp_path, events[60:130], "g.root")]
    friends = joined(files, missing=FILL)
    run_job(tmp_path, friends)
    wanted = output_digests(tmp_path / "run")
    layouts = itertools.product((7, 64), (["--children", 3], ["--children", 2, "--threads", 2]))
    for n, (block_size, options) in enumerate(layouts):
        config = tmp_path / "job.json"
        ended = forkrun(
            "run", config, "-o", f"again-{n}", *options,
            "--set", f"threads.block_size={block_size}", cwd=tmp_path,
        )  # fmt: skip
        assert ended.code == 0, ended.err
        assert output_digests(tmp_path / f"again-{n}") == wanted


def test_events_without_a_partner_are_filled_where_that_is_said(tmp_path: Path) -> None:
    friends = joined(friend_of(tmp_path, shuffled()[:100]), missing=FILL)
    events = run_job(tmp_path, friends, "--children", 2)
    have = {int(n) for n in shuffled()[:100]}
    assert events.twice.tolist() == [2.0 * n if n in have else -1.0 for n in range(1, 151)]
    hits = [[float(n)] * (n % 10) if n in have else [] for n in range(1, 151)]
    assert events.hits.tolist() == hits
    said = forkrun("plan", tmp_path / "job.json", cwd=tmp_path)
    assert "50 of 150 events without an entry in the friend" in said.out + said.err


def test_events_without_a_partner_are_left_out_where_that_is_said(tmp_path: Path) -> None:
    friends = joined(friend_of(tmp_path, shuffled()[:100]), missing="drop")
    events = run_job(tmp_path, friends, "--children", 2)
    have = sorted(int(n) for n in shuffled()[:100])
    assert events.event.tolist() == have
    assert events.twice.tolist() == [2.0 * n for n in have]
    report = json.loads((tmp_path / "run/report.json").read_text())["events"]
    counts = [report[f"n_events_{what}"] for what in ("planned", "read", "without_partner")]
    assert (counts, report["digests_agree"]) == ([100, 100, 50], True)
    lumis = json.loads((tmp_path / "run/processedLumis.json").read_text())
    assert lumis == {"1": [[1, 2]], "2": [[1, 1]]}


def problem(folder: Path, friends: list[dict[str, Any]], code: int, **sections: Any) -> str:
    config = job(folder, two_files(folder), friends, **sections)
    said = forkrun("check", config, cwd=folder)
    assert said.code == code, said.err
    ended = forkrun("run", config, "-o", "run", cwd=folder)
    assert ended.code == code, ended.err
    return ended.err


def test_events_without_a_partner_are_an_error_before_anything_runs(tmp_path: Path) -> None:
    friend = friend_of(tmp_path, [n for n in shuffled() if n not in (3, 5, 6, 60, 120)])
    said = problem(tmp_path, joined(friend), 3)
    assert 'source.friends[0]: 5 events have no entry in the friend "Friend" by run, event:' in said
    where = "entry 2 (run 1, event 3), entry 4 (run 1, event 5), entry 5 (run 1, event 6) of"
    assert f"{where} {tmp_path}/a.root and 2 more;" in said
    assert 'missing = "drop"' in said
    assert 'missing = { fill = { "*" = -1 } }' in said
    assert not (tmp_path / "run/units").exists()


def test_events_that_the_job_does_not_take_need_no_partner(tmp_path: Path) -> None:
    """Nor may their partners be ambiguous."""
    friend = friend_of(tmp_path, [*range(1, 101), 101, 101])
    mask = tmp_path / "golden.json"
    mask.write_text('{"1": [[1, 9]]}')
    source = {"files": [str(f) for f in two_files(tmp_path)], "friends": joined(friend)}
    events = run_job(tmp_path, [], source={**source, "lumi_mask": str(mask)})
    assert events.event.tolist() == list(range(1, 101))


def test_several_partners_are_an_error_or_the_first_counts(tmp_path: Path) -> None:
    numbers = np.array([*range(150, 0, -1), 7, 120], np.uint64)
    tag = np.arange(len(numbers), dtype=np.int32)
    friend = friend_of(tmp_path, numbers, tag=tag)
    said = problem(tmp_path, joined(friend), 3)
    assert "2 events have several entries in the friend" in said
    assert f"entry 6 (run 1, event 7) of {tmp_path}/a.root and 1 more;" in said
    assert 'duplicates = "first"' in said
    events = run_job(
        tmp_path,
        joined(friend, duplicates="first"),
        outputs=KEEPS_TAG,
    )
    assert events.tag.tolist() == list(range(149, -1, -1))


@pytest.mark.slow
def test_values_are_those_of_an_index_that_root_builds(tmp_path: Path) -> None:
    """Where each event has one partner: ROOT leaves the value of the event before where there is
    none, and of several takes any."""
    friend = friend_of(tmp_path, shuffled(), tag=np.arange(150, dtype=np.int32))
    events = run_job(tmp_path, joined(friend), outputs=KEEPS_TAG)
    by_root = call_root(values_by_root, *(str(f) for f in (*two_files(tmp_path), friend)))
    assert events.tag.tolist() == by_root


def values_by_root(first: str, second: str, friend: str) -> list[int]:
    import ROOT

    chain = ROOT.TChain("Events")
    chain.Add(first)
    chain.Add(second)
    file = ROOT.TFile(friend)
    with_index = file.Get("Friend")
    with_index.BuildIndex("run", "event")
    chain.AddFriend(with_index)
    found = []
    for entry in range(chain.GetEntries()):
        chain.GetEntry(entry)
        found.append(int(chain.tag))
    return found


def test_a_table_of_lumis_has_a_row_for_many_events(tmp_path: Path) -> None:
    """The friend's keys have other names."""
    table = {
        "RunNumber": np.array([2, 1, 1], np.int64),
        "lumi": np.array([1, 2, 1], np.int16),
        "pileup": np.array([30.0, 20.0, 10.0]),
    }
    path = write_friend(tmp_path / "lumis.root", [1], table, tree="Lumis")
    friends = [
        {
            "tree": "Lumis", "files": [str(path)], "prefix": "of_",
            "by": {"run": "RunNumber", "luminosityBlock": "lumi"},
        }
    ]  # fmt: skip
    events = run_job(
        tmp_path, friends, "--children", 2, modules=[],
        outputs=[{"label": "all", "keep": ["*", "of_pileup"]}], threads={"block_size": 9},
    )  # fmt: skip
    assert events.of_pileup.tolist() == [10.0] * 60 + [20.0] * 40 + [30.0] * 50


def test_events_of_samples_with_the_same_ids_are_found_file_by_file(tmp_path: Path) -> None:
    """All simulation has run 1 and events from 1 on."""
    files = [write_events(tmp_path / f"{n}.root", [(1, 1, 50)]) for n in "ab"]
    numbers = np.arange(50, 0, -1, dtype=np.uint64)
    ids = {"run": np.ones(50, np.uint32), "event": numbers}
    friends = [
        write_friend(tmp_path / f"f{n}.root", [1], {**ids, "twice": base + 1.0 * numbers})
        for n, base in ((0, 100), (1, 200))
    ]
    datasets = [{"name": file.stem, "files": [str(file)]} for file in files]
    one: dict[str, Any] = {
        "job": {"name": "samples"},
        "datasets": datasets,
        "source": {"friends": joined(friends), "duplicates": "keep"},
        "outputs": [{"label": "all", "keep": ["*", "twice"]}],
    }
    config = write_job(tmp_path, one)
    said = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert said.code == 3
    assert "100 events have several entries" in said.err
    assert "file_by_file = true" in said.err
    source = {"friends": joined(friends, file_by_file=True), "duplicates": "keep"}
    config = write_job(tmp_path, {**one, "source": source})
    ended = forkrun("run", config, "-o", "run", "--children", 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    for name, base in (("a", 100), ("b", 200)):
        with uproot.open(tmp_path / f"run/output/all/{name}.root") as file:
            found = file["Events"]["twice"].array().tolist()
        assert found == [base + 1.0 * n for n in range(1, 51)]


def test_functions_of_a_program_have_the_columns(tmp_path: Path) -> None:
    """What modules read is found out with the first events, before the fork."""
    friend = friend_of(tmp_path, shuffled()[:100])
    files = [str(file) for file in two_files(tmp_path)]
    (given,) = joined(friend, missing=FILL)
    analysis = package.Job(files, friends=given)

    @analysis.define
    def n_hits(block: Any) -> Any:
        return ak.num(block["hits"]) + 0 * (block["twice"] > 0)

    analysis.output("all", mode="friend")
    done = analysis.run(children=2, output=tmp_path / "run", quiet=True)
    have = {int(n) for n in shuffled()[:100]}
    with uproot.open(done.outputs["all"]) as file:
        found = file["Events"]["n_hits"].array().tolist()
    assert found == [n % 10 if n in have else 0 for n in range(1, 151)]


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"by": ["run", "evnt"]}, 2, 'friends[0].by: the input has no branch "evnt"; did you mean'),
        ({"by": {"run": "run", "event": "no"}}, 2, 'the friend "Friend" has no branch "no"'),
        ({"by": {"run": "run", "Jet_pt": "event"}}, 2, '"Jet_pt" of the input is float32[] in'),
        ({"by": [], "missing": "drop"}, 2, "missing needs keys by which entries are found: by ="),
        ({"missing": {"fill": {"twice": 0}}}, 3, "the job reads or keeps, has no value where"),
        ({"missing": {"fill": {"*": 0.5}}}, 2, 'missing.fill."*": "tag" is int32, which cannot'),
    ],
)
def test_what_is_wrong_is_said_with_its_key(
    tmp_path: Path, change: dict[str, Any], code: int, said: str
) -> None:
    friend = friend_of(tmp_path, shuffled()[:100], tag=np.ones(100, np.int32))
    (given,) = joined(friend)
    outputs = [{"label": "all", "keep": ["*", "twice", "tag"]}]
    config = job(
        tmp_path, two_files(tmp_path), [{**given, **change}], modules=[], paths={}, outputs=outputs
    )
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert (ended.code, said in ended.err) == (code, True), ended.err


def test_a_run_is_not_resumed_with_a_friend_that_has_changed(tmp_path: Path) -> None:
    config = job(tmp_path, two_files(tmp_path), joined(friend_of(tmp_path, shuffled())))
    assert forkrun("run", config, "-o", "run", "--no-merge", cwd=tmp_path).code == 0
    friend_of(tmp_path, shuffled(2))
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 4, ended.err
    assert f'friend "Friend" in {tmp_path}/f.root' in ended.err


@pytest.mark.long
def test_a_finished_run_with_a_friend_that_has_changed_is_computed_again(tmp_path: Path) -> None:
    run_job(tmp_path, joined(friend_of(tmp_path, shuffled())))
    twice = 4.0 * shuffled(2)
    events = run_job(tmp_path, joined(friend_of(tmp_path, shuffled(2), twice=twice)))
    assert events.twice.tolist() == [4.0 * n for n in range(1, 151)]
    assert events["sum"].tolist() == [5.0 * n for n in range(1, 151)]
    assert forkrun("run", tmp_path / "job.json", "-o", "scratch", cwd=tmp_path).code == 0
    assert output_digests(tmp_path / "run") == output_digests(tmp_path / "scratch")


def test_partners_are_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time they come from the cache: no file of the friend is read for it."""
    monkeypatch.setenv("FORKRUN_CACHE", str(tmp_path / "cache"))
    config = job(tmp_path, two_files(tmp_path), joined(friend_of(tmp_path, shuffled())))
    assert forkrun("plan", config, cwd=tmp_path).code == 0
    kept = set((tmp_path / "cache/index").glob("*/*.msgpack"))
    assert forkrun("plan", config, cwd=tmp_path).code == 0
    assert set((tmp_path / "cache/index").glob("*/*.msgpack")) == kept
    assert len(kept) == 4  # two files, the friend, and the partners
