"""Learning curves as pictures: one panel for each condition, one line with the band of its seeds for each setting.

The paper's curves are dotted, in the colour of ours; a caption below says what the band is. Where two rankers are
merged, nDCG over alpha, the weight of the second, is a picture of its own (alpha.png, alpha.svg), with what each client
chose.

Colours are those of Okabe and Ito (2008), which colour-blind readers can tell apart; line styles differ as well.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.ticker import FuncFormatter, MaxNLocator
from msgspec import Struct

from foltr.arrays import FloatVector
from simulation.cells.preset import ExpectedCurve, ExpectedValue
from simulation.report import display_names
from simulation.report.display_names import RANKER_KEYS, TITLES, caption, group_by
from simulation.report.paper_numbers import papers_beside
from simulation.report.statistics import Curve, Settings, X, curves, over_runs, values_at
from simulation.run_folder import CURVE_KEY, Row, replace_file

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B8A800")
STYLES: tuple[Literal["-", "--", "-.", ":"], ...] = ("-", "--", "-.", ":")

PANEL_WIDTH, PANEL_HEIGHT, MAX_COLUMNS = 3.1, 2.6, 3
"""inches; panels beside each other"""

SINGLE_WIDTH, SINGLE_HEIGHT = 4.2, 3.0
"""inches of a panel that stands alone"""

LEGEND_LINE, LEGEND_SAMPLE, LEGEND_CHARACTER = 0.19, 0.6, 0.075
"""inches: height of an entry, width of its sample of line, width of a letter"""

MAX_LINES = 8
"""of a panel, as many as there are colours; where there are more, other keys than conditions make panels too"""

HEADING_LETTERS = 15
"""of a title to an inch of the figure's width"""

DOTS_PER_INCH = 200

PAPERS_NUMBER, PAPERS_CURVE = "paper", "paper, published runs"
"""in the legend"""

STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "foltr",
    "svg.fonttype": "none",
}


class _Line(Struct, frozen=True):
    """How a combination of settings is drawn."""

    name: str
    """in the legend"""
    look: dict[str, Any]
    """colour and line style"""


_Lines = Mapping[Settings, _Line]


class _Panel(Struct, frozen=True):
    """The curves under the same conditions."""

    condition: Settings
    curves: Sequence[Curve]


def write_plots(
    folder: Path,
    rows: Sequence[Row],
    *,
    metrics: Iterable[str] = TITLES,
    expected: Iterable[ExpectedValue] = (),
    paper_curves: Iterable[ExpectedCurve] = (),
    k: int | None = None,
    x: X = "interactions",
    heading: str = "",
    stand_in: str = "",
) -> list[Path]:
    """Write <metric>.png and <metric>.svg for each of `metrics` with a curve of two points or more; their paths.

    `heading` stands above the panels: which figure this is. `stand_in` stands below it: what the data are instead of
    those that were asked for.
    """
    numbers, published = tuple(expected), tuple(paper_curves)
    paths: list[Path] = []
    for metric in metrics:
        found = curves(rows, metric)
        if any(len(curve.rounds) > 1 for curve in found.values()):
            with matplotlib.rc_context(STYLE):
                figure = draw(
                    found,
                    title=display_names.metric_title(metric, k=k),
                    expected=[number for number in numbers if number.metric == metric],
                    papers=papers_beside(found, metric, published),
                    x=x,
                    heading=heading,
                    stand_in=stand_in,
                )
                paths += _save_both(figure, folder / metric)
    return paths


def draw(
    found: Mapping[Settings, Curve],
    *,
    title: str,
    expected: Sequence[ExpectedValue] = (),
    papers: Sequence[tuple[Settings, Curve]] = (),
    x: X = "interactions",
    heading: str = "",
    stand_in: str = "",
) -> Figure:
    """The figure of one metric; `title` names its axis, `papers` are curves beside ours of the same settings."""
    keys = panel_keys(list(found), most=MAX_LINES // 2 if papers else MAX_LINES)
    panels = [_Panel(group, [found[s] for s in members]) for group, members in group_by(found, keys).items()]
    titles = display_names.key_titles(found)
    captions = {curve.settings: caption(curve.settings, titles, skip=keys) for curve in found.values()}
    looks = {name: _look(number) for number, name in enumerate(dict.fromkeys(captions.values()))}
    lines = {settings: _Line(name, looks[name]) for settings, name in captions.items()}
    size = (SINGLE_WIDTH, SINGLE_HEIGHT) if len(panels) == 1 else (PANEL_WIDTH, PANEL_HEIGHT)
    figure, grid = _panels(len(panels), size, beside=0.4, sharey=_one_scale(panels))
    n_columns = grid.shape[1]
    for number, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        _draw_panel(axes, panel, lines, x)
        _draw_papers(axes, panel, lines, papers, x)
        _draw_expected(axes, panel, lines, expected, x)
        axes.set_title(caption(panel.condition, titles) if panel.condition else "")
        axes.set_ylabel(title if number % n_columns == 0 else "")
        below = number + n_columns >= len(panels)
        axes.tick_params(labelbottom=below)
        axes.set_xlabel(x if below else "")
    legend = _add_legend(figure, grid.flat[: len(panels)])
    _add_words(figure, heading, stand_in, band_caption(found.values()), legend)
    return figure


def _panels(n: int, size: tuple[float, float], *, beside: float, sharey: bool = False) -> tuple[Figure, Any]:
    """A figure with room for so many panels of that size, and for so many inches beside them; `[n_rows, n_columns]`."""
    n_columns = min(n, MAX_COLUMNS)
    n_rows = math.ceil(n / n_columns)
    figure = Figure(figsize=(size[0] * n_columns + beside, size[1] * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(n_rows, n_columns, sharex=True, sharey=sharey, squeeze=False)
    for axes in grid.flat[n:]:
        axes.set_visible(False)
    return figure, grid


def panel_keys(found: Sequence[Settings], *, most: int = MAX_LINES) -> list[str]:
    """The keys whose values make panels: conditions, as many others as it takes to keep to `most` lines in each, and
    what has one value in each panel then, as the strength of an attack, so that no line is named after it.

    Where only conditions were swept, they make the lines of a single panel, or the last of them those of several.
    """
    keys = display_names.condition_keys(found)
    if len(group_by(found, keys)) == len(found):
        return [] if len(found) <= most else keys[:-1]
    swept = dict.fromkeys(key for settings in found for key, _ in settings)
    for key in swept:
        crowded = max(map(len, group_by(found, keys).values())) > most
        if crowded and key not in keys and len(group_by(found, [*keys, key])) < len(found):
            keys.append(key)
    varied = [key for key in swept if key not in keys and len(group_by(found, [key])) > 1]
    return keys + [key for key in varied if len(group_by(found, [*keys, key])) == len(group_by(found, keys))]


def _one_scale(panels: Sequence[_Panel]) -> bool:
    """Whether one axis suits all panels: where it is over twice as long as any needs, lines would lie on each other."""
    ranges = np.array([[f(curve.mean) for f in (np.min, np.max)] for panel in panels for curve in panel.curves])
    return bool(np.ptp(ranges) <= 2 * np.ptp(ranges, axis=1).max())


def band_caption(found: Iterable[Curve]) -> str:
    """What lines and bands are, for below the panels."""
    shown = list(found)
    folds, seeds = ({getattr(curve, name) for curve in shown} for name in ("n_folds", "n_seeds"))
    lines = f"mean of {_range(folds)} fold{'s' if max(folds) > 1 else ''}"
    if max(seeds) < 2:
        return f"{lines}, one seed: no band"
    return f"{lines} and {_range(seeds)} seeds; band: one standard deviation between seeds, to both sides"


def _range(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _add_words(figure: Figure, heading: str, stand_in: str, below: str, legend: Legend | None) -> None:
    """Title, warning and caption, wrapped to the width of the figure, which grows by their lines.

    The caption stands over a legend below the panels, where there is one: both want the lower edge.
    """
    letters = int(figure.get_figwidth() * HEADING_LETTERS)
    lines = textwrap.wrap(heading, letters) + textwrap.wrap(stand_in, letters)
    words = textwrap.fill(below, int(letters * 1.2))
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * (len(lines) + 1 + words.count("\n")))
    if lines:
        figure.suptitle("\n".join(lines), fontsize=10)
    if legend:
        legend.set_title(words, prop=FontProperties(size=7))
    else:
        figure.supxlabel(words, fontsize=7)


def _draw_panel(axes: Axes, panel: _Panel, lines: _Lines, x: X) -> None:
    """Lines with a band of one standard deviation between seeds to both sides; of one point a level, drawn across."""
    for curve in panel.curves:
        line, at = lines[curve.settings], curve.at(x)
        if len(at) == 1:
            axes.axhline(curve.mean[0], label=line.name, linewidth=1.0, **line.look)
            continue
        axes.plot(at, curve.mean, label=line.name, linewidth=1.5, **line.look)
        if np.isfinite(curve.sd).all():
            low, high = curve.mean - curve.sd, curve.mean + curve.sd
            axes.fill_between(at, low, high, color=line.look["color"], alpha=0.2, linewidth=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: display_names.short_number(value)))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.margins(x=0.02)


def _draw_papers(axes: Axes, panel: _Panel, lines: _Lines, papers: Sequence[tuple[Settings, Curve]], x: X) -> None:
    """The paper's curves as dots on a dotted line."""
    own = {curve.settings for curve in panel.curves}
    for settings, curve in papers:
        if settings in own:
            colour = lines[settings].look["color"]
            dots: Any = {"marker": "o", "markersize": 2.5, "linewidth": 1.0}
            axes.plot(curve.at(x), curve.mean, ":", color=colour, label=PAPERS_CURVE, **dots)


def _draw_expected(axes: Axes, panel: _Panel, lines: _Lines, expected: Sequence[ExpectedValue], x: X) -> None:
    """The paper's numbers as diamonds with their spread, in the colour of the curve that they speak of."""
    for number in expected:
        meant = [curve for curve in panel.curves if number.where.items() <= dict(curve.settings).items()]
        for curve in meant:
            at = _x_at(curve, number, x) if len(curve.rounds) > 1 else axes.get_xlim()[1]
            if at is None:
                continue
            colour = lines[curve.settings].look["color"] if len(meant) == 1 else "#444444"
            spread = number.se if number.se is not None else number.sd
            axes.errorbar(
                [at], [number.value], yerr=None if spread is None else [spread], fmt="D", markersize=4.5,
                color=colour, markeredgecolor="white", capsize=2, label=PAPERS_NUMBER, zorder=5, clip_on=False,
            )  # fmt: skip


def _add_legend(figure: Figure, panels: Iterable[Axes]) -> Legend | None:
    """One legend for all panels: below them where it fits on one line, else at the right; the figure grows by it.

    The one below, if any.
    """
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    for paper in (PAPERS_NUMBER, PAPERS_CURVE):
        if paper in entries:
            entries[paper] = entries.pop(paper)
    if list(entries) == ["all"]:
        return None
    width, height = figure.get_size_inches()
    column = LEGEND_SAMPLE + LEGEND_CHARACTER * max(map(len, entries))
    if len(entries) * column < width:
        figure.set_size_inches(width, height + 2 * LEGEND_LINE)
        return figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=len(entries))
    figure.set_size_inches(width + column, max(height, (len(entries) + 1) * LEGEND_LINE))
    figure.legend(list(entries.values()), list(entries), loc="outside right center")
    return None


def _look(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": STYLES[number // len(COLOURS) % len(STYLES)]}


def _x_at(curve: Curve, number: ExpectedValue, x: X) -> float | None:
    """Where on the axis a number of the paper belongs; None for a round beyond the curve."""
    if number.at == "end":
        return float(curve.at(x)[-1])
    if number.at > curve.rounds[-1]:
        return None
    return float(np.interp(number.at, curve.rounds, curve.at(x)))


def _save_both(figure: Figure, place: Path) -> list[Path]:
    """As pixels and as lines, beside each other."""
    pixels = save_figure(figure, place.with_name(f"{place.name}.png"))
    figure.set_layout_engine("none")  # it is laid out now, and that takes longest
    return [pixels, save_figure(figure, place.with_name(f"{place.name}.svg"))]


def save_figure(figure: Figure, path: Path) -> Path:
    """The file, put in place in one step."""
    metadata, drawn = {"Date": None} if path.suffix == ".svg" else {"Software": None}, io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)
    replace_file(path, drawn.getvalue())
    return path


METRIC = "offline_ndcg"


def write_alpha_plot(folder: Path, rows: Sequence[Row], *, k: int | None = None) -> list[Path]:
    """The figure as two files; none where no row belongs to a curve over alpha."""
    curves = alpha_curves(rows)
    if not curves:
        return []
    with matplotlib.rc_context(STYLE):
        figure = draw_alphas(curves, rows, title=display_names.metric_title(METRIC, k=k))
        return _save_both(figure, folder / "alpha")


def alpha_curves(rows: Iterable[Row]) -> dict[Settings, tuple[FloatVector, FloatVector]]:
    """For each condition the alphas and the mean nDCG of all runs at each of them."""
    values: dict[Settings, dict[float, list[float]]] = {}
    for row in rows:
        if CURVE_KEY in row.settings and row.offline_ndcg is not None:
            at_alpha = values.setdefault(_condition(row.settings.items()), {})
            at_alpha.setdefault(float(row.settings[CURVE_KEY]), []).append(row.offline_ndcg)
    return {
        condition: (np.array(sorted(found)), np.array([np.mean(found[alpha]) for alpha in sorted(found)]))
        for condition, found in values.items()
    }


def draw_alphas(
    curves: Mapping[Settings, tuple[FloatVector, FloatVector]], rows: Sequence[Row], *, title: str
) -> Figure:
    """A panel for each condition: the curve, a diamond at each client's mean alpha, lines at the other rankers."""
    figure, grid = _panels(len(curves), (PANEL_WIDTH, PANEL_HEIGHT), beside=1.6)
    titles, others = display_names.key_titles(curves), [row for row in rows if CURVE_KEY not in row.settings]
    for axes, (condition, (alphas, ndcg)) in zip(grid.flat, curves.items(), strict=False):
        axes.plot(alphas, ndcg, color=COLOURS[0], linewidth=1.5, label="(1 - alpha) M1 + alpha M2")
        _draw_others(axes, [row for row in others if _condition(row.settings.items()) == condition])
        axes.set_title(caption(condition, titles) if condition else "")
        axes.set_xlabel("alpha")
        axes.set_ylabel(title)
    entries = dict(zip(*reversed(grid.flat[0].get_legend_handles_labels()), strict=True))
    figure.legend(list(entries.values()), list(entries), loc="outside right center")
    return figure


def _draw_others(axes: Axes, rows: Sequence[Row]) -> None:
    """What has no alpha to be varied: a dashed line for each ranker, a diamond for what a client chose."""
    alphas = values_at(rows, "chosen_alpha")
    others = 0
    for settings, runs in values_at(rows, METRIC).items():
        tried, ndcg = dict(settings), over_runs(runs).mean
        client = tried.get("client")
        if settings in alphas:
            at = over_runs(alphas[settings]).mean
            axes.plot(
                [at], [ndcg], "D", color=COLOURS[-int(client or 1)], markeredgecolor="white", clip_on=False,
                label=f"alpha of client {client}",
            )  # fmt: skip
        elif tried.get("ranker") not in ("M1", "M2"):  # these two are the ends of the curve
            others += 1
            name = f"{tried.get('ranker')}{'' if client is None else f', client {client}'}"
            axes.axhline(ndcg, color=COLOURS[others], linestyle="--", linewidth=1.0, label=name)


def _condition(items: Iterable[tuple[str, str | int | float | bool]]) -> Settings:
    return tuple((key, value) for key, value in items if key not in (*RANKER_KEYS, CURVE_KEY))
