"""Pages of the web site that are not files of docs/ (a hook of mkdocs: `make docs`).

These are README, CONTRIBUTING and CHANGELOG, and the reference of keys, commands, exit codes and
Python, which is generated from models, parser, errors and docstrings."""

from __future__ import annotations

import argparse
import inspect
import posixpath
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import forkrun
from forkrun.cli.manual import value_of
from forkrun.cli.parser import COMMANDS, GROUPS, make_whole_parser
from forkrun.config.described import sections
from forkrun.errors import EXIT_CODES

ROOT = Path(__file__).resolve().parents[2]
PLACES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
KEYS = "reference/keys.md"
LINK = re.compile(r"\[([^]]*)\]\((?!https?:)([^)#\s]+)(#[^)\s]*)?\)")
NAMED_PAGE = re.compile(r"\bdocs/([\w-]+)\.md(#[\w-]+)?")
API = {
    "Jobs": ("Job", "load", "LoadedJob", "merge_files"),
    "Results": ("Result", "RunningJob", "Submission"),
    "Modules": ("Producer", "Filter", "Analyzer", "EventBlock"),
    "Conditions": ("ConditionsProvider", "Iov", "BinnedTable", "OnnxModel"),
    "Errors": tuple(name for name in forkrun.__all__ if name.endswith("Error")),
}


def pages() -> dict[str, str]:
    """Generated pages by their places in the site."""
    return {
        KEYS: keys(),
        "reference/commands.md": commands(),
        "reference/python.md": python(),
        "reference/exit-codes.md": exit_codes(),
        **{place: (ROOT / name).read_text(encoding="utf-8") for name, place in PLACES.items()},
    }


def keys() -> str:
    """Keys of a job's configuration."""
    head = """
        # Keys of a configuration

        All keys of a [job file](../configuration.md), with types and defaults. A *size* is
        `"16 GB"`, `"500 MiB"` or a number of bytes, a *time* is `"8h"`, `"1h30m"`,
        `"07:45:00"` or a number of seconds. Any key is set on the command line by
        `--set forking.children=8`.
        """
    lines = [textwrap.dedent(head).strip(), ""]
    for section in sections():
        name = section.name.strip("[]")
        lines += [
            f"## `{section.name}` {{ #{name.replace('.', '-')} }}",
            "",
            linked(section.text),
            "",
        ]
        for key in section.keys:
            default = f", default `{key.default}`" if key.default not in ("", "required") else ""
            required = ", required" if key.default == "required" else ""
            lines += [f"### `{key.name}` {{ #{key.name.replace('.', '-')} }}", ""]
            lines += [f"*{key.type}{required}*{default}  ", linked(key.text), ""]
    lines += [
        "## `[paths]`",
        "",
        'A table: `NAME = ["filter", "filter", "analyzer"]`, labels of modules in order.',
    ]
    return "\n".join([*lines, "A path accepts the events that all its filters accept.", ""])


@cache
def key_anchors() -> set[str]:
    """Anchors of the page of keys."""
    return set(re.findall(r"\{ #([\w-]+) \}", keys()))


def linked(text: str) -> str:
    """A text whose names of pages, `docs/batch.md#states-of-a-node`, are links."""
    return NAMED_PAGE.sub(
        lambda found: f"[{title(*found.groups())}](../{found[1]}.md{found[2] or ''})", text
    )


def title(page: str, anchor: str | None) -> str:
    """Title of a page, or the words of an anchor."""
    if anchor:
        return re.sub("-+", " ", anchor[1:])
    return (
        (ROOT / "docs" / f"{page}.md")
        .read_text(encoding="utf-8")
        .split("\n")[0]
        .lstrip("# ")
        .lower()
    )


def commands() -> str:
    """Commands with all their options."""
    parser = make_whole_parser()
    (choices,) = (a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    lines = [
        "# Commands",
        "",
        f"`forkrun COMMAND [OPTIONS]`. {parser.description} Exit codes: [a table](exit-codes.md).",
        "",
    ]
    for group, names in GROUPS.items():
        lines += [
            f"**{group.capitalize()}**: " + ", ".join(f"[{n}](#forkrun-{n})" for n in names),
            "",
        ]
    for name in COMMANDS:
        lines += command(f"forkrun {name}", choices[name])
    return "\n".join(lines)


def command(name: str, parser: argparse.ArgumentParser, level: int = 2) -> Iterator[str]:
    """A command and the commands below it."""
    yield from (
        f"{'#' * level} {name}",
        "",
        escaped(parser.description or COMMANDS.get(name.split()[-1], "")),
        "",
    )
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner, choice in action.choices.items():
                yield from command(f"{name} {inner}", choice, level + 1)
        elif action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
            value = "" if action.nargs == 0 else f" {value_of(action)}"
            heading = (
                ", ".join(f"`{each}{value}`" for each in action.option_strings)
                or f"`{value.strip()}`"
            )
            text = (action.help or "") % {**vars(action), "prog": parser.prog}
            yield from (heading, f":   {escaped(text) or '–'}", "")


def escaped(text: str) -> str:
    """Text of a terminal as Markdown."""
    return linked(re.sub(r"([<>*_\[\]{}])", r"\\\1", " ".join(text.split())).replace(r"\_", "_"))


def exit_codes() -> str:
    """Exit codes of all commands."""
    rows = [f"| {number} | {words} |" for number, words in EXIT_CODES.items()]
    return "\n".join(["# Exit codes", "", "| code | meaning |", "| --- | --- |", *rows, ""])


def python() -> str:
    """Names of `import forkrun`."""
    lines = ["# Python", "", "Names of `import forkrun`.", ""]
    for group, names in API.items():
        lines += [f"## {group}", ""]
        for name in names:
            thing = getattr(forkrun, name)
            lines += [f"### {name} {{ #{name} }}", ""]
            if not (inspect.isclass(thing) and issubclass(thing, BaseException)):
                lines += signature(name, thing)
            lines += [docstring(thing), ""]
            lines += members(name, thing) if inspect.isclass(thing) else ()
    return "\n".join(lines)


def members(owner: str, cls: type[Any]) -> Iterator[str]:
    """Public methods and properties of a class, inherited ones of forkrun included."""
    seen: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("forkrun"):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function):
                yield from (
                    f"#### {owner}.{name} {{ #{owner}.{name} }}",
                    "",
                    *signature(name, function),
                    docstring(function),
                    "",
                )
            elif isinstance(member, property) or type(member).__name__ == "cached_property":
                yield from (f"#### {owner}.{name} {{ #{owner}.{name} }}", "", docstring(member), "")


def signature(name: str, thing: Any) -> list[str]:
    """The call as code, a parameter a line where it is long."""
    try:
        given = inspect.signature(thing)
    except (TypeError, ValueError):
        return []
    parameters = [p for p in given.parameters.values() if p.name not in ("self", "cls")]
    stars = {at for at, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY}
    words = [str(p) for p in parameters]
    if stars and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        words.insert(min(stars), "*")
    result = given.return_annotation
    end = "" if result in (given.empty, "None") or inspect.isclass(thing) else f" -> {result}"
    words = [re.sub(r"^(\W*\w+: )(['\"])(.*?)\2(?=$| = )", r"\1\3", each) for each in words]
    text = f"{name}({', '.join(words)}){end}"
    if len(text) > 90:
        text = f"{name}(\n" + "".join(f"    {each},\n" for each in words) + f"){end}"
    return ["```python", text, "```", ""]


def docstring(thing: Any) -> str:
    """A docstring as Markdown: code that it shows is indented there, too."""
    return linked((inspect.getdoc(thing) or "").replace("*", r"\*"))


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated pages."""
    from mkdocs.structure.files import File

    for place, text in pages().items():
        files.append(File.generated(config, place, content=text))
    shim = Path(__file__).with_name("iframe-worker.js")
    files.append(File.generated(config, "assets/iframe-worker.js", content=shim.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as the site needs them: README and its like are elsewhere, sources are not there."""
    place = page.file.src_uri
    names = {there: name for name, there in PLACES.items()}

    def moved(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        folder = "" if place in names else posixpath.join("docs", posixpath.dirname(place))
        path = posixpath.normpath(posixpath.join(folder, target))
        path = f"docs/{PLACES[path]}" if path in PLACES else path
        if (path, anchor) == ("docs/configuration.md", "#keys"):  # on the site, the key itself
            name = text.strip("`[]").replace(".", "-")
            path, anchor = f"docs/{KEYS}", f"#{name}" if name in key_anchors() else ""
        if not path.startswith("docs/"):
            return text
        here = posixpath.join("docs", posixpath.dirname(place))
        return f"[{text}]({posixpath.relpath(path, here)}{anchor})"

    return LINK.sub(moved, markdown)
