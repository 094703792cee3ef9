"""`foltr-server doctor` and `health`: what they find, and what they say of it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from console.wording import iso_minute
from federation_server import tls
from federation_server.cli import main
from federation_server.commands.checkup import Check, checks
from federation_server.serve import Installation, open_installation
from federation_server.tls import make_self_signed
from tests.federation_server.client import Client, Running, invite, make_server, run, running
from tests.federation_server.sealed_members import make_sealed, members, vouch

Output = pytest.CaptureFixture[str]


def test_the_doctor_compares_settings_with_what_members_agreed_to(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Privacy is what the terms say; settings that were changed since have no effect, and that is said."""
    run(folder, "doctor")
    assert "ok   terms: as the settings say" in capsys.readouterr().out
    changed = '[method]\nmode = "open"\nprivacy = { mechanism = "none" }\n[rounds]\nn_local = 7\n'
    (folder / "server.toml").write_text(changed)
    assert run(folder, "doctor") == 1
    shown = capsys.readouterr().out
    assert "ok   privacy: each device limits how much an update tells, and adds its share of noise to it (gau" in shown
    assert "FAIL terms: server.toml says otherwise in [method], rounds.n_local, forgetting.n_unlearn, without" in shown


def test_the_doctor_counts_whom_a_sealed_round_counts(tmp_path: Path) -> None:
    """Four vouched members and one who waits are too few, and the doctor says what to do; with the fifth it is well."""
    with running(make_sealed(tmp_path / "server")) as server:
        people = members(server.made, 4)
        waits = Client(server.made.public_address)
        assert waits.join(invite(server.made)).ok
        short = findings(server)
        assert vouch(people[0], waits).ok
        enough = findings(server)
    assert (short["members"].good, short["members"].awaited) == (False, True)
    assert short["members"].text.startswith(
        "5 active, 4 vouched for, 3 of them by one member; a sealed round needs at least 5: "
    )
    assert "`foltr-search vouch`" in short["members"].text
    assert "a sealed round needs 5 members that are vouched for, and has 4" in short["round"].text
    needed = "a sealed round needs at least 5; what members are told holds while at most 1 of 5 side with the operator"
    assert enough["members"].good
    assert enough["members"].text == f"5 active, 5 vouched for, 4 of them by one member; {needed}"
    assert "without 4 more it goes on" in enough["round"].text


def test_a_server_without_members_is_told_of_the_first_link(folder: Path, capsys: Output) -> None:
    """No member is there to invite anybody: the operator is. Nothing is wrong with a group that waits for members."""
    assert run(folder, "doctor") == 0
    (said,) = (line for line in capsys.readouterr().out.splitlines() if " members: " in line)
    assert said.startswith("wait members: ")
    assert said.endswith("needs at least 5: `foltr-server invite` prints the first member's link")


def findings(server: Running) -> dict[str, Check]:
    """What the doctor says, by name."""
    return {check.name: check for check in checks(server.made, server.made.folder, now=int(time.time()))}


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


def test_who_asks_loads_no_database(tmp_path: Path) -> None:
    """A container asks twice a minute, all day."""
    code = (
        "import sys; from federation_server.cli import main; answer = main(sys.argv[1:])\n"
        "print(answer, *{'sqlalchemy', 'alembic', 'cryptography'}.intersection(sys.modules))"
    )
    command = (sys.executable, "-c", code, "--folder", str(make_server(tmp_path / "server").folder), "health")
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1\n"


def test_another_certificate_than_the_folders_is_not_this_server(tmp_path: Path, capsys: Output) -> None:
    """One that was renewed without a restart is told: devices that were invited since would refuse it. So is one that
    was lost, and the server is not said to be silent."""
    made = make_server(tmp_path / "server", tls="self-signed")
    with running(made):
        make_self_signed(made.certificate, made.private_key, names=("localhost",))
        assert health(made) == 1
        assert "shows another certificate than certificate.pem: restart it" in capsys.readouterr().err
        made.certificate.unlink()
        assert health(made) == 1
    assert f"{made.certificate} holds no certificate: " in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["self-signed", "files"])
def test_a_certificate_that_has_ended_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """`doctor` says until when it is valid; its end keeps out those alone who trust an authority instead of its key."""
    made = make_server(tmp_path / "server", tls="self-signed")
    text = made.folder.joinpath("server.toml").read_text().replace('mode = "self-signed"', f'mode = "{mode}"')
    made.folder.joinpath("server.toml").write_text(text)

    def found() -> Check:
        here = open_installation(made.folder / "server.toml")
        return next(one for one in checks(here, made.folder, now=int(time.time())) if one.name == "certificate")

    assert found().good
    monkeypatch.setattr(tls, "YEARS", 0)
    make_self_signed(made.certificate, made.private_key, names=("localhost",))
    told = found()
    assert (told.good, told.text.endswith(iso_minute(tls.ends(made.certificate)))) == (mode == "self-signed", True)


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
