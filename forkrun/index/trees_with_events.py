"""Names of trees that accompany the events, and their patterns. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from forkrun.base.nearest import suggestion
from forkrun.errors import ConfigError

KEY = "source.trees_with_events"


def trees_named(patterns: Sequence[str], there: Iterable[str]) -> list[str]:
    """Trees that match, in the order of the patterns, and for each in the order of `there`, names
    of all trees in the folders of events. Raises ConfigError for patterns without a tree."""
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


def names_tree(pattern: str, name: str) -> bool:
    """Whether a pattern of `keep` or `drop` names a tree: by the part before one of its dots."""
    ends = (at for at, letter in enumerate(pattern) if letter == ".")
    return any(fnmatchcase(name, pattern[:end]) for end in ends)
