"""A real group and devices for each test; see tests.app.federation.groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.settings import FederationSettings, LearningSettings, Settings
from app.store import Store
from tests.app.federation.groups import Group, Person, serving


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """A group with local Gaussian noise whose rounds close with two updates."""
    with serving(tmp_path / "server") as made:
        yield made


@pytest.fixture
def make_person(tmp_path: Path) -> Iterator[Callable[..., Person]]:
    """Makes devices of this test's own."""
    stores: list[Store] = []

    def make(**changes: Any) -> Person:
        stores.append(Store(tmp_path / f"device-{len(stores)}" / "state.sqlite"))
        federation = FederationSettings(**{"timeout_seconds": 120.0, **changes})
        return Person(stores[-1], Settings(federation=federation, learning=LearningSettings()))

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def person(make_person: Callable[..., Person]) -> Person:
    """A device that has seen 30 pages and belongs to no group."""
    made = make_person()
    made.see_pages(30)
    return made
