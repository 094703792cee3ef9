"""Noise of 16 coins in place of 256, of the same deviation: a proof costs by the coin."""

from __future__ import annotations

import pytest

FEW = {"FEWEST_COINS": 16, "LEAST_ROOM": 2}
IN_A_PROCESS = f"from foltr.privacy import mechanisms\nvars(mechanisms).update({FEW})\n"
"""Python that takes them in a process of its own"""


def take_few(patch: pytest.MonkeyPatch) -> None:
    """In this process, until the patch is undone."""
    for name, value in FEW.items():
        patch.setattr(f"foltr.privacy.mechanisms.{name}", value)
