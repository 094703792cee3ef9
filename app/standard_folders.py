"""Where this program's folders are when nobody says otherwise, found without loading anything."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

NAME = "foltr-search"
_XDG = {"config": ("XDG_CONFIG_HOME", "~/.config"), "data": ("XDG_DATA_HOME", "~/.local/share")}


def standard_folder(kind: Literal["config", "data"], env: Mapping[str, str]) -> str:
    """The platform's folder: on Linux as the XDG base directories have it, elsewhere as platformdirs says."""
    if sys.platform != "linux":
        import platformdirs

        if kind == "config":
            return platformdirs.user_config_dir(NAME, appauthor=False)
        return platformdirs.user_data_dir(NAME, appauthor=False)
    variable, default = _XDG[kind]
    folder = env.get(variable, "").strip() and env[variable]
    return os.path.join(folder or home_folder(f"HOME, or {variable}") + default[1:], NAME)


def home_folder(to_set: str = "HOME") -> str:
    """The user's home; OSError where there is none, as for a nameless user in a container."""
    if (place := os.path.expanduser("~")) == "~":
        raise OSError(2, f"there is no home folder; set {to_set}")
    return place


def data_folder(env: Mapping[str, str]) -> str:
    """FOLTR_DATA_DIR, else the platform's folder, absolute."""
    chosen = env.get("FOLTR_DATA_DIR", "")
    return os.path.abspath(os.path.expanduser(chosen)) if chosen else standard_folder("data", env)
