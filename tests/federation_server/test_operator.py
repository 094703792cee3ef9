"""What an operator does at the command line, and what is said when it cannot be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from federation_server import enrolment, group, serve
from federation_server.cli import main
from federation_server.database import reading, writing
from federation_server.serve import Installation, open_installation
from federation_server.tls import certificate_fingerprint
from foltr.federated.envelope import Identity, pseudonym
from foltr.federated.invite_link import from_link

KEY = Identity(b"1" * 32).public


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A group that was made by `foltr-server init`."""
    assert main(["--folder", str(tmp_path / "server"), "init"]) == 0
    return tmp_path / "server"


def joined(folder: Path) -> str:
    with writing(open_installation(folder / "server.toml").engine) as connection:
        token = enrolment.invite(connection, note="", seconds=60, now=1)
        return enrolment.redeem(connection, token, KEY, lifetime=None, now=1).device


def run(folder: Path, *arguments: str) -> int:
    return main(["--folder", str(folder), *arguments])


def test_forgetting_takes_the_beginning_of_a_pseudonym(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A unique beginning will do; an unknown one is an error, and leaves no request behind."""
    device = joined(folder)
    assert run(folder, "forget", "nobody", "--yes") == 2
    assert "beginning of 0 pseudonyms" in capsys.readouterr().err
    assert run(folder, "forget") == 1
    assert run(folder, "forget", device[:6], "--yes") == 0
    assert run(folder, "members") == 1
    assert device == pseudonym(KEY)


def test_serving_makes_a_group_from_settings_written_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`serve` alone is enough when server.toml was written first, and the second start takes the same group."""
    (tmp_path / "server.toml").write_text("[rounds]\nfloor = 2\nquorum = 2\n")
    served: list[Installation] = []
    monkeypatch.setattr(serve, "serve", served.append)
    assert run(tmp_path, "serve") == run(tmp_path, "serve") == 0
    ids = []
    for one in served:
        with reading(one.engine) as connection:
            ids.append(group.terms(connection).group_id)
            assert group.terms(connection).floor == 2
    assert ids[0] == ids[1]


def test_a_group_that_could_not_be_made_leaves_no_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After the reason is mended, the same command works."""
    settings = tmp_path / "server.toml"
    settings.write_text('[server]\ndatabase = "sqlite:///missing/server.sqlite"\n')
    assert run(tmp_path, "init") == 2
    assert not (tmp_path / "keys.json").exists()
    assert run(tmp_path, "rounds") == 2
    assert "there is no group in" in capsys.readouterr().err
    settings.write_text("")
    assert run(tmp_path, "init") == 0


def test_the_doctor_compares_settings_with_what_members_agreed_to(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Privacy is what the terms say; settings that were changed since have no effect, and that is said."""
    run(folder, "doctor")
    assert "ok   terms: as the settings say" in capsys.readouterr().out
    (folder / "server.toml").write_text('[method]\nprivacy = { mechanism = "none" }\n[rounds]\nn_local = 7\n')
    assert run(folder, "doctor") == 1
    shown = capsys.readouterr().out
    assert "ok   privacy: {'mechanism': 'gaussian'" in shown
    assert "FAIL terms: the settings say otherwise about settings, n_local, n_unlearn" in shown


def test_encryption_can_be_turned_on_later(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With tls.mode changed to self-signed a certificate is made, once, and invites carry its fingerprint."""
    (folder / "server.toml").write_text('[tls]\nmode = "self-signed"\n')
    found = []
    for _ in range(2):
        capsys.readouterr()
        assert run(folder, "invite") == 0
        found.append(from_link(capsys.readouterr().out).certificate)
    assert found == [certificate_fingerprint(folder / "certificate.pem")] * 2


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
