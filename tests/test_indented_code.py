"""What pages of the documentation show beside their programs: classes of modules run, pieces of
functions run, configurations have keys that there are."""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from pathlib import Path

import pytest

import forkrun as package
from forkrun.config.read import validate
from forkrun.errors import ConfigError
from tests.support.jobs import ROOT, forkrun

PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"])
INDENTED = re.compile(r"(?:^(?:    .*)?\n)+", re.MULTILINE)
OTHERS = {
    "docs/batch.md": "profiles of sites, and a client of Dask",
    "docs/conditions.md": "classes with conditions and databases of their own",
    "docs/configuration.md": "loads a file",
}
"""Pages whose Python, or profiles, other tests run."""
HEAD = "import awkward as ak\nimport hist\nimport numpy as np\nimport forkrun\n\n"
FRAGMENT = re.compile(r"unknown key|should be|an axis has|is for|needs a|cannot")


def pieces(page: Path) -> list[str]:
    """Indented code, by what stands together."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    blocks = [textwrap.dedent(found[0]).strip() for found in INDENTED.finditer(text)]
    split = [re.split(r"\n\n(?=class |import |# pedestals)", block) for block in blocks if block]
    return [piece for each in split for piece in each]


def is_toml(piece: str) -> bool:
    return bool(re.match(r"\[{1,2}[a-z]+\]", piece))


def is_python(piece: str) -> bool:
    """Not C++, nor what a shell or a terminal shows."""
    try:
        tree = ast.parse(piece)
    except SyntaxError:
        return False
    kinds = (ast.ClassDef, ast.FunctionDef, ast.Assign, ast.Import)
    return any(isinstance(node, kinds) for node in tree.body)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


CONFIGURATIONS = [
    (name_of(page), piece)
    for page in PAGES
    for piece in pieces(page)
    if is_toml(piece) and not piece.startswith("[default]")
]


def test_pages_have_configurations() -> None:
    assert {page for page, _ in CONFIGURATIONS} >= {
        "README.md", "docs/conditions.md", "docs/configuration.md", "docs/modules.md",
        "docs/datasets.md", "docs/outputs.md",
    }  # fmt: skip


@pytest.mark.parametrize(("page", "text"), CONFIGURATIONS)
def test_a_configuration_of_a_page_has_keys_that_there_are(page: str, text: str) -> None:
    problems = []
    try:
        validate(tomllib.loads(text), page)
    except ConfigError as error:  # files and labels are elsewhere
        problems = [problem for problem in error.problems if FRAGMENT.search(problem)]
    assert not problems


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    shape = ["--events", 500, "--runs", 1, "--lumis", 2]
    assert forkrun("sample", "sample.root", *shape, "--quiet", cwd=tmp_path).code == 0
    return tmp_path


def code_of(page: str) -> list[str]:
    return [piece for piece in pieces(ROOT / page) if is_python(piece) and not is_toml(piece)]


def run(folder: Path, program: str) -> package.Result:
    """Runs a job with what a page shows, in this process."""
    names: dict[str, object] = {"__name__": "page"}
    file = folder / "page.py"
    file.write_text(HEAD + f'job = forkrun.Job("{folder / "sample.root"}")\n' + program)
    exec(compile(file.read_text(), str(file), "exec"), names)
    job = names["job"]
    assert isinstance(job, package.Job)
    return job.run(children=0, output=folder / "run", quiet=True, plots=False)


@pytest.mark.parametrize("page", ["docs/modules.md", "docs/systematics.md"])
def test_classes_of_a_page_run(page: str, sample: Path) -> None:
    program, names = "", {}
    for piece in code_of(page):
        for node in ast.parse(piece).body:
            if isinstance(node, ast.ClassDef) and any(
                isinstance(n, ast.FunctionDef) for n in node.body
            ):
                names[node.name] = ast.unparse(node.bases[0]).removeprefix("forkrun.").lower()
                program += f"{ast.unparse(node)}\n\n\n"
    assert names
    program += "".join(f"job.{kind}({name})\n" for name, kind in names.items())
    made = ["LeadingJet_*", "Smeared*"] if page == "docs/modules.md" else []
    result = run(sample, program + f'job.output("new", keep={["Jet_pt", *made]})')
    assert result.report["events"]["n_events_read"] == 500
    if page == "docs/modules.md":
        counts = result.accumulators["Counts"]
        assert counts["n_events"] == 500
        assert counts["by_run"] == {"362001": 500}
        assert set(names) == {"LeadingJet", "Jets", "Counts", "MuonSmearing"}


def test_pieces_of_functions_run(sample: Path) -> None:
    """Those that begin with objects of `events`, and functions that `job` decorates."""
    program, n = "", 0
    for piece in code_of("docs/modules.md"):
        if piece.startswith("@job"):
            program += f"{piece}\n\n\n"
            n += 1
        elif "events.Muon[" in piece:
            body = textwrap.indent(piece, "    ")
            head, end = "@job.filter\ndef objects(events):", "    return events.event > 0\n\n\n"
            program += f"{head}\n{body}\n{end}"
            n += 1
    assert n == 2
    keep = '["corners", "tracks_of_jets", "trigger"]'
    result = run(sample, f'{program}job.output("new", keep={keep})')
    assert result.report["events"]["n_events_read"] == 500


def test_the_job_of_the_first_page_runs(sample: Path) -> None:
    (toml,) = (piece for piece in pieces(ROOT / "README.md") if is_toml(piece))
    module = "\n".join(code_of("README.md"))
    (sample / "skim.toml").write_text(toml)
    (sample / "modules.py").write_text(module)
    assert forkrun("check", "skim.toml", cwd=sample).code == 0
    ended = forkrun("run", "skim.toml", "--children", 2, "--threads", 2, "-o", "r", cwd=sample)
    assert ended.code == 0, ended.err


def test_no_page_shows_python_that_nothing_runs() -> None:
    tested = {"docs/modules.md", "docs/systematics.md", "README.md", *OTHERS}
    assert {name_of(page) for page in PAGES if code_of(name_of(page))} == tested
