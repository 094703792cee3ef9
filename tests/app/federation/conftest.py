"""A real group and devices for each test; see tests.app.federation.groups."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.settings import FederationSettings, LearningSettings, Settings
from app.store import Store
from tests.app.federation.groups import DEVICES, Group, Person, a_copy, first_member, friends, serving, serving_sealed
from tests.federation_server.client import running
from tests.few_coins import take_few


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """A group with local Gaussian noise whose rounds close with two updates."""
    with serving(tmp_path / "server") as made:
        yield made


@pytest.fixture
def make_person(tmp_path: Path) -> Iterator[Callable[..., Person]]:
    """Makes devices of this test's own."""
    stores: list[Store] = []

    def make(*, begun: Path | None = None, **changes: Any) -> Person:
        folder = tmp_path / f"device-{len(stores)}"
        if begun is not None:
            shutil.copytree(begun, folder)
        stores.append(Store(folder / "state.sqlite"))
        federation = FederationSettings(**{"timeout_seconds": 120.0, **changes})
        return Person(stores[-1], Settings(federation=federation, learning=LearningSettings()))

    yield make
    for store in stores:
        store.close()


@pytest.fixture(scope="session")
def five_friends(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a sealed group of five, its first round open: tests go on with a copy."""
    folder = tmp_path_factory.mktemp("five") / "server"
    with serving_sealed(folder) as group:
        for person in friends(group.made, partial(first_member, folder)):
            person.store.close()
    return folder


@pytest.fixture
def sealed(tmp_path: Path, five_friends: Path) -> Iterator[Group]:
    """That group: two weights, no end of its rounds, five members (tests.app.federation.groups.friends)."""
    with running(a_copy(five_friends, tmp_path / "server")) as made:
        yield made


def after_answers(begun: Path, folder: Path, some: slice) -> Path:
    """A copy in which some of the five have answered the first round, with few coins, as `few_coins` has them."""
    with pytest.MonkeyPatch.context() as patch, running(a_copy(begun, folder)):
        take_few(patch)
        for home in sorted((folder / DEVICES).glob("*"))[some]:
            with Store(home / "state.sqlite") as store:
                assert Person(store, Settings(federation=FederationSettings(timeout_seconds=120.0))).sync().sent
    return folder


@pytest.fixture(scope="session")
def four_answers(tmp_path_factory: pytest.TempPathFactory, five_friends: Path) -> Path:
    return after_answers(five_friends, tmp_path_factory.mktemp("four") / "server", slice(4))


@pytest.fixture(scope="session")
def five_answers(tmp_path_factory: pytest.TempPathFactory, four_answers: Path) -> Path:
    return after_answers(four_answers, tmp_path_factory.mktemp("answered") / "server", slice(4, 5))


@pytest.fixture
def answered_by_four(tmp_path: Path, four_answers: Path) -> Iterator[Group]:
    """`sealed`, after all but the last have answered the first round."""
    with running(a_copy(four_answers, tmp_path / "server")) as made:
        yield made


@pytest.fixture
def answered(tmp_path: Path, five_answers: Path) -> Iterator[Group]:
    """`sealed`, after all five have answered the first round: their notes are to be added up."""
    with running(a_copy(five_answers, tmp_path / "server")) as made:
        yield made


@pytest.fixture
def person(make_person: Callable[..., Person]) -> Person:
    """A device that has seen 30 pages and belongs to no group."""
    made = make_person()
    made.see_pages(30)
    return made
