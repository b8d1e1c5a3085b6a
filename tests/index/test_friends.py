"""Friend trees: their columns beside the input's, entry by entry, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import uproot

import forkrun as package
from forkrun import _core
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, output_digests, write_job

LUMIS = [(1, 1, 60), (1, 2, 40), (2, 1, 50)]


def write_friend(
    path: Path,
    events: Sequence[int] | npt.NDArray[Any],
    columns: dict[str, Any] | None = None,
    tree: str = "Friend",
    ids: bool = False,
    update: bool = False,
) -> Path:
    """`columns`: by name; without them "twice", two times the number of the event."""
    numbers = np.array(events, dtype=np.uint64)
    values = columns or {"twice": 2.0 * numbers}
    if ids:
        values = {**ids_of(numbers), **values}
    kinds = [(name, str(np.asarray(column).dtype)) for name, column in values.items()]
    writer = _core.TreeWriter(str(path), tree, kinds, "zstd:1", append_tree=update)
    writer.write(values)
    writer.close()
    return path


def ids_of(events: Any) -> dict[str, Any]:
    """As `write_events` gives them to LUMIS, numbered from 1."""
    place = np.searchsorted([60, 100], events, side="left")
    run = np.array([1, 1, 2], np.uint32)[place]
    lumi = np.array([1, 2, 1], np.uint32)[place]
    return {"run": run, "luminosityBlock": lumi, "event": events}


def job(folder: Path, files: list[Path], friends: list[dict[str, Any]], **sections: Any) -> Path:
    config = {
        "job": {"name": "friends"},
        "source": {"files": [str(file) for file in files], "friends": friends},
        "modules": [
            {"label": "sum", "type": "expression:twice + event", "kind": "producer"},
            {"label": "even", "type": "expression:event % 2 == 0", "kind": "filter"},
        ],
        "paths": {"even": ["even"]},
        "outputs": [{"label": "some", "paths": ["even"]}],
        **sections,
    }
    return write_job(folder, config)


def two_files(folder: Path) -> list[Path]:
    return [
        write_events(folder / "a.root", LUMIS[:2]),
        write_events(folder / "b.root", LUMIS[2:], first_event=101),
    ]


def both(folder: Path) -> list[dict[str, Any]]:
    """A friend of two files, in files of their own."""
    return [
        {
            "tree": "Friend",
            "files": [
                str(write_friend(folder / "fa.root", range(1, 101))),
                str(write_friend(folder / "fb.root", range(101, 151))),
            ],
        }
    ]


@pytest.mark.slow
def test_columns_of_a_friend_are_those_of_the_same_entries(tmp_path: Path) -> None:
    config = job(tmp_path, two_files(tmp_path), both(tmp_path))
    found = []
    for number, options in enumerate((["--children", 1], ["--children", 3, "--threads", 2])):
        run = tmp_path / f"run-{number}"
        ended = forkrun("run", config, "-o", run, *options, cwd=tmp_path)
        assert ended.code == 0, ended.err
        found.append(output_digests(run))
    assert found[0] == found[1]
    with uproot.open(tmp_path / "run-0/output/some.root") as file:
        events = file["Events"].arrays()
    assert events.fields == ["run", "luminosityBlock", "event", "nJet", "Jet_pt", "sum"]
    assert events.event.tolist() == list(range(2, 151, 2))
    assert events["sum"].tolist() == [3.0 * n for n in range(2, 151, 2)]


def test_a_friend_may_be_one_file_for_all_and_in_small_blocks(tmp_path: Path) -> None:
    files = two_files(tmp_path)
    one = write_friend(tmp_path / "one.root", range(1, 151), ids=True)
    friends = [{"tree": "Friend", "files": [str(one)]}]
    config = job(tmp_path, files, friends, threads={"block_size": 7})
    ended = forkrun("run", config, "-o", "run", "--children", 2, cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/some.root") as file:
        assert file["Events"]["sum"].array().tolist() == [3.0 * n for n in range(2, 151, 2)]


def test_another_tree_of_the_same_files_is_a_friend_with_a_prefix(tmp_path: Path) -> None:
    files = two_files(tmp_path)
    for file, events in zip(files, (range(1, 101), range(101, 151)), strict=True):
        columns = {"event": -1.5 * np.array(events), "twice": 2.0 * np.array(events)}
        write_friend(file, events, columns, tree="Other", update=True)
    config = job(
        tmp_path, files, [{"tree": "Other", "prefix": "f_"}],
        modules=[{"label": "sum", "type": "expression:f_twice", "kind": "producer"}], paths={},
        outputs=[{"label": "all", "keep": ["*", "f_t*"]}],
    )  # fmt: skip
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/all.root") as file:
        assert "Other" not in {key.partition(";")[0] for key in file}
        events = file["Events"].arrays()
    assert {"f_twice", "sum"} <= set(events.fields)
    assert "f_event" not in events.fields
    assert "matches nothing" not in ended.err + ended.out
    assert forkrun("check", config, "--strict", cwd=tmp_path).code == 0
    assert events.f_twice.tolist() == events["sum"].tolist() == [2.0 * n for n in range(1, 151)]


@pytest.mark.slow
def test_outputs_of_a_job_are_friends_of_its_input(tmp_path: Path) -> None:
    """The round trip, with jagged columns and texts, in Python."""
    files = [str(file) for file in two_files(tmp_path)]
    first = package.Job(files, name="first")
    first.define("Jet_double", "2 * Jet_pt").define("number", "event + 0")
    first.output("new", mode="friend")
    made = first.run(children=2, output=tmp_path / "first", quiet=True).outputs["new"]
    second = package.Job(files, name="second", friends={"tree": "Events", "files": str(made)})
    second.define("same", "all(Jet_double == 2 * Jet_pt) and (number == event)")
    second.output("checked", mode="friend", keep=["same", "Jet_double"])
    done = second.run(children=2, output=tmp_path / "second", quiet=True)
    with uproot.open(done.outputs["checked"]) as file:
        checked = file["Events"].arrays()
    assert checked.same.tolist() == [True] * 150
    with uproot.open(made) as file:
        assert checked.Jet_double.tolist() == file["Events"]["Jet_double"].array().tolist()


def found_problem(folder: Path, friends: list[dict[str, Any]], code: int, **sections: Any) -> str:
    config = job(folder, two_files(folder), friends, **sections)
    ended = forkrun("run", config, "-o", "run", cwd=folder)
    assert ended.code == code, ended.err
    checked = forkrun("check", config, cwd=folder)
    assert checked.code == code, checked.err
    return ended.err


def test_a_friend_of_selected_events_is_refused(tmp_path: Path) -> None:
    friend = write_friend(tmp_path / "f.root", range(1, 101, 2), ids=True)
    said = found_problem(tmp_path, [{"tree": "Friend", "files": [str(friend)]}], 3)
    assert f'{friend}: tree "Friend" has 50 entries, but {tmp_path}/a.root with 1 more file' in said
    assert "names no paths" in said


def test_files_of_other_lengths_are_named_in_pairs(tmp_path: Path) -> None:
    one = write_friend(tmp_path / "one.root", range(1, 91))
    two = write_friend(tmp_path / "two.root", range(91, 151))
    said = found_problem(tmp_path, [{"tree": "Friend", "files": [str(one), str(two)]}], 3)
    assert f'{one}: tree "Friend" has 90 entries, but {tmp_path}/a.root has 100;' in said


def test_a_friend_of_other_events_is_refused(tmp_path: Path) -> None:
    numbers = [*range(1, 70), 999, *range(71, 151)]
    friend = write_friend(tmp_path / "f.root", numbers, ids=False)
    columns = {**ids_of(np.arange(1, 151, dtype=np.uint64)), "twice": np.zeros(150)}
    columns["event"] = np.array(numbers, dtype=np.uint64)
    write_friend(friend, numbers, columns)
    said = found_problem(tmp_path, [{"tree": "Friend", "files": [str(friend)]}], 3)
    assert f"has other events than {tmp_path}/a.root, from its entry 60 on (run 1, lumi 2)" in said


def test_the_same_events_in_another_order_are_refused_when_they_are_read(tmp_path: Path) -> None:
    numbers = np.array([*range(1, 69), 70, 69, *range(71, 151)], dtype=np.uint64)
    columns = {**ids_of(np.arange(1, 151, dtype=np.uint64)), "twice": np.zeros(150)}
    columns["event"] = numbers
    friend = write_friend(tmp_path / "f.root", numbers.tolist(), columns)
    config = job(tmp_path, two_files(tmp_path), [{"tree": "Friend", "files": [str(friend)]}])
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 3, ended.err
    assert f'entry 68 of tree "Friend" is another event than entry 68 of {tmp_path}/a' in ended.err


def test_columns_of_the_same_name_need_a_prefix(tmp_path: Path) -> None:
    columns = {"Jet_pt": np.zeros(150), "twice": np.zeros(150)}
    friend = write_friend(tmp_path / "f.root", range(1, 151), columns)
    said = found_problem(tmp_path, [{"tree": "Friend", "files": [str(friend)]}], 2)
    assert 'tree "Friend" has the columns "Jet_pt", which the input has as well; give' in said
    same = [{"tree": "Friend", "files": [str(friend)], "prefix": "f_"}] * 2
    said = found_problem(tmp_path, same, 2)
    assert 'which the friend "Friend" has as well; give its columns a prefix, another' in said


def test_wrong_names_are_said_with_their_keys(tmp_path: Path) -> None:
    assert "source.friends[0]: this is source.tree itself" in found_problem(tmp_path, [{}], 2)
    said = found_problem(tmp_path, [{"tree": "Friend", "files": [str(tmp_path / "no*.root")]}], 3)
    assert "correct source.friends[0].files" in said
    said = found_problem(tmp_path, [{"tree": "Nothing"}], 3)
    assert 'no tree "Nothing"' in said
    assert "name the tree of events with source.friends[0].tree" in said


def test_a_friend_file_ends_where_files_of_the_input_end(tmp_path: Path) -> None:
    files = [
        str(write_friend(tmp_path / f"{n}.root", events))
        for n, events in enumerate((range(1, 71), range(71, 141), range(141, 151)))
    ]
    said = found_problem(tmp_path, [{"tree": "Friend", "files": files}], 3)
    assert f'{files[0]}: its tree "Friend" ends within the entries of {tmp_path}/a.root' in said


def test_a_run_is_not_resumed_with_a_friend_that_has_changed(tmp_path: Path) -> None:
    friends = both(tmp_path)
    config = job(tmp_path, two_files(tmp_path), friends)
    assert forkrun("run", config, "-o", "run", "--no-merge", cwd=tmp_path).code == 0
    write_friend(tmp_path / "fb.root", range(101, 151), {"twice": np.ones(50)})
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 4, ended.err
    assert f'friend "Friend" in {tmp_path}/fb.root' in ended.err


@pytest.mark.long
def test_a_finished_run_with_a_friend_that_has_changed_is_computed_again(tmp_path: Path) -> None:
    config = job(tmp_path, two_files(tmp_path), both(tmp_path))
    assert forkrun("run", config, "-o", "run", cwd=tmp_path).code == 0
    write_friend(tmp_path / "fb.root", range(101, 151), {"twice": np.ones(50)})
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "computing 1 result again (changed: input)" in ended.err
    with uproot.open(tmp_path / "run/output/some.root") as file:
        found = file["Events"]["sum"].array().tolist()
    assert found == [3.0 * n if n <= 100 else 1.0 + n for n in range(2, 151, 2)]
    assert forkrun("run", config, "-o", "scratch", cwd=tmp_path).code == 0
    assert output_digests(tmp_path / "run") == output_digests(tmp_path / "scratch")


def test_modules_that_declare_nothing_are_tried_with_the_friend(tmp_path: Path) -> None:
    code = tmp_path / "user.py"
    code.write_text(
        "import forkrun\n"
        "class Twice(forkrun.Producer):\n"
        "    def produce(self, block):\n"
        '        return {"four_times": 2 * block["twice"]}\n'
    )
    config = job(
        tmp_path, two_files(tmp_path), both(tmp_path),
        modules=[{"label": "m", "type": f"python:{code}:Twice"}], paths={},
        outputs=[{"label": "o"}],
    )  # fmt: skip
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/o.root") as file:
        assert file["Events"]["four_times"].array().tolist() == [4.0 * n for n in range(1, 151)]


def test_paths_in_a_configuration_are_relative_to_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    both(folder)
    two_files(folder)
    (folder / "job.toml").write_text(
        'source = { files = ["a.root", "b.root"], friends = [{ tree = "Friend", files = ["f*.root"]'
        ' }] }\noutputs = [{ label = "o", keep = ["event", "twice"] }]\n'
    )
    ended = forkrun("run", "jobs/job.toml", "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/o.root") as file:
        assert file["Events"]["twice"].array().tolist() == [2.0 * n for n in range(1, 151)]


def test_files_of_a_friend_are_indexed_once(tmp_path: Path) -> None:
    """With ids or without: a second index would be a second entry of the cache."""
    files, ids = two_files(tmp_path), [True, False]
    paths = [
        write_friend(tmp_path / f"{n}.root", range(1, 151), ids=has_ids)
        for n, has_ids in enumerate(ids)
    ]
    friends = [
        {"tree": "Friend", "files": [str(path)], "prefix": f"f{n}_"} for n, path in enumerate(paths)
    ]
    modules = [{"label": "sum", "type": "expression:f0_twice + f1_twice", "kind": "producer"}]
    config = job(tmp_path, files, friends, modules=modules, paths={}, outputs=[{"label": "some"}])
    env = {**environment(), "FORKRUN_CACHE": str(tmp_path / "cache")}
    ended = forkrun("run", config, "-o", "run", cwd=tmp_path, env=env)
    assert ended.code == 0, ended.err
    assert len(list((tmp_path / "cache/index").glob("*/*.msgpack"))) == 4
