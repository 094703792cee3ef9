"""Where presets are: those that come with the program, by PAPER/TABLE, and files of one's own; `like` joins them."""

from __future__ import annotations

import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from simulation.errors import PresetError


def load_tables(name: str) -> dict[str, Any]:
    """The tables of a preset by name (`quick/fpdgd`) or by the path of a TOML file; PresetError when there is none.

    Where it is `like` another one, those of that one with its own keys in place, table by table.
    """
    tables, seen = _read_tables(name), [name]
    while "like" in tables:
        other = str(tables.pop("like"))
        if other in seen:
            raise PresetError(f"{name}: like: {' is like '.join([*seen, other])}")
        seen.append(other)
        tables = _laid_over(_read_tables(other), tables)
    return tables


def _laid_over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both tables in one; where both have a value, that of `above`."""
    both = {key for key, value in above.items() if isinstance(value, dict) and isinstance(below.get(key), dict)}
    return {**below, **above, **{key: _laid_over(below[key], above[key]) for key in both}}


def _read_tables(name: str) -> dict[str, Any]:
    """What one file says."""
    packaged = _presets().joinpath(f"{name}.toml")
    file: Traversable = packaged if packaged.is_file() else Path(name).expanduser()
    if not file.is_file():
        raise PresetError(f"no preset {name!r}, and no such file; `--list` shows the presets")
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PresetError(f"{name}: not TOML: {error}") from error


def preset_names() -> list[str]:
    """The presets that come with the program, as PAPER/TABLE."""
    return sorted(
        f"{paper.name}/{file.name.removesuffix('.toml')}"
        for paper in _presets().iterdir()
        if paper.is_dir()
        for file in paper.iterdir()
        if file.name.endswith(".toml")
    )


def _presets() -> Traversable:
    return resources.files("simulation") / "presets"
