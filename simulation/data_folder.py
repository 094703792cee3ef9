"""Where the data sets are: `--data`, else FOLTR_DATASETS, else `datasets` in the laboratory's own settings file.

The file is simulation.toml in the configuration folder of foltr-search (FOLTR_CONFIG_DIR, else the platform's), with
one line, `datasets = "/path/to/data"`. The device's config.toml is the device's alone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from simulation.errors import PresetError


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of simulation.toml."""

    datasets: str = ""


def data_folder(option: str | None, environment: Mapping[str, str]) -> Path | None:
    """The folder of data sets, or None when nobody has named one; it need not exist."""
    named = option or environment.get("FOLTR_DATASETS") or _from_file(settings_file(environment))
    return Path(named).expanduser() if named else None


def settings_file(environment: Mapping[str, str]) -> Path:
    """The laboratory's settings file, which need not exist."""
    folder = environment.get("FOLTR_CONFIG_DIR", "")
    if folder:
        return Path(folder).expanduser() / "simulation.toml"
    import platformdirs

    return Path(platformdirs.user_config_path("foltr-search", appauthor=False)) / "simulation.toml"


def _from_file(path: Path) -> str:
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).datasets
    except FileNotFoundError:
        return ""
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise PresetError(f"{path}: {error}") from error
