"""What pages of the documentation show in Python does what they say: blocks of a page are run one
after the other, as the cells of a notebook."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import forkrun
from forkrun.cli.parser import GROUPS
from tests.support.jobs import PATIENCE_S, ROOT, output_digests, program
from tests.support.jobs import forkrun as command

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAMPLE = re.compile(r"^forkrun sample (?!sample\.root)(.*)$", re.MULTILINE)
"""Commands of a page that make files beside sample.root."""
PAGES = (
    "docs/tutorial.md",
    "docs/expressions.md",
    "docs/datasets.md",
    "docs/histograms.md",
    "docs/systematics.md",
    "README.md",
)
QUICK = ("docs/tutorial.md", "README.md")
MARKDOWN = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)#\s:]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
RELEASES = "<!-- releases -->"
FRAGMENT = re.compile(r"\+[\w-]+\.(added|changed|fixed|removed)\.md")
NAMED = re.compile(r"docs/[\w/-]+\.md")


def blocks(page: str) -> list[str]:
    return BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Names by which links lead to the headings of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found) for found in HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    broken = []
    for page in MARKDOWN:
        text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
        for name, anchor in LINK.findall(text):
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {name}#{anchor}")
    assert broken == []


def test_pages_that_code_and_messages_name_exist() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    files = (ROOT / name for name in tracked.stdout.splitlines() if not name.endswith(".png"))
    missing = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        if file.is_file() and file.suffix in {".py", ".cpp", ".hpp", ".cmake", ".toml", ".txt"}
        for name in NAMED.findall(file.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    ]
    assert missing == []


def test_links_lead_from_the_first_page_to_every_page() -> None:
    found, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        found.add(page)
        targets = (page.parent / name for name, _ in LINK.findall(page.read_text("utf-8")) if name)
        pages = {each.resolve() for each in targets if each.suffix == ".md" and each.exists()}
        waiting += pages - found - {*waiting}
    assert [page for page in MARKDOWN if page not in found] == []


def test_the_first_page_lists_the_commands_of_daily_work_as_the_help_does() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (
        dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", text, re.MULTILINE)) == GROUPS["daily work"]
    )


def test_the_documentation_stays_short() -> None:
    pages = [*ROOT.glob("docs/**/*.md")]
    assert len(pages) <= 25
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 38_000


def test_entries_of_the_changelog_are_short_and_have_a_kind() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    head, _, released = text.partition(RELEASES)
    assert "\n- " not in head, "a change is a fragment in changes/, CONTRIBUTING.md says how"
    lines = released.splitlines()
    entries = [line for line in lines if line.startswith("- ")]
    assert [line for line in entries if len(line) > 120] == []
    assert [line for line in lines if line.startswith(" ")] == []  # an entry is one line
    assert [entry for entry, n in Counter(entries).items() if n > 1] == []
    kinds = {line for line in lines if line.startswith("### ")}
    assert kinds == {"### Added", "### Changed", "### Fixed", "### Removed"}


def test_fragments_of_the_changelog_are_one_short_line() -> None:
    fragments = sorted((ROOT / "changes").glob("*.md"))
    wrong = [file.name for file in fragments if not FRAGMENT.fullmatch(file.name)]
    texts = {file.name: file.read_text(encoding="utf-8").strip() for file in fragments}
    wrong += [name for name, text in texts.items() if len(text) > 118 or "\n" in text]
    assert wrong == [], "CONTRIBUTING.md says how: changes/+NAME.added.md"


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the pages' commands were run."""
    monkeypatch.chdir(tmp_path)
    shape = ["--events", 2000, "--runs", 1, "--lumis", 2]
    assert command("sample", "sample.root", *shape, "--quiet", cwd=tmp_path).code == 0
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        *QUICK,
        *(pytest.param(page, marks=pytest.mark.long) for page in PAGES if page not in QUICK),
    ],
)
def test_blocks_of_a_page_run_one_after_the_other(page: str, sample: Path) -> None:
    texts = blocks(page)
    assert texts
    for line in SAMPLE.findall((ROOT / page).read_text(encoding="utf-8")):
        made = command("sample", *shlex.split(line, comments=True), "--quiet", cwd=sample)
        assert made.code == 0, made.err
    page_file = sample / "page.py"
    # Two lumis in blocks of one size: what Python modules cost is learnt on larger files.
    quick = "threads={'block_size': 1000}, forking={'distribution': 'lumi'}"
    text = "\n".join(texts).replace('name="adl")', f'name="adl", {quick})')
    page_file.write_text(text.replace('Job("sample.root")', f'Job("sample.root", {quick})'))
    done = program(page_file, cwd=sample)
    assert done.code == 0, done.err


@pytest.mark.long
def test_commands_of_the_page_about_datasets_do_what_they_say(tmp_path: Path) -> None:
    page = "docs/datasets.md"
    (tmp_path / "analysis.py").write_text("\n".join(blocks(page)[1:]))
    files, commands = SHELL.findall((ROOT / page).read_text(encoding="utf-8"))
    for line in (files + "forkrun run analysis.py\n" + commands).splitlines():
        if line.startswith("forkrun collect"):
            forkrun.Submission.read(tmp_path / "nodes-run").wait(PATIENCE_S, quiet=True)
        done = command(*shlex.split(line, comments=True)[1:], cwd=tmp_path)
        assert done.code == 0, done.err
    assert output_digests(tmp_path / "nodes-run") == output_digests(tmp_path / "all-run")
    alone, all_of_them = (forkrun.Result.read(tmp_path / name) for name in ("ttbar-run", "all-run"))
    assert (
        alone.output("skim", "ttbar").read_bytes()
        == all_of_them.output("skim", "ttbar").read_bytes()
    )


def test_the_tutorial_explains_every_line_of_the_queries() -> None:
    shown = {line.strip() for text in blocks("docs/tutorial.md") for line in text.splitlines()}
    program = (ROOT / "configs/adl/queries.py").read_text().split("import forkrun\n")[1]
    lines = {line.strip() for line in program.split("if __name__")[0].splitlines()}
    job = 'job = forkrun.Job(sys.argv[1:] or "sample.root", name="adl")'
    assert lines - shown == {job}
