"""Pictures of learning curves: which are drawn, what is on them, that they are real files."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import pytest

from simulation.cells.preset import ExpectedCurve, ExpectedValue
from simulation.report.paper_numbers import papers_beside
from simulation.report.statistics import curves
from simulation.run_folder import CURVE_KEY, Row, Setting


def rows_of(clicks: str, rate: float, *, slope: float = 0.01, rounds: int = 5) -> list[Row]:
    return [
        Row(
            cell=f"{clicks}-{rate}-{fold}",
            settings={"users.clicks": clicks, "method.learning_rate": rate},
            fold=fold,
            seed=1,
            round=number,
            interactions=number * 50,
            offline_ndcg=0.4 + slope * number + 0.02 * fold,
            online_ndcg=0.3 if number else None,
        )
        for fold in (1, 2, 3)
        for number in range(rounds)
    ]


@pytest.fixture(scope="module")
def plots() -> ModuleType:
    """Loaded by who runs these tests alone: Matplotlib is a tenth of what collecting all tests loads."""
    from simulation.report import plots

    return plots


ROWS = [row for clicks in ("perfect", "poison") for rate in (0.1, 0.01) for row in rows_of(clicks, rate)]


def test_a_metric_with_data_has_both_files(plots: Any, tmp_path: Path) -> None:
    """PNG and SVG can be read, metrics without data have none, and nothing else is left in the folder."""
    paths = plots.write_plots(tmp_path, ROWS, k=10)
    names = {"offline_ndcg.png", "offline_ndcg.svg", "online_ndcg.png", "online_ndcg.svg"}
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths} == names
    assert [path.name for path in plots.write_plots(tmp_path, ROWS, metrics=["online_ndcg"])] == [
        "online_ndcg.png",
        "online_ndcg.svg",
    ]
    from matplotlib.image import imread

    picture = imread(tmp_path / "offline_ndcg.png")
    assert picture.shape[1] > 1000
    assert np.ptp(picture[..., :3]) > 0.9
    root = ET.parse(tmp_path / "offline_ndcg.svg").getroot()
    texts = {"".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"offline nDCG@10", "interactions", "perfect", "poison", "learning rate 0.1", "learning rate 0.01"} <= texts


def test_a_stand_in_is_named_above_every_picture(plots: Any, tmp_path: Path) -> None:
    """All of the text is there, broken where the picture is narrow."""
    said = "NOT MSLR-WEB10K: synthetic, made up, shaped like MSLR"
    for path in plots.write_plots(tmp_path, ROWS, stand_in=said):
        if path.suffix == ".svg":
            texts = ET.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")
            assert said in " ".join("".join(element.itertext()).strip() for element in texts)


def test_the_same_rows_make_the_same_picture(plots: Any, tmp_path: Path) -> None:
    """There is no date and no random name in the files, so that they can be compared."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        plots.write_plots(tmp_path / name, rows_of("perfect", 0.1))
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_each_condition_has_a_panel_and_each_setting_a_colour(plots: Any) -> None:
    """Two click models make two panels with the same axes; a setting has the same colour in both."""
    figure = plots.draw(curves(ROWS, "offline_ndcg"), title="offline nDCG")
    assert [axes.get_title() for axes in figure.axes] == ["perfect", "poison"]
    assert [[line.get_color() for line in axes.get_lines()] for axes in figure.axes] == [list(plots.COLOURS[:2])] * 2
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert figure.axes[0].get_xlabel() == "interactions"
    assert len(figure.legends) == 1


def test_the_band_is_one_standard_deviation_between_seeds(plots: Any) -> None:
    """Seeds are .01 apart, folds .02, which have no part in it; one seed has no band. The caption says which."""
    once = rows_of("perfect", 0.1, slope=0.0)
    again = [
        msgspec.structs.replace(row, seed=2, offline_ndcg=(row.offline_ndcg or 0) + 0.01, cell=f"{row.cell}-2")
        for row in once
    ]
    two, one = curves([*once, *again], "offline_ndcg"), curves(once, "offline_ndcg")
    figure = plots.draw(two, title="x")
    edges = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert np.ptp(edges) == pytest.approx(2 * 0.01 / 2**0.5)
    assert "band: one standard deviation between seeds" in figure.legends[0].get_title().get_text().replace("\n", " ")
    bare = plots.draw(one, title="x")
    assert len(bare.axes[0].collections) == 0
    assert bare.legends[0].get_title().get_text() == "mean of 3 folds, one seed: no band"


def test_the_papers_curve_is_beside_ours(plots: Any) -> None:
    """Dotted, in the colour of the curve it speaks of, by its own points, and no further than ours."""
    given = ExpectedCurve(
        metric="offline_ndcg",
        where={"users.clicks": "perfect", "method.learning_rate": 0.01},
        at=(50, 150, 900),
        values=(0.3, 0.5, 0.6),
    )
    found = curves(ROWS, "offline_ndcg")
    perfect, poison = plots.draw(found, title="x", papers=papers_beside(found, "offline_ndcg", [given])).axes
    ours, papers = perfect.get_lines()[1], perfect.get_lines()[2]
    assert papers.get_xydata().tolist() == [[50, 0.3], [150, 0.5]]
    assert (papers.get_linestyle(), papers.get_color()) == (":", ours.get_color())
    assert len(poison.get_lines()) == 2


def test_panels_of_other_heights_have_their_own_axis(plots: Any) -> None:
    """.3 above the others, curves that rise by .05 would be flat on a common one."""
    high = [msgspec.structs.replace(row, offline_ndcg=(row.offline_ndcg or 0) + 0.3) for row in ROWS[len(ROWS) // 2 :]]
    first, second = plots.draw(curves([*ROWS[: len(ROWS) // 2], *high], "offline_ndcg"), title="x").axes
    assert second.get_ylim()[0] > first.get_ylim()[1]


def test_many_settings_take_more_panels(plots: Any) -> None:
    """Two users x three privacies x five rates: fifteen lines to a panel are too many, so privacies make panels too."""
    settings = [
        (("users.clicks", clicks), ("method.privacy", privacy), ("method.learning_rate", rate))
        for clicks in ("perfect", "poison")
        for privacy in ("low", "high", "none")
        for rate in (0.1, 0.2, 0.3, 0.4, 0.5)
    ]
    assert plots.panel_keys(settings) == ["users.clicks", "method.privacy"]
    assert plots.panel_keys(settings[:5]) == ["users.clicks"]
    many = [(("users.clicks", c), ("users.k", k)) for c in "abc" for k in range(4)]
    assert (plots.panel_keys(many[:8]), plots.panel_keys(many)) == ([], ["users.clicks"])


def test_what_goes_along_with_a_panel_names_no_line(plots: Any) -> None:
    """Two attacks of a strength of their own, five rules: each rule has one name in both panels."""
    attacks = [(("attack", "lie"), ("z", 1.5)), (("attack", "ipm"), ("scale", 4.0)), (("attack", "adaptive"),)]
    settings = [(*attack, ("rule", rule)) for attack in attacks for rule in "abcde"]
    assert plots.panel_keys(settings) == ["attack", "z", "scale"]


def test_the_papers_numbers_are_where_they_belong(plots: Any) -> None:
    """A number at a round stands at that round's interactions, one at the end at the last; others are left out."""
    where = {"users.clicks": "perfect", "method.learning_rate": 0.1}
    numbers = [
        ExpectedValue(metric="offline_ndcg", value=0.5, where=where, at=3, se=0.01),
        ExpectedValue(metric="offline_ndcg", value=0.6, where=where),
        ExpectedValue(metric="offline_ndcg", value=0.7, where=where, at=99),
    ]
    found = curves(ROWS, "offline_ndcg")
    perfect, poison = plots.draw(found, title="x", expected=numbers).axes
    marks = [container.lines[0].get_xydata().tolist() for container in perfect.containers]
    assert marks == [[[150.0, 0.5]], [[200.0, 0.6]]]
    assert poison.containers == []
    by_rounds = plots.draw(found, title="x", expected=numbers[:1], x="rounds").axes[0]
    assert by_rounds.containers[0].lines[0].get_xdata().tolist() == [3]


def test_many_lines_have_a_legend_at_the_side(plots: Any) -> None:
    """Twelve settings fit no line below; they still differ in colour or style, and the panel keeps its size."""
    rows = [row for number in range(12) for row in rows_of("perfect", 1 + number)]
    figure = plots.draw(curves(rows, "offline_ndcg"), title="x")
    looks = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].get_lines()}
    assert len(looks) == 12
    figure.draw_without_rendering()
    assert figure.axes[0].get_window_extent().width / figure.dpi > 3


def test_a_single_row_beside_a_curve_is_a_level(plots: Any) -> None:
    """It is drawn across the whole panel, and the paper's number for it stands at the right edge of the curves."""
    level = [row for row in rows_of("perfect", 1.0, rounds=9) if row.round == 8]
    number = ExpectedValue(metric="offline_ndcg", where={"method.learning_rate": 1.0}, value=0.5)
    figure = plots.draw(curves([*ROWS, *level], "offline_ndcg"), title="nDCG", expected=[number])
    axes = figure.axes[0]
    drawn = next(line for line in axes.lines if line.get_label() == "learning rate 1")
    assert np.asarray(drawn.get_ydata()).tolist() == pytest.approx([0.4 + 0.01 * 8 + 0.02 * 2] * 2)
    assert np.asarray(drawn.get_xdata()).tolist() == [0, 1]  # of the axes' width
    assert axes.get_xlim()[1] < 8 * 50


def test_a_single_row_is_no_curve(plots: Any, tmp_path: Path) -> None:
    """A baseline trained on labels has one row and no picture."""
    assert plots.write_plots(tmp_path, rows_of("perfect", 0.1, rounds=1)) == []


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


def test_the_curve_is_the_mean_of_runs_at_each_alpha(plots: Any) -> None:
    """By rising alpha; (.1 + .2) / 2 above half of alpha."""
    ((condition, (alphas, ndcg)),) = plots.alpha_curves(study()).items()
    assert condition == (("method", "a"),)
    assert alphas.tolist() == [0.0, 0.5, 1.0]
    assert ndcg.round(12).tolist() == [0.15, 0.4, 0.65]


def test_what_a_client_chose_and_the_other_rankers_are_drawn(plots: Any) -> None:
    """A diamond at the mean alpha (1/4 + 2/4) / 2; a dashed line for Mfull, none for M1, which begins the curve."""
    axes = plots.draw_alphas(plots.alpha_curves(study()), study(), title="nDCG").axes[0]
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"(1 - alpha) M1 + alpha M2", "alpha of client 2", "Mfull"}
    assert [list(values) for values in lines["alpha of client 2"].get_data()] == [[0.375], [0.4]]
    assert set(lines["Mfull"].get_ydata()) == {0.9}


def test_files_are_written_where_there_is_a_curve(plots: Any, tmp_path: Path) -> None:
    """As PNG and SVG; a study without such rows has no such figure."""
    assert plots.write_alpha_plot(tmp_path, [row(1, 0.5, ranker="M1")]) == []
    assert [path.name for path in plots.write_alpha_plot(tmp_path, study())] == ["alpha.png", "alpha.svg"]
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("alpha.png", "alpha.svg"))
