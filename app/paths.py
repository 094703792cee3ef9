"""The folders of this program, and where everything lies in them."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import msgspec

from app.standard_folders import data_folder, standard_folder


class SettingsError(Exception):
    """A setting cannot be used; the message names it and its source, what was wanted and what came."""


class Paths(msgspec.Struct, frozen=True):
    """The two folders of this program and what lies in them."""

    config_dir: Path
    data_dir: Path
    assistant: str = ""
    """whose state is meant: an assistant's, by its name, or "" for the person's"""

    @classmethod
    def from_environment(cls, env: Mapping[str, str] | None = None) -> Paths:
        """FOLTR_CONFIG_DIR and FOLTR_DATA_DIR, else the platform's folders."""
        env = os.environ if env is None else env
        config = env.get("FOLTR_CONFIG_DIR", "")
        return cls(
            config_dir=typed_path(config) if config else Path(standard_folder("config", env)),
            data_dir=Path(data_folder(env)),
        )

    @property
    def config_file(self) -> Path:
        return self.config_dir / "config.toml"

    @property
    def saved(self) -> Path:
        """The saved searches."""
        return self.config_dir / "searches.toml"

    @property
    def index(self) -> Path:
        return self.data_dir / "index"

    @property
    def languages(self) -> Path:
        """The folder of the vectors by which texts in other languages are found."""
        return self.data_dir / "languages"

    @property
    def catalogue(self) -> Path:
        return self.data_dir / "catalogue.sqlite"

    @property
    def state(self) -> Path:
        """What was learned, and what it was learned from."""
        return self.data_dir / (f"assistants/{self.assistant}.sqlite" if self.assistant else "state.sqlite")

    @property
    def watch_lock(self) -> Path:
        """Held by the one process that follows the changes of files."""
        return self.data_dir / "watch.lock"

    @property
    def key(self) -> Path:
        """32 random bytes that key the hashes of picks."""
        return self.data_dir / "key"

    @property
    def device_keys(self) -> Path:
        """The keys that this person's devices share, and who this one is among them."""
        return self.data_dir / "devices.key"

    @property
    def shared_settings(self) -> Path:
        """What was set on this person's other devices."""
        return self.data_dir / "devices.json"

    @property
    def roots(self) -> Path:
        """The folders that `index FOLDER` remembered."""
        return self.data_dir / "roots.json"


def typed_path(name: str | os.PathLike[str]) -> Path:
    """The absolute path that a user typed; not by Path.expanduser, which raises for an unknown user after ~."""
    return Path(as_spelt(os.path.expanduser(name))).absolute()


def as_spelt(path: str) -> str:
    """`path` with each name composed or decomposed (Unicode) as it is on the disk; unchanged where none is there."""
    if path.isascii() or os.path.lexists(path):
        return path
    place = Path()
    for name in Path(path).parts:
        spelt = (place / form for form in (name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))))
        place = next(filter(os.path.lexists, spelt), place / name)
    return str(place)
