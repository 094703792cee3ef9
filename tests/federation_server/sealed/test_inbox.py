"""What a process works out once of its sealed rounds."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
from msgspec.structs import replace

from federation_server.database import reading
from federation_server.group import group
from federation_server.rounds.rounds import present
from federation_server.sealed.inbox import KNOWN, SealedRounds
from federation_server.serve import Installation
from tests.federation_server.client import running
from tests.federation_server.sealed_members import make_sealed, members


class Emptied(dict[Hashable, object]):
    """Whatever is asked or stored, another thread makes room right behind it."""

    def __contains__(self, key: object) -> bool:
        found = super().__contains__(key)
        self.clear()
        return found

    def get(self, key: Hashable, default: object = None) -> object:
        found = super().get(key, default)
        self.clear()
        return found

    def __setitem__(self, key: Hashable, value: object) -> None:
        super().__setitem__(key, value)
        self.clear()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """A sealed group of five, its first round open."""
    made = make_sealed(tmp_path_factory.mktemp("sealed") / "server")
    with running(made):
        members(made, 5)
    return made


def test_another_thread_may_make_room_at_any_moment(made: Installation) -> None:
    """Each round is worked out, whether what was known of it is dropped while it is looked up or right after."""
    known = SealedRounds(_occasions=Emptied())  # type: ignore[arg-type]
    with reading(made.engine) as connection:
        here, agreed = present(connection), group.terms(connection)
        assert here is not None
        for number in (1, 1, 2, 1):
            found = known.occasion(connection, replace(here, number=number), agreed)
            assert (found.round, len(found.cohort.members)) == (number, 5)


def test_a_round_is_worked_out_once_and_few_are_kept(made: Installation) -> None:
    """The same round is the same object; after many others it is worked out again, to the same."""
    known = SealedRounds()
    with reading(made.engine) as connection:
        here, agreed = present(connection), group.terms(connection)
        assert here is not None
        first = known.occasion(connection, here, agreed)
        assert known.occasion(connection, here, agreed) is first
        for number in range(100, 100 + KNOWN):
            known.occasion(connection, replace(here, number=number), agreed)
        assert len(known._occasions) <= KNOWN
        again = known.occasion(connection, here, agreed)
        assert again is not first
        assert again == first
