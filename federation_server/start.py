"""Where a new group begins: a ranker over named features, the shipped one or one that a device exported."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec

from foltr.errors import FoltrError


class StartError(FoltrError):
    """A start model cannot be used."""


class Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of start.json: the linear ranker and the features that every member of a group has."""

    v: int
    manifest_hash: str
    """of the feature manifest: the numbers mean the same on every device of this version"""
    features: tuple[str, ...]
    theta: tuple[float, ...]
    """[n_features]"""


def shipped_start() -> Start:
    """The ranker that every device of this version begins with."""
    return _decoded(resources.files("federation_server").joinpath("start.json").read_bytes(), "start.json")


def read(path: Path) -> Start:
    """From a file; StartError when it is not one."""
    try:
        return _decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise StartError(f"{path} cannot be read: {error.strerror}") from error


def _decoded(data: bytes, source: str) -> Start:
    try:
        start = msgspec.json.decode(data, type=Start)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StartError(f"{source}: wanted a start model, got: {error}") from error
    if start.v != 1 or len(start.theta) != len(start.features) or not start.features:
        raise StartError(f"{source}: wanted version 1 with one weight for each feature")
    return start
