"""The pages of the laboratory tell what is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import click
import pytest

import simulation
from foltr.federated.aggregation.registry import RULES, Aggregation
from simulation.cells.cell import expand
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import load_tables
from simulation.cells.trial import Trial
from simulation.cli import command
from simulation.data.datasets import load_fold
from simulation.experiment import check_method
from simulation.report.result_tables import SUMMARY_DATA, SUMMARY_TEXT
from simulation.run_folder import CELLS, PRESET, ROWS, TABLE, Row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "presets.md"
NEWCOMERS = PAGE.with_name("simulation.md")


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
    (example,) = [one for one in examples() if "mix" in one.get("users", {})]
    tables = {"method": {"name": "fpdgd"}, **example}
    tables["data"] = {"dataset": "sample", "folds": [1], **tables["data"]}
    (cell,) = expand(decode_preset(tables, source="page"), folds_of=lambda dataset: (1,))
    check_method(cell)
    population = Trial.prepared(cell, load_fold("sample", 1)).population
    assert (population.users.n_behaviours, list(population.local), population.n_malicious) == (3, [1, 3, 5], 1)


def test_the_server_of_the_page_is_the_group_of_the_preset() -> None:
    """The page's example of a server says what group/default says."""
    (example,) = [one for one in examples() if "aggregation" in one.get("federation", {})]
    tables = load_tables("group/default")
    assert example["federation"].items() <= tables["federation"].items()
    assert set(example["federation"]) == set(decode_preset(tables, source="page").federation.joining)


def test_a_first_study_of_ones_own_is_one() -> None:
    """The newcomer's file: two rates for two kinds of users, one of them by numbers, whom the sample's grades fit."""
    (text,) = re.findall(r"```toml\n(.*?)```", NEWCOMERS.read_text(encoding="utf-8"), flags=re.DOTALL)
    cells = expand(decode_preset(tomllib.loads(text), source="page"), folds_of=lambda dataset: (1,))
    assert len(cells) == 2 * 2
    assert [Trial.prepared(cell, load_fold("sample", 1)).population.users.leave[0] for cell in cells] == pytest.approx(
        [0.0, 1 - 0.9, 0.0, 1 - 0.9]
    )


def test_the_lines_of_python_run(capsys: pytest.CaptureFixture[str]) -> None:
    """But for the frame, whose library may not be there; and every name of the interface is on the page."""
    text = NEWCOMERS.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)^frame", text, flags=re.DOTALL | re.MULTILINE)
    exec(compile(code.replace('"data.dataset"', '"data.folds": [[1]], "data.dataset"'), "page", "exec"), {})
    assert len(capsys.readouterr().out.split()) >= 2 * 2 * 3
    assert all(f"`{name}`" in text for name in simulation.__all__ if name != "run")


def test_every_example_is_on_the_page() -> None:
    """And each that is named is there."""
    named = set(re.findall(r"\.\./examples/(\w+\.py)", NEWCOMERS.read_text(encoding="utf-8")))
    assert named == {path.name for path in (PAGE.parents[1] / "examples").glob("*.py")}


def test_the_names_of_the_rules_are_their_tags() -> None:
    """One line in the union is all that a rule needs."""
    assert {name: kind.__struct_config__.tag for name, kind in RULES.items()} == {name: name for name in RULES}
    assert list(RULES.values()) == list(get_args(Aggregation))
