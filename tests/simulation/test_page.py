"""docs/simulation.md tells what is there."""

from __future__ import annotations

import re
import sys
import tomllib
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click
import pytest

from foltr.federated.aggregation.registry import RULES, Aggregation
from foltr.federated.registry import METHODS
from simulation.attacks.registry import ATTACKS
from simulation.cells.cell import expand
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import load_tables
from simulation.cells.trial import Trial
from simulation.cli import command, main
from simulation.data.datasets import load_fold
from simulation.experiment import check_method
from simulation.partitions.registry import PARTITIONS
from simulation.report.result_tables import SUMMARY_DATA, SUMMARY_TEXT
from simulation.run_folder import CELLS, PRESET, ROWS, TABLE, Row, read_run

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


def example_of(file: str) -> Any:
    """The class that the page's file defines: the code is run as it stands there."""
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(rf"```python\n# {re.escape(file)}, in [\w/]+\n(.*?)```", text, flags=re.DOTALL)
    module = types.ModuleType(file.removesuffix(".py"))
    sys.modules[module.__name__] = module  # dataclasses look there for the types of fields
    exec(compile(code, file, "exec"), vars(module))
    (found,) = [kind for kind in vars(module).values() if getattr(kind, "__module__", "") == module.__name__]
    return found


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The page's four examples, each by the line that the page gives for its registry."""
    lines = dict(re.findall(r'The line: `"([\w-]+)": (\w+),` in', PAGE.read_text(encoding="utf-8")))
    names = {kind: name for name, kind in lines.items()}
    method, rule, attack, partition = map(example_of, OWN)
    monkeypatch.setitem(METHODS, names[method.__name__], method)
    monkeypatch.setitem(ATTACKS, names[attack.__name__], attack)
    monkeypatch.setitem(PARTITIONS, names[partition.__name__], partition)
    monkeypatch.setattr("foltr.federated.fpdgd.Aggregation", Aggregation | rule)
    yield
    for file in OWN:
        sys.modules.pop(file.removesuffix(".py"))


OWN = ("sign_pdgd.py", "midrange.py", "silent.py", "in_order.py")


@pytest.mark.usefixtures("registered")
def test_what_the_page_adds_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command below the examples ends well, and what each asks for is what its cells ran with."""
    monkeypatch.setattr("simulation.report.plots.write_plots", lambda *arguments, **options: [])
    commands = re.findall(
        r"^foltr-search --simulate (sample .*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    few = ["--rounds", "3", "--folds", "1", "--clicks", "perfect", "--jobs", "1"]
    ran = []
    for number, line in enumerate(commands):
        folder = tmp_path / str(number)
        assert main([*line.split(), *few, "--out", str(folder)]) == 0
        ran.append((folder / "preset.toml").read_text(encoding="utf-8"))
        assert {row.round for row in read_run(folder).rows} == {0, 1, 2, 3}
    assert [word in text for word, text in zip(("sign-pdgd", "midrange", "silent", "in-order"), ran, strict=True)] == [
        True
    ] * 4


@pytest.mark.usefixtures("registered")
def test_what_the_page_adds_is_checked_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rule refuses a single client and the partition more clients than queries, before anything runs."""
    alone = ["sample", "--aggregation", "midrange", "--clients", "1", "--out", str(tmp_path / "out")]
    assert main(alone) == 2
    assert "federation.aggregation: midrange needs at least 2 clients, not 1" in capsys.readouterr().err
    many = ["sample", "--set", "federation.partition.kind=in-order", "--clients", "50", "--out", str(tmp_path / "out")]
    assert main(many) == 2
    assert "federation.partition: wanted a query for each of 50 clients, got 40" in capsys.readouterr().err
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name} " in listed or f"  {name}\n" in listed for name in ("sign-pdgd", "silent", "in-order"))


def test_the_names_of_the_rules_are_their_tags() -> None:
    """One line in the union is all that a rule needs."""
    assert {name: kind.__struct_config__.tag for name, kind in RULES.items()} == {name: name for name in RULES}
    assert list(RULES.values()) == list(get_args(Aggregation))
