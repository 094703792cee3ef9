"""The figure of nDCG over alpha."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from simulation.report.plots import alpha_curves, draw_alphas, write_alpha_plot
from simulation.run_folder import CURVE_KEY, Row, Setting


def row(fold: int, ndcg: float, chosen_alpha: float | None = None, **settings: Setting) -> Row:
    return Row(
        cell=f"f{fold}", settings=settings, fold=fold, seed=1, round=0, interactions=0,
        offline_ndcg=ndcg, chosen_alpha=chosen_alpha,
    )  # fmt: skip


def study() -> list[Row]:
    """Two folds under one condition: three points of the curve, an alpha that a client chose, a ranker beside them."""
    curve = [
        row(fold, alpha / 2 + fold / 10, method="a", ranker="linear", **{CURVE_KEY: alpha})
        for fold in (1, 2)
        for alpha in (1.0, 0.0, 0.5)
    ]
    chosen = [row(fold, 0.4, chosen_alpha=fold / 4, method="a", ranker="linear", client=2) for fold in (1, 2)]
    return curve + chosen + [row(1, 0.9, method="a", ranker="Mfull"), row(1, 0.1, method="a", ranker="M1")]


def drawn(rows: list[Row]) -> Figure:
    return draw_alphas(alpha_curves(rows), rows, title="nDCG")


def test_the_curve_is_the_mean_of_runs_at_each_alpha() -> None:
    """By rising alpha; (.1 + .2) / 2 above half of alpha."""
    ((condition, (alphas, ndcg)),) = alpha_curves(study()).items()
    assert condition == (("method", "a"),)
    assert alphas.tolist() == [0.0, 0.5, 1.0]
    assert ndcg.round(12).tolist() == [0.15, 0.4, 0.65]


def test_what_a_client_chose_and_the_other_rankers_are_drawn() -> None:
    """A diamond at the mean alpha (1/4 + 2/4) / 2; a dashed line for Mfull, none for M1, which begins the curve."""
    axes = drawn(study()).axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"(1 - alpha) M1 + alpha M2", "alpha of client 2", "Mfull"}
    assert [list(values) for values in lines["alpha of client 2"].get_data()] == [[0.375], [0.4]]
    assert set(lines["Mfull"].get_ydata()) == {0.9}


def test_files_are_written_where_there_is_a_curve(tmp_path: Path) -> None:
    """As PNG and SVG; a study without such rows has no such figure."""
    assert write_alpha_plot(tmp_path, [row(1, 0.5, ranker="M1")]) == []
    assert [path.name for path in write_alpha_plot(tmp_path, study())] == ["alpha.png", "alpha.svg"]
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("alpha.png", "alpha.svg"))
