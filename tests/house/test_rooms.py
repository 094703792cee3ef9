"""The rooms of the house: no circles, one name for one thing, and pages that name what is there."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOUSES = ("console", "foltr", "indexer", "app", "federation_server", "simulation")


@cache
def rooms() -> dict[str, ast.Module]:
    """Every product module by its dotted name, parsed."""
    files = [path for house in HOUSES for path in sorted((ROOT / house).rglob("*.py"))]
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in files}
    return {name: ast.parse(path.read_text(encoding="utf-8")) for path, name in names.items()}


@cache
def imported(module: ast.Module) -> set[str]:
    """The product modules that a module imports: at its top, inside of functions, or for its types alone."""
    found: set[str] = set()
    for node in statements(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            of_package = {f"{node.module}.{alias.name}" for alias in node.names} & rooms().keys()
            found |= of_package or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & rooms().keys()


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node, to any depth; no expression holds one."""
    for below in ast.iter_child_nodes(node):
        if not isinstance(below, ast.expr):
            yield below
            yield from statements(below)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not even by an import inside of a function: every module can be read after those that it uses."""
    graph = {name: imported(module) - {name} for name, module in rooms().items()}
    assert sum(len(users) for users in graph.values()) > 500
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_a_public_class_name_means_one_thing() -> None:
    """No two modules define public classes of one name."""
    places = defaultdict(list)
    for name, module in rooms().items():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_each_kind_of_array_is_typed_once() -> None:
    """foltr/arrays.py says what FloatVector and its like are, indexer/postings.py what the index has of its own."""
    places = defaultdict(list)
    for name, module in rooms().items():
        for node in module.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("npt.NDArray["):
                places[ast.unparse(node.targets[0])].append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
    assert {name for found in places.values() for name in found} <= {
        "foltr.arrays", "indexer.postings", "simulation.rounds.streams",
    }  # fmt: skip


def test_most_rooms_have_a_test_of_their_name() -> None:
    """At least three quarters; what only holds words, tables or wiring is tested where it is used."""
    tested = {path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")}
    wanted = [name for name in rooms() if not (ROOT / name.replace(".", "/")).is_dir() and "migrations" not in name]
    untested = [name for name in wanted if name.rpartition(".")[2] not in tested]
    assert len(untested) <= len(wanted) / 4, untested


def texts() -> list[Path]:
    """Pages and code that may name a room."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    return pages + [path for house in (*HOUSES, "benchmarks") for path in (ROOT / house).rglob("*.py")]


def test_every_file_that_is_named_exists() -> None:
    """A page or a docstring that names app/learning/prior.py names a file that is there."""
    pattern = re.compile(rf"\b(?:{'|'.join((*HOUSES, 'benchmarks', 'tests'))})(?:/\w+)+\.(?:py|json|toml)\b")
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in texts()
        for name in pattern.findall(path.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert missing == set()


def test_every_module_that_is_named_exists() -> None:
    """`indexer.codec.segments` in backticks is a module, and what follows it is in it."""
    pattern = re.compile(rf"`((?:{'|'.join(HOUSES)})(?:\.\w+)+)(?:\(\))?`")
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in texts()
        for name in pattern.findall(path.read_text(encoding="utf-8"))
        if not name.endswith(".toml") and not is_there(name)
    }
    assert missing == set()


def is_there(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in rooms():
            found: object = importlib.import_module(name)
            for part in parts[length:]:
                fields = getattr(found, "__annotations__", {})
                if not hasattr(found, part) and part not in fields:
                    return False
                found = getattr(found, part, None)
            return True
    return False
