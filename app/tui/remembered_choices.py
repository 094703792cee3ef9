"""Choices made on the screen, kept for its next start: theme, preview, widths, filters.

A choice overrides a setting, until that setting is changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from console.durable import content_of, replace_durably

REMEMBERED = "screen.json"


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What the screen keeps from one start to the next, in one small file; the defaults are those of a first start."""

    v: Literal[1] = 1
    theme: str = ""
    """as chosen in the palette; "" for the setting"""
    theme_over: str = ""
    """the setting that was in force then"""
    preview: bool | None = None
    """beside the results; None for the setting"""
    preview_over: bool = True
    preview_below: bool = False
    """below them, on a narrow screen"""
    share: int = 2
    """place in the list of widths"""
    dense: bool = False
    """each result in one line"""
    filters: dict[str, str] = {}

    def theme_for(self, setting: str) -> str:
        """The theme to begin with."""
        return self.theme if self.theme and self.theme_over == setting else setting

    def preview_for(self, setting: bool) -> bool:
        """Whether the preview is beside the results at the start."""
        return setting if self.preview is None or self.preview_over != setting else self.preview


def read_remembered(data_dir: Path) -> Remembered:
    """What is stored; the defaults if nothing usable is."""
    try:
        return msgspec.json.decode(content_of(data_dir / REMEMBERED), type=Remembered)
    except (OSError, msgspec.MsgspecError):
        return Remembered()


def keep_remembered(data_dir: Path, remembered: Remembered) -> None:
    """Store it, readable by its owner only; defaults make no file, and a full disk is no error."""
    try:
        if remembered == Remembered():
            (data_dir / REMEMBERED).unlink(missing_ok=True)
        elif remembered != read_remembered(data_dir):
            replace_durably(data_dir / REMEMBERED, msgspec.json.encode(remembered))
    except OSError:
        return  # the data folder cannot be written: the next start is like this one
