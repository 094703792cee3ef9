"""Entering a group again, and what is left of whoever was there before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.federation import membership
from federation_server import setup
from federation_server.commands.installation import now
from federation_server.database import reading
from federation_server.group import enrolment
from foltr.federated.links import from_link
from tests.app.federation.groups import Person
from tests.federation_server.client import make_server, run, running

Make = Callable[..., Person]


def test_whoever_lost_the_folder_joins_again_and_the_ghost_is_removed(
    tmp_path: Path, make_person: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    """The old pseudonym's rows go, the ranker that it taught stays, and the new one answers the next round."""
    made = make_server(tmp_path / "server", quorum=1)
    person = make_person(allow_unprotected=True)
    person.see_pages(12)
    with running(made):
        ghost = person.joining().join(from_link(setup.invitation(made, note="", seconds=3600, now=now())), agrees=yes)
        assert person.sync().sent
        membership.erase(person.store)
        again = person.joining().join(from_link(setup.invitation(made, note="", seconds=3600, now=now())), agrees=yes)
        assert run(made.folder, "members") == 0
        assert "last seen in 1.1" in capsys.readouterr().out
        assert run(made.folder, "members", "remove", ghost.device[:8], "--yes") == 0
        assert "the ranker was not changed" in capsys.readouterr().out
        with reading(made.engine) as connection:
            assert [member.device for member in enrolment.all_members(connection)] == [again.device]
        assert person.sync().round == 2


def yes(lines: object) -> bool:
    return True
