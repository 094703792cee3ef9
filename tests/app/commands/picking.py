"""Asking, opening and looking at the model from the outside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.app.conftest import Device


def names(device: Device, query: str) -> list[str]:
    return device.run("search", query, "--no-explore", "--format", "{name}").stdout.splitlines()


def model(device: Device) -> dict[str, object]:
    shown: dict[str, object] = json.loads(device.run("model", "show", "--json").stdout)
    return shown


def pick(device: Device, query: str, name: str) -> None:
    rank = names(device, query).index(name) + 1
    done = device.run("open", str(rank), "--print")
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip("\n").endswith(name)
