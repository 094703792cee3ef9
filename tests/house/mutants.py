"""Changes one place of the product after another, drawn at random over all rooms: which change does no test notice?

    python -m tests.house.mutants --n 80 --seed 1

Each change is made in a copy of the last commit and judged by the test of its module, then by those of its folder.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import msgspec
import numpy
import pytest

LOADED = (hypothesis, msgspec, numpy)
"""once, before the copies of this process that run the tests"""
ROOMS = ("app", "console", "federation_server", "foltr", "indexer", "simulation")
COMPILED = {"njit", "kernel"}
SECONDS = 300
OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
}  # fmt: skip


def changed(node: ast.AST) -> str | None:
    """The node's text after one change of it, None for a node that is left alone."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            return "pass"
        case ast.Compare(ops=[op]) if type(op) in OPPOSITES:
            return ast.unparse(ast.Compare(node.left, [OPPOSITES[type(op)]()], node.comparators))
        case ast.BoolOp(op=op, values=values):
            return f"({ast.unparse(ast.BoolOp(OPPOSITES[type(op)](), values))})"
        case ast.BinOp(op=op, left=left, right=right) if type(op) in OPPOSITES:
            return f"({ast.unparse(ast.BinOp(left, OPPOSITES[type(op)](), right))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"bool({ast.unparse(operand)})"
        case ast.Constant(value=bool() as value):
            return str(not value)
        case ast.Constant(value=int() | float() as value):
            return repr(value + 1)
    return None


def sites(node: ast.AST) -> Iterator[ast.AST]:
    """What may be changed inside of functions: no texts of errors, no types, nothing that is compiled by numba."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise) or child is getattr(node, "returns", None) or isinstance(child, ast.arg):
            continue
        if isinstance(child, ast.FunctionDef) and COMPILED & set(re.findall(r"\w+", _decorators(child))):
            continue
        if changed(child) is not None and not isinstance(node, ast.JoinedStr | ast.FormattedValue | ast.Slice):
            yield child
        yield from sites(child)


def _decorators(function: ast.FunctionDef) -> str:
    return " ".join(ast.unparse(one) for one in function.decorator_list)


def functions(path: Path) -> list[ast.AST]:
    tree = ast.parse(path.read_text())
    return [site for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for site in sites(node)]


def draw(root: Path, n: int, lot: random.Random) -> list[tuple[Path, ast.AST]]:
    """`n` places, files drawn by their length."""
    files = [path for room in ROOMS for path in sorted((root / room).rglob("*.py")) if "migrations" not in path.parts]
    found = [(path, site) for path in files for site in functions(path)]
    return lot.sample(found, n)


def judges(root: Path, path: Path) -> list[list[Path]]:
    """Its own test, then the tests of the folder that mirrors its room."""
    folder = root / "tests" / path.relative_to(root).parent
    own = folder / f"test_{path.stem}.py"
    while not (beside := sorted(folder.glob("test_*.py"))):
        folder = folder.parent
    return [[own], [one for one in beside if one != own]] if own.exists() else [beside]


def passes(root: Path, tests: list[Path]) -> bool:
    """Whether these pass in the copy, in time."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(root)
        sys.path.insert(0, str(root))
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        code = pytest.main(["-x", "-n", "0", "-p", "no:cacheprovider", *map(str, tests)])
        os._exit(int(code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)))
    until = time.monotonic() + SECONDS
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        time.sleep(0.1)
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
    return ended[1] == 0


def replaced(text: str, site: ast.AST) -> str:
    """The file's text with one place changed."""
    lines = text.encode().splitlines(keepends=True)
    assert isinstance(site, ast.expr | ast.stmt)
    assert site.end_lineno
    assert site.end_col_offset is not None
    before = b"".join(lines[: site.lineno - 1]) + lines[site.lineno - 1][: site.col_offset]
    after = lines[site.end_lineno - 1][site.end_col_offset :] + b"".join(lines[site.end_lineno :])
    return (before + (changed(site) or "").encode() + after).decode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    n_killed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        archive = subprocess.run(["git", "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        for path, site in draw(root, given.n, random.Random(given.seed)):
            text = path.read_text()
            path.write_text(replaced(text, site))
            killers = next((tests for tests in judges(root, path) if not passes(root, tests)), [])
            path.write_text(text)
            n_killed += bool(killers)
            where = f"{path.relative_to(root)}:{getattr(site, 'lineno', 0)}"
            print(
                f"{'killed' if killers else 'SURVIVES'}: {where}: {ast.unparse(site)!r} -> {changed(site)!r}",
                flush=True,
            )
    print(f"{n_killed} of {given.n} killed")


if __name__ == "__main__":
    main()
