"""Event ids that are numbers of a list of leaves, and trees that are none."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import pytest
import uproot

from tests.server.root_program import call_root, declare
from tests.support.jobs import Ended, forkrun, write_job

IDS = {"run_branch": "id.run", "lumi_branch": "id.lumi", "event_branch": "id.event"}


def write(path: str, events: list[int], with_object: bool) -> None:
    """A branch `id` with run, lumi, a pair of numbers, and the event, in this order."""
    import ROOT

    declare("struct Id { UInt_t run, lumi; Int_t pair[2]; ULong64_t event; };")
    file = ROOT.TFile(path, "recreate")
    tree, value, x = ROOT.TTree("Events", ""), ROOT.Id(), array("f", [0])
    tree.Branch("id", value, "run/i:lumi/i:pair[2]/I:event/l")
    tree.Branch("x", x, "x/F")
    text = ROOT.std.string()
    if with_object:
        tree.Branch("text", text)
    tree.GetBranch("id").SetBasketSize(100)
    for n, event in enumerate(events):
        value.run, value.lumi, value.event, x[0] = 7, 1 + n // 5, event, n
        value.pair[0] = value.pair[1] = -1
        tree.Fill()
    tree.Write()
    file.Close()


def job(folder: Path, file: Path, *words: object, **source: Any) -> Ended:
    described = {
        "source": {"files": [str(file)], **IDS, **source},
        "outputs": [{"label": "events"}],
    }
    return forkrun(words[0], write_job(folder, described), *words[1:], cwd=folder)


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("with_object", [False, True])
def test_ids_may_be_numbers_of_a_list_of_leaves(tmp_path: Path, with_object: bool) -> None:
    file, events = tmp_path / "a.root", [2**40 + n for n in range(20)]
    events[4] = events[3]
    call_root(write, str(file), events, with_object)
    for rule, kept in (("keep", list(range(20))), ("drop", [n for n in range(20) if n != 4])):
        ended = job(tmp_path, file, "run", "-o", "run", "-q", "--force", duplicates=rule)
        assert (ended.code, ended.err) == (0, "")
        with uproot.open(tmp_path / "run/output/events.root") as output:
            ids = output["Events"]["id"].array(library="np")
            assert ids["event"].tolist() == [events[n] for n in kept]
            assert ids["lumi"].tolist() == [1 + n // 5 for n in kept]
            assert output["Events"]["x"].array(library="np").tolist() == kept
    ended = job(tmp_path, file, "run", "-o", "only", "-q", "--only", f"7:2:{2**40 + 6}")
    assert (ended.code, ended.err) == (0, "")
    with uproot.open(tmp_path / "only/output/events.root") as output:
        assert output["Events"]["x"].array(library="np").tolist() == [6]


def test_a_leaf_that_is_no_id_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.root"
    call_root(write, str(file), [1, 2, 3], False)
    for name in ("id.nothing", "x.event"):
        ended = job(tmp_path, file, "check", event_branch=name)
        assert ended.code == 3
        assert f'tree "Events" has no branch "{name}"' in ended.err
    ended = job(tmp_path, file, "check", event_branch="id.pair")
    assert ended.code == 3
    assert 'branch "id.pair" is int32[2]; an id branch holds one integer per event' in ended.err


def write_chain(path: str, files: list[str]) -> None:
    import ROOT

    file, chain = ROOT.TFile(path, "recreate"), ROOT.TChain("Events")
    for name in files:
        chain.Add(name)
    chain.Write("Events")
    file.Close()


@pytest.mark.slow
def test_a_chain_is_named_with_its_files(tmp_path: Path) -> None:
    file, chain = tmp_path / "a.root", tmp_path / "chain.root"
    call_root(write, str(file), [1, 2, 3], False)
    call_root(write_chain, str(chain), [str(file)])
    ended = job(tmp_path, chain, "check")
    assert ended.code == 3
    what = f'{chain}: "Events" is a TChain, which only names files: {file}; read these'
    assert what in ended.err
