"""`foltr-server invite`: the link, and what it says of the address."""

from __future__ import annotations

from pathlib import Path

import pytest

from federation_server.cli import main
from federation_server.tls import key_fingerprint
from foltr.federated.invite_link import from_link


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A group that was made by `foltr-server init`."""
    assert main(["--folder", str(tmp_path / "server"), "init"]) == 0
    return tmp_path / "server"


def run(folder: Path, *arguments: str) -> int:
    return main(["--folder", str(folder), *arguments])


def test_encryption_can_be_turned_on_later(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With tls.mode changed to self-signed a certificate is made, once, and invites carry its fingerprint."""
    (folder / "server.toml").write_text('[tls]\nmode = "self-signed"\n')
    found = []
    for _ in range(2):
        capsys.readouterr()
        assert run(folder, "invite") == 0
        found.append(from_link(capsys.readouterr().out).certificate)
    assert found == [key_fingerprint(folder / "certificate.pem")] * 2


def test_an_invite_for_this_machine_alone_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """stdout is the link and nothing else; the warning goes to stderr, and away with a public address."""
    for settings, warned in (("", True), ('[server]\npublic = "https://ranker.example"\n', False)):
        (folder / "server.toml").write_text(settings)
        capsys.readouterr()
        run(folder, "invite")
        said = capsys.readouterr()
        assert said.out.startswith("foltr://join/")
        assert len(said.out.splitlines()) == 1
        assert ("on this machine only" in said.err) == warned
