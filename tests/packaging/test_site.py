"""The reference is generated, and the web site of the documentation builds with all its links."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import forkrun
from forkrun.cli.manual import man_page
from forkrun.cli.parser import COMMANDS
from forkrun.config.described import sections
from forkrun.config.model import JobConfig
from forkrun.errors import EXIT_CODES, ForkrunError
from tests.support.jobs import ROOT
from tests.test_documentation import anchors

KEYS = [key for section in sections() for key in section.keys]


def site_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / ".ci/site/pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_key_of_the_configuration_has_a_text() -> None:
    by_programs = {"modules.code", "modules.values", "modules.place"}
    written = {key.name for key in KEYS} | by_programs
    assert {section.name.strip("[]") for section in sections()} >= {
        name for name in JobConfig.known_keys if name != "paths"
    }
    missing = [
        f"{name}.{key}"
        for name, field in JobConfig.known_keys.items()
        if hasattr(field.annotation, "known_keys")
        for key in field.annotation.known_keys
        if f"{name}.{key}" not in written
    ]
    assert missing == []


def test_types_bounds_and_defaults_are_those_of_the_models() -> None:
    by_name = {key.name: key for key in KEYS}
    shown = {
        name: (by_name[name].type, by_name[name].default)
        for name in (
            "forking.children", "threads.per_child", "recovery.on_bad_event", "limits.memory",
            "source.files", "conditions.shape", "monitoring.sampling_cost", "outputs.label",
        )
    }  # fmt: skip
    assert shown == {
        "forking.children": ("integer from 0 up to 10,000", '"auto"'),
        "threads.per_child": ("integer from 1 up to 4,096", "1"),
        "recovery.on_bad_event": ('`"stop"` or `"skip"`', '"stop"'),
        "limits.memory": ("size", ""),
        "source.files": ("text or list of texts", "[]"),
        "conditions.shape": ("list of integers from -1", ""),
        "monitoring.sampling_cost": ("number above 0 up to 1", "0.006"),
        "outputs.label": ("text", "required"),
    }


def test_the_man_page_has_every_key_and_exit_code() -> None:
    page = man_page().replace("\\-", "-")
    assert [key.name for key in KEYS if rf"\fB{key.name}\fR (" not in page] == []
    assert [code for code in EXIT_CODES if f"\\fB{code}\\fR" not in page] == []


def test_every_class_of_error_has_an_exit_code_that_is_described() -> None:
    classes = [ForkrunError]
    for each in classes:
        classes += each.__subclasses__()
    ours = {each.exit_code for each in classes if each.__module__.startswith("forkrun.")}
    assert {str(code) for code in ours} - set(EXIT_CODES) == set()


def test_texts_of_keys_name_headings_that_there_are() -> None:
    named = {
        found for key in KEYS for found in re.findall(r"docs/([\w-]+)\.md(?:#([\w-]+))?", key.text)
    }
    broken = [
        f"docs/{page}.md#{anchor}"
        for page, anchor in sorted(named)
        if not (ROOT / f"docs/{page}.md").exists()
        or (anchor and anchor not in anchors(ROOT / f"docs/{page}.md"))
    ]
    assert named
    assert broken == []


def test_the_reference_has_every_command_and_every_name_of_the_package() -> None:
    pages = site_pages().pages()
    commands, python = pages["reference/commands.md"], pages["reference/python.md"]
    assert [name for name in COMMANDS if f"\n## forkrun {name}\n" not in commands] == []
    assert [name for name in forkrun.__all__ if f"### {name} {{" not in python] == []


@pytest.mark.slow
def test_the_web_site_builds_with_all_links_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("material", reason='the web site needs pip install "forkrun[docs]"')
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, str(tmp_path / "site")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    first = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    for part in ("Start", "Guide", "Reference", "Background"):
        assert re.search(rf"<a [^>]*>\s*{part}\s*</a>", first), part
    loaded = re.findall(r"<(?:script|img)[^>]* src=\"?(http[^\"> ]*)", first)
    loaded += re.findall(r"<link[^>]* rel=\"?stylesheet[^>]* href=\"?(http[^\"> ]*)", first)
    assert loaded == []
    assert (tmp_path / "site/search/search_index.js").is_file()
