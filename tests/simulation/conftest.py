"""What a test brings to the laboratory does not stay for the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from simulation.extensions import REGISTRIES


@pytest.fixture(autouse=True)
def nothing_brought_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Registries as they come with the program."""
    monkeypatch.setattr("simulation.extensions._loaded", {})
    before = {name: dict(registry) for name, registry in REGISTRIES.items()}
    yield
    for name, registry in REGISTRIES.items():
        registry.clear()
        registry.update(before[name])
