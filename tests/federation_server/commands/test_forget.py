"""`foltr-server forget`."""

from __future__ import annotations

from pathlib import Path

import pytest

from federation_server.database import writing
from federation_server.group import admission, group
from federation_server.serve import open_installation
from foltr.federated.envelope import Identity, pseudonym
from tests.federation_server.client import run
from tests.federation_server.groups import enrolling

IDENTITY = Identity(b"1" * 32)
KEY = IDENTITY.public


def joined(folder: Path) -> str:
    with writing(open_installation(folder / "server.toml").engine) as connection:
        token = admission.invite(connection, note="", seconds=60, now=1)
        asked = enrolling(token, IDENTITY, group.terms(connection).group_id)
        return admission.redeem(connection, asked, lifetime=None, now=1).device


def test_forgetting_takes_the_beginning_of_a_pseudonym(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A unique beginning will do; an unknown one is an error, and leaves no request behind."""
    device = joined(folder)
    assert run(folder, "forget", "nobody", "--yes") == 2
    assert "beginning of 0 pseudonyms" in capsys.readouterr().err
    assert run(folder, "forget") == 1
    assert run(folder, "forget", device[:6], "--yes") == 0
    assert run(folder, "members") == 1
    assert device == pseudonym(KEY)
