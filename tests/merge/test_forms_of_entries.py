"""Lists of one type that files store in different ways: their bytes do not fit into one branch."""

from __future__ import annotations

from pathlib import Path

import pytest
import uproot

from forkrun.errors import InputError
from forkrun.merge import merge_files
from tests.server.root_program import call_root, declare
from tests.support.jobs import forkrun, write_job

_CODE = """
void write_form(const char* path, const char* counter) {
  TFile file(path, "RECREATE");
  TTree tree("Events", "");
  Int_t n, m;
  Float_t x[3] = {0, 1, 2};
  std::vector<float> list;
  tree.Branch("n", &n, "n/I");
  tree.Branch("m", &m, "m/I");
  TString leaf = TString("x[") + counter + "]/F";
  if (*counter) tree.Branch("x", x, leaf); else tree.Branch("x", &list);
  for (int entry = 0; entry < 10; ++entry) {
    n = entry % 3;
    m = (entry + 1) % 3;
    list.assign(x, x + n);
    tree.Fill();
  }
  tree.Write();
}"""
FIRST = [[0.0, 1.0][: entry % 3] for entry in range(10)]
BY_M = [[0.0, 1.0][: (entry + 1) % 3] for entry in range(10)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forms")
    call_root(_write, str(path))
    return path


def _write(folder: str) -> None:
    import ROOT

    declare(_CODE)
    for counter in ("n", "m", ""):
        ROOT.write_form(f"{folder}/by_{counter}.root", counter)
    declare(_TEXTS)
    for has_note in (False, True):
        for name, length, is_string in (("short", 3, False), ("long", 30, False), ("o", 3, True)):
            note = "_with_note" if has_note else ""
            ROOT.write_text(f"{folder}/{name}{note}.root", length, is_string, has_note)


@pytest.mark.parametrize(("first", "second"), [("n", "m"), ("n", ""), ("", "n")])
def test_a_skim_refuses_them_before_any_event(
    folder: Path, tmp_path: Path, first: str, second: str
) -> None:
    paths = [str(folder / f"by_{each}.root") for each in (first, second)]
    ids = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    write_job(tmp_path, {"source": {"files": paths, **ids}, "outputs": [{"label": "all"}]})
    for command in ("check", "run"):
        ended = forkrun(command, "job.json", cwd=tmp_path)
        assert ended.code == 3, ended.err
        assert f'{paths[1]}: branch "x" is float32[]' in ended.err
        assert 'leave it out of the outputs: drop = ["x"]' in ended.err
    assert not (tmp_path / "run/ledger").exists()


@pytest.mark.parametrize(
    ("first", "second", "values"), [("n", "m", BY_M), ("n", "", FIRST), ("", "n", FIRST)]
)
def test_a_merge_refuses_them_unless_it_writes_them_by_their_values(
    folder: Path, tmp_path: Path, first: str, second: str, values: list[list[float]]
) -> None:
    paths = [folder / f"by_{each}.root" for each in (first, second)]
    before = [FIRST if each == "n" else values for each in (first, second)]
    with pytest.raises(InputError, match=r"differs from that of .*; --fields union"):
        merge_files(paths, tmp_path / "out.root")
    merge_files(paths, tmp_path / "out.root", fields="union")
    with uproot.open(tmp_path / "out.root") as file:
        assert file["Events/x"].array().tolist() == before[0] + before[1]


_TEXTS = """
void write_text(const char* path, int length, bool is_string, bool has_note) {
  TFile file(path, "RECREATE");
  TTree tree("Events", "");
  char text[40] = {};
  std::string object(length, 'a');
  strcpy(text, object.c_str());
  if (is_string) tree.Branch("text", &object); else tree.Branch("text", text, "text/C");
  for (int entry = 0; entry < 3; ++entry) tree.Fill();
  tree.Write();
  if (has_note) TNamed("note", "").Write();  // so that ROOT writes the merged file
}
std::string lengths_of_texts(const char* path) {
  TFile file(path);
  auto* tree = file.Get<TTree>("Events");
  char text[100];
  tree->SetBranchAddress("text", text);
  std::string lengths;
  for (int entry = 0; tree->GetEntry(entry) > 0; ++entry) {
    lengths += std::to_string(strlen(text)) + ' ';
  }
  return lengths;
}"""


def _lengths(path: str) -> list[int]:
    import ROOT

    declare(_TEXTS)
    return [int(n) for n in str(ROOT.lengths_of_texts(path)).split()]


@pytest.mark.parametrize("note", ["", "_with_note"])
@pytest.mark.parametrize("recluster", ["always", "never"])
def test_texts_longer_than_those_of_the_first_file_are_whole_in_a_merge(
    folder: Path, tmp_path: Path, note: str, recluster: str
) -> None:
    """ROOT reads as many characters as the longest text is said to have."""
    paths = [folder / f"{name}{note}.root" for name in ("short", "long", "short")]
    merge_files(paths, tmp_path / "out.root", recluster=recluster)
    assert call_root(_lengths, str(tmp_path / "out.root")) == [3] * 3 + [30] * 3 + [3] * 3


@pytest.mark.parametrize("skipped", [0, 1])
def test_texts_longer_than_those_of_the_first_file_are_whole_in_a_skim(
    folder: Path, tmp_path: Path, skipped: int
) -> None:
    """Of whole clusters, and of parts."""
    ids = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    paths = [str(folder / f"{name}.root") for name in ("short", "long")]
    source = {"files": paths, "skip_events": skipped, "max_events": 6 - 2 * skipped, **ids}
    write_job(tmp_path, {"source": source, "outputs": [{"label": "all"}]})
    ended = forkrun("run", "job.json", "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    n = 3 - skipped
    assert call_root(_lengths, str(tmp_path / "run/output/all.root")) == [3] * n + [30] * n


def test_texts_in_leaves_and_in_objects_are_not_joined(folder: Path, tmp_path: Path) -> None:
    """A leaf has a limit of its own."""
    with pytest.raises(InputError, match=r"differs from that of .*; --fields union"):
        merge_files([folder / "short.root", folder / "o.root"], tmp_path / "out.root")


_CLASSES = """
class Inner { public: int a = 1; MORE ClassDefNV(Inner, VERSION) };
class Outer { public: Inner inner; ClassDefNV(Outer, 1) };
void write_outer(const char* path) {
  TFile file(path, "RECREATE");
  TTree tree("Events", "");
  Outer outer;
  tree.Branch("outer", &outer, 32000, 0);
  for (int entry = 0; entry < 3; ++entry) tree.Fill();
  tree.Write();
}"""


def _write_numbers(path: str) -> None:
    _write_outer(path, "", 1)


def _write_pointers(path: str) -> None:
    _write_outer(path, 'TNamed* more = new TNamed("more", "");', 2)


def _write_outer(path: str, more: str, version: int) -> None:
    import ROOT

    declare(_CLASSES.replace("MORE", more).replace("VERSION", str(version)))
    ROOT.write_outer(path)


def test_a_skim_refuses_objects_whose_bytes_cannot_be_copied_in_a_later_file(
    tmp_path: Path,
) -> None:
    """Names of classes in a basket are found by their places in it."""
    call_root(_write_numbers, str(tmp_path / "numbers.root"))
    call_root(_write_pointers, str(tmp_path / "pointers.root"))
    paths = [str(tmp_path / f"{name}.root") for name in ("numbers", "pointers")]
    ids = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    write_job(tmp_path, {"source": {"files": paths, **ids}, "outputs": [{"label": "all"}]})
    ended = forkrun("run", "job.json", cwd=tmp_path)
    assert ended.code == 3, ended.err
    assert f'{paths[1]}: objects of branch "outer" cannot be copied as bytes' in ended.err
