"""Facets, driven by keys."""

from __future__ import annotations

import re
from typing import Any

import pytest

from app.search.results import FacetCount, Facets
from app.tui.bars.facet_bar import FACETS, FacetBar
from app.tui.bars.status_lines import StatusLine
from app.tui.results_list import ResultsList
from tests.app.tui.conftest import Stages, wind


def _rows(stage: Any) -> list[str]:
    page = stage.app.search_screen.query_one(ResultsList).page
    return [hit.path.rsplit("/", 1)[-1] for hit in page.hits] if page else []


async def test_facets_narrow_and_open_again(stage: Stages) -> None:
    """F4, a chip and Enter narrow; Enter on it again takes it away."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("f4", "right", "right", "enter")
        await one.until(pilot, lambda: _rows(one) == ["turbine.md"], "only markdown")
        assert one.engine.requests[-1].type == "markdown"
        assert "markdown" in one.app.search_screen.query_one(StatusLine).text
        bar = one.app.search_screen.query_one(FacetBar)
        assert bar.active["type"] == "markdown"
        await pilot.press("enter")
        await one.until(pilot, lambda: len(_rows(one)) == 4, "all again")
        for tell, row in (
            (lambda: bar.show_facets(Facets()), ["type", "all"]),
            (lambda: bar.narrow("type", "pdf"), ["type", "all", "pdf"]),
        ):
            tell()
            await pilot.pause()
            assert one.text.splitlines()[bar.region.y].split() == row


def test_a_chosen_folder_is_named_as_everywhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The home folder is ~, also where nothing of the page lies below the folder."""
    monkeypatch.setenv("HOME", "/home/anna")
    bar = FacetBar({"type": "", "folder": "/home/anna/notes", "time": ""})
    assert [chip.text for chip in bar.chips("folder")] == ["all", "~/notes"]


async def test_the_cursor_is_where_the_arrow_keys_went(stage: Stages) -> None:
    """On one chip of one row."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("f4", "down", "right")
        bar = one.app.search_screen.query_one(FacetBar)
        cursor = bar.get_component_rich_style("facet--cursor")
        lines = one.app.screen._compositor.render_strips()[bar.region.y :]
        under = [(y, part.text) for y in range(len(FACETS)) for part in lines[y] if part.style == cursor]
        assert under == [(1, f" {bar.chips(FACETS[1])[1].text} ")]


async def test_no_number_is_cut(stage: Stages) -> None:
    """What does not fit in the row is cut with an ellipsis: 4 of 47 would be another number."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("f4")
        bar = one.app.search_screen.query_one(FacetBar)
        bar.show_facets(Facets(times=(FacetCount("month", "last 30 days", 47), FacetCount("year", "last year", 4_711))))
        for width in range(30, 70):
            await pilot.resize_terminal(width, 24)
            row = one.text.splitlines()[bar.region.y + 2]
            assert set(re.findall(r"[\d,]+", row.replace("last 30", ""))) <= {"47", "4,711"}
            assert "last year" not in row or "4,711" in row or "…" in row


async def test_a_row_slides_to_the_chip_under_the_cursor(stage: Stages) -> None:
    """On a narrow screen the chips before it leave the row, and those after it have their place."""
    async with wind(stage()) as (one, pilot):
        await pilot.resize_terminal(40, 24)
        bar = one.app.search_screen.query_one(FacetBar)
        bar.show_facets(Facets(times=tuple(FacetCount(f"{n}", f"last {n} days", 40 + n) for n in range(9))))
        await pilot.press("f4", "down", "down", *["right"] * 7)
        assert one.text.splitlines()[bar.region.y + 2].rstrip() == "  time     last 6 days 46   last 7 da…"
