"""Draws a histogram with mplhep: simulation by dataset, stacked, its uncertainty as a band, data as
points, and their ratio. Loads matplotlib."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.style
import mplhep
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forkrun.base.arguments import check_flags, check_texts, listed_names, refused
from forkrun.base.quantities import plural
from forkrun.errors import ConfigError
from forkrun.histograms.final.templates import Band, Sample, axes_of, samples_of, total_of

_CALL = "result.plot(…)"
STYLES = {"cms": "CMS", "atlas": "ATLAS", "lhcb": "LHCb2", "alice": "ALICE", "root": "ROOT"}
"""Names of styles in mplhep."""
_HEIGHTS = (3, 1)
"""Heights of the plot and of the ratio below."""
_NEAR = (0.5, 1.5)
"""Scale of the ratio panel if all ratios are within it."""
_DOTS_PER_INCH = 80
"""Resolution of plots in notebooks."""


class Plot(Figure):
    """A figure shown by notebooks and not kept alive by global state. It keeps its style,
    independent of later settings."""

    style_name = "CMS"

    def savefig(self, *given: Any, **options: Any) -> None:
        """Writes the figure to a file."""
        with _style(self.style_name):
            super().savefig(*given, **options)

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.savefig(written, format="png", bbox_inches="tight", dpi=_DOTS_PER_INCH)
        return written.getvalue()


@contextlib.contextmanager
def _style(name: str) -> Iterator[None]:
    """A style of mplhep, without characters missing in its fonts."""
    with matplotlib.style.context(getattr(mplhep.style, name)):
        mpl.rcParams.update({"axes.unicode_minus": False, "mathtext.cal": "sans"})
        yield


class Look:
    """Appearance of a plot. `stack`, `ratio`: None: simulation of several datasets is stacked, data
    and simulation are compared. `luminosity` [1/fb], `energy`, "13.6 TeV", and `text`,
    "Preliminary": printed above the plot; `labels`: legends of datasets and titles of axes by name;
    `order`: datasets from the bottom of the stack, by default by their sums."""

    def __init__(
        self,
        *,
        stack: bool | None = None,
        ratio: bool | None = None,
        log: bool = False,
        overflow: bool = False,
        style: str = "cms",
        luminosity: float | None = None,
        energy: str = "",
        text: str = "",
        labels: Mapping[str, str] | None = None,
        order: Sequence[str] = (),
    ) -> None:
        flags = {"stack": stack, "ratio": ratio, "log": log, "overflow": overflow}
        check_flags(_CALL, **{key: value for key, value in flags.items() if value is not None})
        check_texts(_CALL, style=style, energy=energy, text=text)
        if style not in STYLES:
            raise ConfigError(f'{_CALL}: unknown style "{style}"; there are {", ".join(STYLES)}')
        if not isinstance(luminosity, int | float | None):
            raise refused(_CALL, "luminosity", "a number", luminosity)
        if not isinstance(labels, Mapping | None):
            raise refused(_CALL, "labels", "texts by dataset or axis", labels)
        self.stack, self.ratio, self.log, self.overflow = stack, ratio, log, overflow
        self.style, self.text = style, text
        parts = [
            f"{luminosity:g} fb$^{{-1}}$" if luminosity else "",
            f"({energy})" if energy else "",
        ]
        self.sign = " ".join(filter(None, parts))
        self.labels = labels or {}
        self.order = listed_names(_CALL, "order", "dataset", order) if order else []

    def label_of(self, sample: Sample) -> str:
        """Name in the legend."""
        return self.labels.get(sample.name, sample.name)


def make_plot(histogram: Any, name: str, data: Collection[str], look: Look) -> Plot:
    """Draws a histogram of one or two axes. `data`: names of datasets that are data. Raises
    ConfigError for profiles and more axes."""
    axes = axes_of(histogram)
    if len(axes) not in (1, 2):
        raise ConfigError(
            f'plot: histogram "{name}" has {plural(len(axes), "axis")}: choose or add up some of'
            " them with hist, and draw one or two"
        )
    samples = samples_of(histogram, data, overflow=look.overflow)
    with _style(STYLES[look.style]):
        figure = Plot(layout="constrained")
        figure.style_name = STYLES[look.style]
        if len(axes) == 2:
            _of_two_axes(figure, axes, samples, look)
        else:
            _of_one_axis(figure, axes[0], samples, look)
    return figure


def _of_two_axes(figure: Plot, axes: Sequence[Any], samples: Sequence[Sample], look: Look) -> None:
    """Draws the sum over simulation, or over data without simulation."""
    shown = [each for each in samples if not each.is_data] or list(samples)
    ax = figure.subplots()
    values = np.sum([each.values for each in shown], axis=0)
    x, y = (np.asarray(axis.edges) for axis in axes)
    drawn = ax.pcolormesh(x, y, values.T, norm="log" if look.log else None)
    figure.colorbar(drawn, label="Events")
    _name_axis(ax.xaxis, axes[0], look)
    _name_axis(ax.yaxis, axes[1], look)
    _sign(ax, shown, look)


def _of_one_axis(figure: Plot, axis: Any, samples: Sequence[Sample], look: Look) -> None:
    simulated = [each for each in samples if not each.is_data]
    measured = [each for each in samples if each.is_data]
    has_ratio = bool(simulated and measured) if look.ratio is None else look.ratio
    if has_ratio and not (simulated and measured):
        raise ConfigError(
            "plot: ratio=True compares data and simulation: the job does not have both"
        )
    ax, below = _panels(figure, has_ratio)
    edges = np.asarray(axis.edges, np.float64)
    total = total_of(simulated) if simulated else None
    is_stacked = len(simulated) > 1 if look.stack is None else look.stack
    _draw_simulated(ax, edges, simulated, look, is_stacked)
    if total is not None and (is_stacked or len(simulated) == 1):
        _draw_band(ax, edges, total.values, total, 1.0, "Uncertainty")
    points = _sum_of(measured) if measured else None
    if points is not None:
        label = look.labels.get("data", "Data")
        _draw_points(ax, edges, points.values, np.sqrt(points.variances), label)
    if below is not None and total is not None and points is not None:
        _draw_ratio(below, edges, points, total)
    _finish(ax, below, axis, samples, look)


def _panels(figure: Figure, has_ratio: bool) -> tuple[Axes, Axes | None]:
    if not has_ratio:
        return figure.subplots(), None
    ax, below = figure.subplots(2, sharex=True, height_ratios=_HEIGHTS)
    return ax, below


def _draw_simulated(
    ax: Axes, edges: Any, samples: Sequence[Sample], look: Look, is_stacked: bool
) -> None:
    """Draws each dataset, the largest on top."""
    known = {name: n for n, name in enumerate(look.order)}
    ordered = sorted(samples, key=lambda s: (known.get(s.name, len(known)), s.values.sum()))
    below: Any = 0
    for sample in ordered:
        top = below + sample.values if is_stacked else sample.values
        label = look.label_of(sample) or "Events"
        ax.stairs(top, edges, baseline=below, fill=is_stacked, label=label, linewidth=2)
        below = top if is_stacked else 0


def _draw_points(ax: Axes, edges: Any, values: Any, errors: Any, label: str) -> None:
    shown = np.isfinite(values) & (values != 0)
    centres = (edges[1:] + edges[:-1]) / 2
    ax.errorbar(
        centres[shown], values[shown], errors[shown], fmt="o", color="black", label=label, zorder=5
    )


def _draw_band(
    ax: Axes, edges: Any, centre: Any, band: Band, scale: Any, label: str | None = None
) -> None:
    low, high = centre - band.down / scale, centre + band.up / scale
    ax.fill_between(
        edges, np.append(low, low[-1]), np.append(high, high[-1]), step="post", label=label,
        facecolor="none", edgecolor="0.3", hatch="////", linewidth=0,
    )  # fmt: skip


def _draw_ratio(ax: Axes, edges: Any, data: Sample, total: Band) -> None:
    """Draws data ÷ simulation, where there is simulation."""
    scale = np.where(total.values > 0, total.values, np.nan)
    _draw_band(ax, edges, np.ones_like(scale), total, scale)
    ratio, errors = data.values / scale, np.sqrt(data.variances) / scale
    _draw_points(ax, edges, ratio, errors, "")
    ax.axhline(1, color="0.5", linewidth=1)
    is_near = (ratio > _NEAR[0]) & (ratio < _NEAR[1])
    ax.set_ylim(*(_NEAR if is_near[ratio > 0].all() else (0, 2)))
    ax.set_ylabel("Data / sim.")


def _sum_of(samples: Sequence[Sample]) -> Sample:
    values = np.sum([each.values for each in samples], axis=0)
    return Sample("data", True, values, np.sum([each.variances for each in samples], axis=0))


def _finish(ax: Axes, below: Axes | None, axis: Any, samples: Sequence[Sample], look: Look) -> None:
    """Adds titles, scales and legend."""
    _name_axis((below or ax).xaxis, axis, look)
    widths = np.diff(np.asarray(axis.edges, np.float64))
    is_even = np.allclose(widths, widths[0]) and np.isfinite(widths[0])
    is_of_categories = not axis.traits.continuous
    ax.set_ylabel("Events" if is_of_categories or not is_even else f"Events / {widths[0]:.3g}")
    finite = np.asarray(axis.edges)[np.isfinite(axis.edges)]
    ax.set_xlim(finite[0], finite[-1])
    if look.log:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=min([0.0, *(each.values.min() for each in samples)]))
    if any(each.name for each in samples):
        ax.legend()
        mplhep.mpl_magic(ax)
    _sign(ax, samples, look)


def _name_axis(drawn: Any, axis: Any, look: Look) -> None:
    """Adds a title and, for categories, their names."""
    title = axis.label or axis.name
    drawn.set_label_text(look.labels.get(axis.name, title))
    if not axis.traits.continuous:
        centres = (np.asarray(axis.edges[1:]) + np.asarray(axis.edges[:-1])) / 2
        drawn.set_ticks(centres, [str(each) for each in axis], minor=False)
        drawn.set_ticks([], minor=True)


def _sign(ax: Axes, samples: Sequence[Sample], look: Look) -> None:
    """Adds experiment, text and luminosity in the plot's style."""
    has_data = any(each.is_data for each in samples) or not any(each.name for each in samples)
    signs = {"cms": mplhep.cms, "atlas": mplhep.atlas, "lhcb": mplhep.lhcb, "alice": mplhep.alice}
    if (sign := signs.get(look.style)) and look.text:
        sign.label(look.text, data=has_data, rlabel=look.sign, ax=ax)
