"""`foltr-server health`."""

from __future__ import annotations

from pathlib import Path

import pytest

from federation_server.cli import main
from federation_server.serve import Installation
from federation_server.tls import make_self_signed
from tests.federation_server.client import make_server, running

Output = pytest.CaptureFixture[str]


def health(made: Installation) -> int:
    return main(["--folder", str(made.folder), "health"])


@pytest.mark.parametrize("tls", ["off", "self-signed"])
def test_it_asks_by_the_scheme_of_the_settings(tmp_path: Path, capsys: Output, tls: str) -> None:
    """0 while the server answers, 1 before and afterwards, with and without encryption."""
    made = make_server(tmp_path / "server", tls=tls)
    assert health(made) == 1
    assert "does not answer" in capsys.readouterr().err
    with running(made):
        assert health(made) == 0
        assert capsys.readouterr().out == f"ready: {made.public_address}/readyz\n"
    assert health(made) == 1


def test_another_certificate_than_the_folders_is_not_this_server(tmp_path: Path, capsys: Output) -> None:
    """A certificate that was renewed without a restart is told: devices that were invited since would refuse it."""
    made = make_server(tmp_path / "server", tls="self-signed")
    with running(made):
        make_self_signed(made.certificate, made.private_key, names=("localhost",))
        assert health(made) == 1
    assert "shows another certificate than certificate.pem: restart it" in capsys.readouterr().err


def test_a_server_without_its_database_is_not_healthy(tmp_path: Path, capsys: Output) -> None:
    """It answers, and says why it is not ready."""
    made = make_server(tmp_path / "server", database=f"sqlite:///{tmp_path}/group.sqlite")
    with running(made) as live:
        live.server.service.engine.dispose()
        for path in tmp_path.glob("group.sqlite*"):
            path.unlink()
        (tmp_path / "group.sqlite").mkdir()
        assert health(made) == 1
    assert "answered 503: the database does not answer" in capsys.readouterr().err
