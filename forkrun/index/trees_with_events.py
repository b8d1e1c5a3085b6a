"""Names of trees that go with the events, and what patterns say of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from forkrun.base.nearest import suggestion
from forkrun.errors import ConfigError

KEY = "source.trees_with_events"


def trees_named(patterns: Sequence[str], there: Iterable[str]) -> list[str]:
    """Trees that patterns name, in the order of these, and each in the order of `there`, names of
    all in the folders of events. Raises ConfigError for patterns without a tree."""
    names = dict.fromkeys(there)
    named = {p: [name for name in names if fnmatchcase(name, p)] for p in patterns}
    problems = [
        f'{KEY}: "{pattern}": no file has such a tree with the events{suggestion(pattern, names)}'
        for pattern, found in named.items()
        if not found
    ]
    if problems:
        raise ConfigError(problems)
    return list(dict.fromkeys(name for found in named.values() for name in found))


def says_of_tree(pattern: str, name: str) -> bool:
    """Whether a pattern of `keep` or `drop` names a tree: what is before one of its dots does."""
    ends = (at for at, letter in enumerate(pattern) if letter == ".")
    return any(fnmatchcase(name, pattern[:end]) for end in ends)
