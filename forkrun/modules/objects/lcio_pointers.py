"""Pointers of LCIO: an index, and a column that tells in which collection the object is. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from forkrun.modules.objects.relations import Relation, id_of

_IDS = "_collectionID"
_PARTICLES = "MCParticle"
"""Pointers lead here, unless another collection has their name."""


def lcio_pointers(
    columns: Mapping[str, str],
    types: Mapping[str, str],
    collections: Sequence[str],
    by_name: Callable[[str], str | None],
) -> Iterator[tuple[str, Relation]]:
    """`MCParticle.parents` leads to the `parents` of a particle, `PFOs.tracks` to `tracks`. Those
    of items in lists, `contributions.particle`, stay numbers. `columns`: by field; `types`: of all
    columns; `by_name`: the collection that a name certainly means."""
    for field, column in columns.items():
        ids = columns.get(field + _IDS)
        if ids is None or "." in field:
            continue
        likely = [by_name(field) or _PARTICLES]
        targets = [each for each in likely if each in collections]
        targets += [each for each in collections if each not in targets]
        keys = {id_of(each): number for number, each in enumerate(targets)}
        yield field, Relation(column, targets, ids=ids, keys=keys, is_list="[][]" in types[column])
