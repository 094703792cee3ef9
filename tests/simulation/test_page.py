"""docs/simulation.md tells what is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from simulation.cell import expand
from simulation.cli import command
from simulation.data.datasets import load_fold
from simulation.preset import decode_preset, load_tables
from simulation.report.summary import SUMMARY_DATA, SUMMARY_TEXT
from simulation.results import CELLS, PRESET, ROWS, TABLE, Row
from simulation.trial import Trial, check_method

PAGE = Path(__file__).resolve().parents[2] / "docs" / "simulation.md"


@pytest.fixture(scope="module")
def words() -> set[str]:
    """Everything that stands as code on the page, word by word."""
    return set(re.findall(r"[\w.-]+", " ".join(re.findall(r"`([^`\n]+)`", PAGE.read_text(encoding="utf-8")))))


def test_the_page_has_every_option(words: set[str]) -> None:
    """No option of the command is left out, and none is there that the command does not take."""
    options = {name for option in command.params if isinstance(option, click.Option) for name in option.opts}
    on_page = {word for word in words if word.startswith("--")}
    assert on_page - {"--simulate"} == options


def test_the_page_has_every_field_of_a_row_and_every_file(words: set[str]) -> None:
    """What a program reads from the folder of a run is explained."""
    assert set(Row.__struct_fields__) <= words
    assert {PRESET, ROWS, CELLS, TABLE, SUMMARY_TEXT, SUMMARY_DATA} <= words


def examples() -> list[dict[str, Any]]:
    """The TOML of the page, block by block."""
    return [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)]


def test_the_preset_of_the_page_is_one() -> None:
    """The example is accepted: three learning rates and two kinds of users on two folds with three seeds, 36 cells."""
    study = decode_preset(examples()[0], source="page")
    assert len(expand(study, folds_of=lambda dataset: (1,))) == 3 * 2 * 2 * 3


def test_the_clients_of_the_page_can_run() -> None:
    """The example of clients that differ is accepted, and everything in it fits together."""
    tables = {"method": {"name": "fpdgd"}, **examples()[1]}
    tables["data"] = {"dataset": "sample", "folds": [1], **tables["data"]}
    (cell,) = expand(decode_preset(tables, source="page"), folds_of=lambda dataset: (1,))
    check_method(cell)
    population = Trial.prepared(cell, load_fold("sample", 1)).population
    assert (population.users.n_behaviours, list(population.local), population.n_malicious) == (3, [1, 3, 5], 1)


def test_the_server_of_the_page_is_the_group_of_the_preset() -> None:
    """The page's last example says of the server what group/default says."""
    *_, example = examples()
    tables = load_tables("group/default")
    assert example["federation"].items() <= tables["federation"].items()
    assert set(example["federation"]) == set(decode_preset(tables, source="page").federation.joining)
