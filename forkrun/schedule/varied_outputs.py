"""Outputs of systematic variations: the events that a variation selects, with its columns. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forkrun.base.nearest import suggestion
from forkrun.config import OutputConfig
from forkrun.config.modules import varied_label
from forkrun.config.output_labels import output_label_problems
from forkrun.schedule.branches import kept
from forkrun.schedule.variations import Variations


def with_variations(
    outputs: Sequence[OutputConfig], variations: Variations
) -> tuple[list[OutputConfig], list[str]]:
    """Each output, and behind it one for each of its variations; and what is wrong with them."""
    made: list[OutputConfig] = []
    problems: list[str] = []
    for output in outputs:
        problems += _problems(output, variations)
        made.append(output.model_copy(update={"variations": ()}))
        made += [
            output.model_copy(
                update={"label": f"{output.label}_{name}", "variations": (), "variation": name}
            )
            for name in _names(output, variations)
        ]
    labels = [output.label for output in made]
    problems += [
        f'outputs "{label}": another output has the name of this one in a variation; rename it'
        for label in dict.fromkeys(labels)
        if labels.count(label) > 1
    ]
    originals = {output.label for output in outputs}
    problems += [
        f'outputs "{labels[number]}": {text}'
        for number, text in output_label_problems(labels)
        if labels[number] not in originals
    ]
    return made, problems


def varied_of(output: OutputConfig, variations: Variations) -> list[str]:
    """Its paths, as they are in its variation."""
    return [
        varied_label(path, output.variation)
        if output.variation in variations.of_path(path)
        else path
        for path in output.paths
    ]


def _names(output: OutputConfig, variations: Variations) -> list[str]:
    if output.variations != "all":
        return list(output.variations)
    return [name for name in variations.names if _differs(output, name, variations)]


def _differs(output: OutputConfig, name: str, variations: Variations) -> bool:
    """Whether it has other events or other columns in a variation."""
    return any(name in variations.of_path(path) for path in output.paths) or bool(
        kept(variations.columns(name), output)
    )


def _problems(output: OutputConfig, variations: Variations) -> Iterator[str]:
    where = f'outputs "{output.label}"'
    named = () if output.variations == "all" else output.variations
    for name in (*named, *filter(None, [output.variation])):
        if name not in variations.names:
            what = "no module has it" + suggestion(name, variations.names)
            yield f'{where}: variations: "{name}": {what}'
    if output.variations and output.variation:
        yield (
            f"{where}: variation: this output belongs to a variation already; leave out variations"
        )
    if output.decisions and (output.variations or output.variation):
        yield (
            f"{where}: decisions are those of the nominal case; give them an output without"
            " variations"
        )
