"""Wheel and sdist, built twice in two clones: what differs by a byte is refused."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import click

from release import run


def build_twice(checkout: Path, out: Path) -> list[Path]:
    """The wheel and the sdist of the last commit, in `out`; ClickException where two builds are not alike."""
    with tempfile.TemporaryDirectory() as scratch:
        first, second = (_build(checkout, Path(scratch, name)) for name in ("a", "b"))
        if [one.name for one in first] != [one.name for one in second]:
            raise click.ClickException(f"two builds gave {first} and {second}")
        for one, other in zip(first, second, strict=True):
            if one.read_bytes() != other.read_bytes():
                raise click.ClickException(f"two builds of {one.name} differ")
        return [Path(shutil.copy2(one, out)) for one in first]


def _build(checkout: Path, clone: Path) -> list[Path]:
    run("git", "clone", "--quiet", "--no-hardlinks", checkout, clone)
    env = {**os.environ, "SOURCE_DATE_EPOCH": commit_time(checkout), "PYTHONHASHSEED": clone.name.encode().hex()[:4]}
    run(sys.executable, "-m", "hatchling", "build", env=env, cwd=clone)
    return sorted((clone / "dist").iterdir())


def commit_time(checkout: Path) -> str:
    """Of the last commit, in seconds since the epoch."""
    return run("git", "log", "-1", "--format=%ct", cwd=checkout).strip()
