"""alpha.png, alpha.svg: nDCG over alpha, the weight of the second of two merged rankers, and what each client chose."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from foltr.arrays import FloatVector
from simulation.report.names import RANKER_KEYS, caption, key_titles, metric_title
from simulation.report.plots import COLOURS, MAX_COLUMNS, PANEL_HEIGHT, PANEL_WIDTH, STYLE, save_figure
from simulation.report.statistics import Settings, over_runs, values_at
from simulation.run_folder import CURVE_KEY, Row

METRIC = "offline_ndcg"


def write_alpha_plot(folder: Path, rows: Sequence[Row], *, k: int | None = None) -> list[Path]:
    """The figure as two files; none where no row belongs to a curve over alpha."""
    curves = alpha_curves(rows)
    if not curves:
        return []
    with matplotlib.rc_context(STYLE):
        figure = draw_alphas(curves, rows, title=metric_title(METRIC, k=k))
        paths = [save_figure(figure, folder / "alpha.png")]
        figure.set_layout_engine("none")
        return [*paths, save_figure(figure, folder / "alpha.svg")]


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
    n_columns = min(len(curves), MAX_COLUMNS)
    n_rows = math.ceil(len(curves) / n_columns)
    figure = Figure(figsize=(PANEL_WIDTH * n_columns + 1.6, PANEL_HEIGHT * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(n_rows, n_columns, sharex=True, squeeze=False)
    titles, others = key_titles(curves), [row for row in rows if CURVE_KEY not in row.settings]
    for axes, (condition, (alphas, ndcg)) in zip(grid.flat, curves.items(), strict=False):
        axes.plot(alphas, ndcg, color=COLOURS[0], linewidth=1.5, label="(1 - alpha) M1 + alpha M2")
        _draw_others(axes, [row for row in others if _condition(row.settings.items()) == condition])
        axes.set_title(caption(condition, titles) if condition else "")
        axes.set_xlabel("alpha")
        axes.set_ylabel(title)
    for axes in grid.flat[len(curves) :]:
        axes.set_visible(False)
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
