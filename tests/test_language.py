"""Help, docstrings and messages are plain English: what comes first says what it is about."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from forkrun.cli.parser import COMMANDS, make_whole_parser

ROOT = Path(__file__).parents[1]
PYTHON = [
    path
    for top in ("forkrun", "merge", "monitoring")
    for path in sorted((ROOT / top).rglob("*.py"))
    if not path.is_relative_to(ROOT / "forkrun/merge")
    and not path.is_relative_to(ROOT / "forkrun/monitoring")
]
CPP = sorted(p for p in (ROOT / "cpp").rglob("*.[ch]pp") if not p.stem.endswith("_test"))
NOT_FIRST = {
    "a", "all", "an", "any", "are", "as", "at", "by", "does", "every", "for", "from", "how", "if",
    "in", "is", "it", "no", "not", "of", "only", "so", "that", "these", "this", "those", "to",
    "until", "what", "when", "where", "which", "who", "with",
}  # fmt: skip
"""Words that help does not begin with: it begins with a verb or a noun."""
RIDDLE = re.compile(r"\b(is|are|was|were) (no|none)\b(?! (longer|more)\b)")
QUESTION = re.compile(r"\w\?(\s|$)")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
FOREIGN = re.compile(r"\b(anew|behind(?! a proxy)|whoever|go(es)? on)\b")
"""Words of translated English: write again, after, anyone who, continue."""
WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
FOREIGN_IN_CODE = re.compile(r"\b(anew|behind|beside|whatever|whoever|go(es)? on)\b")
"""The same in comments, texts and names, whose parts are words."""
NO_NOUN = re.compile(r"\s*(As|Of|Such|That|Those|What|Whatever|Who)\b")
"""Beginnings of docstrings that put a relative clause in the place of a noun."""
OTHER_ARGUMENT = re.compile(r"(def \w+\((self, )?|lambda )block\b")
"""Functions of users get `events`."""


def helps(parser: argparse.ArgumentParser, command: str) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from helps(child, f"{command} {name}")
                yield f"{command} {name}", child.description or ""
            for choice in action._choices_actions:
                yield f"{command} {choice.dest}", choice.help or ""
        elif action.help and action.help != argparse.SUPPRESS:
            yield f"{command} {'/'.join(action.option_strings) or action.dest}", action.help


@cache
def all_helps() -> list[tuple[str, str]]:
    return list(helps(make_whole_parser(), "forkrun"))


@pytest.mark.parametrize("command", [*COMMANDS])
def test_help_begins_with_a_verb_or_a_noun(command: str) -> None:
    begins = [
        f"{place}: {text}"
        for place, text in all_helps()
        if place.split()[1] == command
        and (not text or "?" in text or text.split()[0].rstrip(":,").lower() in NOT_FIRST)
    ]
    assert begins == []


def strings(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    """Line, text, and whether it is a docstring, of all texts of a program."""
    docs = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    parts = {id(p) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for p in n.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value, id(node) in docs
        elif isinstance(node, ast.JoinedStr):
            texts = (str(p.value) if isinstance(p, ast.Constant) else "x" for p in node.values)
            yield node.lineno, "".join(texts), False


@cache
def python_texts() -> list[tuple[str, str, bool]]:
    """Place, text, and whether it is a docstring."""
    return [
        (f"{path.relative_to(ROOT)}:{line}", text, is_doc)
        for path in PYTHON
        for line, text, is_doc in strings(ast.parse(path.read_text(encoding="utf-8")))
    ]


def cpp_messages() -> Iterator[tuple[str, str]]:
    for path in CPP:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            code = line.partition("//")[0]
            for text in re.findall(r'"((?:[^"\\]|\\.)*)"', code):
                yield f"{path.relative_to(ROOT)}:{number}", text


@cache
def messages() -> list[tuple[str, str]]:
    of_python = [(place, text) for place, text, is_doc in python_texts() if not is_doc]
    return [*of_python, *cpp_messages()]


@pytest.mark.slow
def test_messages_say_what_something_is_instead_of_what_it_is_none_of() -> None:
    assert [f"{place}: {text}" for place, text in messages() if RIDDLE.search(text)] == []


@pytest.mark.slow
def test_errors_are_no_questions() -> None:
    questions = [
        f"{p}: {t}" for p, t in messages() if QUESTION.search(t) and "did you mean" not in t
    ]
    assert questions == []


def places(files: Iterable[Path], wrong: re.Pattern[str]) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}:{number}: {line}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if wrong.search(line)
    ]


def test_pages_have_words_of_plain_english() -> None:
    assert places(PAGES, FOREIGN) == []


def test_code_has_words_of_plain_english() -> None:
    assert places(PYTHON, FOREIGN_IN_CODE) == []


def cpp_lines() -> Iterator[tuple[str, str, str]]:
    """Place, line, and the line before it."""
    for path in CPP:
        before = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            yield f"{path.relative_to(ROOT)}:{number}", line, before.strip()
            before = line


def test_code_of_cpp_has_words_of_plain_english() -> None:
    wrong = [
        f"{place}: {line}"
        for place, line, _ in cpp_lines()
        if FOREIGN_IN_CODE.search(WORD_ENDS.sub(" ", line).lower())
    ]
    assert wrong == []


def test_comments_of_cpp_begin_with_a_noun_or_a_verb() -> None:
    begins = [
        f"{place}: {line}"
        for place, line, before in cpp_lines()
        if not before.startswith("//")
        and (comment := re.match(r"\s*///? ?(.*)", line))
        and NO_NOUN.match(comment[1])
    ]
    assert begins == []


@pytest.mark.slow
def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    docstrings = [(place, text) for place, text, is_doc in python_texts() if is_doc]
    assert [f"{place}: {text}" for place, text in docstrings if NO_NOUN.match(text)] == []


@pytest.mark.slow
def test_functions_of_pages_and_examples_are_given_events() -> None:
    assert places([*PAGES, *sorted(ROOT.glob("configs/**/*.py"))], OTHER_ARGUMENT) == []
    quoted = [f"{p}: {t}" for p, t, _ in python_texts() if OTHER_ARGUMENT.search(t)]
    assert quoted == []


NOUNS = re.compile(
    r" (more |other |new |Python |separate |forked |different |bad )?(arguments|axes|bins|blocks"
    r"|branches|bytes|calls|cells|children|clusters|columns|commits|conditions|coordinates|copies"
    r"|cores|costs|CPUs|datasets|digits|entries|errors|events|files|fills|filters|histograms"
    r"|intervals|IOVs|items|jobs|lines|lumis|modules|names|nodes|objects|others|outputs|paths"
    r"|payloads|pieces|points|problems|processes|ranges|repeats|rows|runs|samples|sessions"
    r"|stretches|threads|times|trees|units|values|variations)\b"
)
NO_COUNT = re.compile(r"^_?[A-Z][A-Z_0-9]*$|^plural\(|quoted|name|what\b|rate")
"""Expressions before a noun that agree with it, or are no whole numbers."""
ALWAYS_SEVERAL = {
    "forkrun/cli/__init__.py": "several problems",
    "forkrun/index/whole_input.py": "names in records, which stay as they are",
    "forkrun/studies/estimate/report.py": "the mean of several events",
    "forkrun/studies/scheduling.py": "names of published figures, on 15 and 20 threads",
}
CPP_NUMBER = re.compile(rf'to_string\(([^;"]*?)\)\s*\+\s*"(?={NOUNS.pattern})')
"""A number that a text of C++ continues with a plural: its argument."""


def numbers_before_plurals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of numbers in messages that are followed by a plural without agreeing."""
    for node in ast.walk(tree):
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        for number, after in pairwise(parts):
            if not isinstance(number, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            form = ast.unparse(number.format_spec) if number.format_spec else ""
            text, noun = ast.unparse(number.value), NOUNS.match(str(after.value))
            if noun and not NO_COUNT.search(text) and not re.search("[.g]", form):
                yield number.lineno, f"{text}{noun[0]}"


def test_numbers_in_messages_agree() -> None:
    wrong = [
        f"{place}:{line}: {text}"
        for path in PYTHON
        if (place := str(path.relative_to(ROOT))) not in ALWAYS_SEVERAL
        for line, text in numbers_before_plurals(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert wrong == [], "write plural(n, 'event')"


def test_numbers_in_messages_of_cpp_agree() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, number.start()) + 1}: {number[1]}"
        for path in CPP
        for text in [path.read_text(encoding="utf-8")]
        for number in CPP_NUMBER.finditer(text)
        if not number[1].startswith("most_")
    ]
    assert wrong == [], 'write counted(n, "event")'


def test_a_number_that_does_not_agree_is_found() -> None:
    tree = ast.parse('f"{n:,} events in {plural(m, word)} files, {t:.2f} times {MOST} files"')
    assert [text for _, text in numbers_before_plurals(tree)] == ["n events"]
