"""What docs/query-language.md shows is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from indexer.properties import PROPERTIES
from indexer.query.parse import parse

NOW = 1_750_000_000.0
PAGE = (Path(__file__).parents[3] / "docs" / "query-language.md").read_text()
SHOWN = [query for line in PAGE.splitlines() if line.startswith("| `") for query in re.findall("`(.+?)`", line)]


def pairs(name: str) -> list[tuple[str, str]]:
    blocks = re.findall(rf"```{name}\n(.*?)```", PAGE, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [(left, right) for left, right in (re.split(r"\s{3,}", line, maxsplit=1) for line in lines)]


def property_rows() -> list[str]:
    """The rows of the table of properties."""
    rows = []
    for one in PROPERTIES.values():
        also = "; also " + ", ".join(f"`{alias}:`" for alias in one.aliases) if one.aliases else ""
        rows.append(f"| `{one.example}` | {one.meaning}{also}{'' if one.plain else '; not found by plain words'} |")
    return rows


def test_every_property_is_in_the_table() -> None:
    """The table of properties is the one that the program goes by."""
    table = PAGE.split("<!-- properties -->")[1].split("<!-- /properties -->")[0]
    assert table.strip().splitlines()[2:] == property_rows()


@pytest.mark.parametrize("query", [query for query in SHOWN if not query.endswith(":")])
def test_examples_are_understood(query: str) -> None:
    """Every query in the tables is parsed without a complaint."""
    assert parse(query, now=NOW).problems == ()
    assert parse(query, now=NOW).root is not None


@pytest.mark.parametrize("alias", [query for query in SHOWN if query.endswith(":")])
def test_other_names_are_known(alias: str) -> None:
    """Every other name of a field that the tables give makes a field."""
    assert parse(alias + "x", now=NOW).root != parse(f'"{alias}x"', now=NOW).root
    assert "right after the colon" in parse(alias, now=NOW).problems[0].message


@pytest.mark.parametrize(("one", "other"), pairs("same"))
def test_what_is_called_the_same_is_the_same(one: str, other: str) -> None:
    """Both queries of a line give one tree."""
    assert parse(one, now=NOW).root == parse(other, now=NOW).root


@pytest.mark.parametrize(("query", "message"), pairs("problems"))
def test_messages(query: str, message: str) -> None:
    """Each malformed query gives the one message beside it."""
    assert [problem.message for problem in parse(query, now=NOW).problems] == [message]
