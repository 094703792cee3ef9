"""`foltr-server invite`, `members` and `forget`: links, pseudonyms, and ways to end a membership."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from console.wording import iso_minute
from federation_server import setup
from federation_server.cli import main
from federation_server.commands.members import BORDER, RESET, WHITE_ON_BLACK, qr_code
from federation_server.database import reading, writing
from federation_server.group import enrolment, group, roster_book
from federation_server.serve import note_address, open_installation
from federation_server.tls import key_fingerprint
from foltr.federated.envelope import Identity, pseudonym
from foltr.federated.links import PREFIX, from_link
from foltr.federated.wire import DepotChange, DepotRequest, encode
from tests.federation_server.client import Client, make_server, member, reason, run, running
from tests.federation_server.groups import enrolling
from tests.federation_server.sealed_members import make_sealed, members, send_answer, share, vouch


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


def test_a_note_stays_within_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is pasted as one: the list of invites has a line for each, and nothing that a terminal obeys."""
    assert run(folder, "invite", "--note", "Ada\n\x1b[2Jused 2026-01-01\r") == 0
    capsys.readouterr()
    assert run(folder, "invite", "list") == 0
    (line,) = capsys.readouterr().out.split("\n")[:-1]
    assert line.isprintable()


def test_an_invite_of_another_environment_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server was started for port 9000 by its environment; an invite without it names another one, and warns."""
    monkeypatch.setenv("FOLTR_SERVER__PORT", "9000")
    note_address(open_installation(folder / "server.toml"))
    for port, warned in (("9000", False), (None, True)):
        if port is None:
            monkeypatch.delenv("FOLTR_SERVER__PORT")
        capsys.readouterr()
        run(folder, "invite")
        assert ("the server was last started for http://127.0.0.1:9000" in capsys.readouterr().err) == warned


def test_the_list_says_for_whom_an_invite_was_and_what_became_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Used, revoked, expired and open ones, each with its note."""
    made = make_server(tmp_path / "server")
    with running(made):
        assert run(made.folder, "invite", "--note", "Ada") == 0
        link = capsys.readouterr().out
        assert Client(made.public_address).join(from_link(link)).ok
    assert run(made.folder, "invite", "--hours", "nan") == 2
    for note, hours in (("Bob", "1"), ("Cy", "1")):
        assert run(made.folder, "invite", "--note", note, "--hours", hours) == 0
    setup.invitation(made, note="Di", seconds=-1, now=int(time.time()))
    capsys.readouterr()
    run(made.folder, "invite", "list")
    bob = next(line for line in capsys.readouterr().out.splitlines() if line.endswith("Bob"))
    assert run(made.folder, "invite", "revoke", bob.split()[0]) == 0
    capsys.readouterr()
    run(made.folder, "invite", "list")
    states = {line.split()[-1]: line.split()[1] for line in capsys.readouterr().out.splitlines()}
    assert states == {"Ada": "used", "Bob": "revoked", "Cy": "open", "Di": "expired"}


def test_an_invite_that_was_lost_is_made_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The new link has the old one's note and works; the old one does not; a used one is not made again."""
    made = make_server(tmp_path / "server")
    with running(made):
        run(made.folder, "invite", "--note", "Ada")
        old = from_link(capsys.readouterr().out)
        run(made.folder, "invite", "list")
        name = capsys.readouterr().out.split()[0]
        assert run(made.folder, "invite", "again", name) == 0
        new = from_link(capsys.readouterr().out)
        assert reason(Client(made.public_address).join(old)) == "bad-invite"
        assert Client(made.public_address).join(new).ok
        run(made.folder, "invite", "list")
        first, second = capsys.readouterr().out.splitlines()
        assert {first.split()[1], second.split()[1]} == {"used", "revoked"}
        assert first.endswith("Ada")
        assert second.endswith("Ada")
        used = first if "used" in first else second
        assert run(made.folder, "invite", "again", used.split()[0]) == 2
        assert "which fits 0" in capsys.readouterr().err


HALVES = {"█": (0, 0), "▀": (0, 1), "▄": (1, 0), " ": (1, 1)}
"""upper and lower module of each character: 1 is dark, and what is drawn is light"""


def modules(drawn: str) -> list[list[int]]:
    """The matrix that the characters show, without its border."""
    rows: list[list[int]] = []
    for line in drawn.splitlines():
        assert line.startswith(WHITE_ON_BLACK)
        assert line.endswith(RESET)
        pairs = [HALVES[sign] for sign in line.removeprefix(WHITE_ON_BLACK).removesuffix(RESET)]
        rows += [[upper for upper, _ in pairs], [lower for _, lower in pairs]]
    side = len(rows[0])
    assert all(not any(row[:BORDER] + row[-BORDER:]) for row in rows[:side])
    return [row[BORDER:-BORDER] for row in rows[BORDER : side - BORDER]]


def test_the_code_holds_the_link_and_fits_a_terminal() -> None:
    """Module for module what the library encodes, with finders at three corners, within 80 columns."""
    import segno

    link = PREFIX + "aZ9_" * 110
    found = modules(qr_code(link))
    assert found == [list(row) for row in segno.make_qr(link, error="l", boost_error=False).matrix]
    finder = [1, 1, 1, 1, 1, 1, 1]
    assert found[0][:7] == found[0][-7:] == found[-1][:7] == finder
    assert len(found) + 2 * BORDER <= 80


def test_the_link_stays_alone_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`invite --qr` draws beside the link, on stderr, the code of that very link."""
    assert main(["--folder", str(tmp_path / "server"), "init"]) == 0
    capsys.readouterr()
    assert main(["--folder", str(tmp_path / "server"), "invite", "--qr"]) == 0
    said = capsys.readouterr()
    (link,) = said.out.splitlines()
    assert qr_code(link) in said.err


def test_without_its_package_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says how to install it, and no invite is left that nobody was shown."""
    assert main(["--folder", str(tmp_path / "server"), "init"]) == 0
    monkeypatch.setitem(sys.modules, "segno", None)
    assert main(["--folder", str(tmp_path / "server"), "invite", "--qr"]) == 2
    assert "[qr]" in capsys.readouterr().err
    assert main(["--folder", str(tmp_path / "server"), "invite", "list"]) == 1


def joined(folder: Path, seed: bytes = b"1" * 32) -> str:
    with writing(open_installation(folder / "server.toml").engine) as connection:
        token = enrolment.invite(connection, note="", seconds=60, now=1)
        asked = enrolling(token, Identity(seed), group.terms(connection).group_id)
        return enrolment.redeem(connection, asked, lifetime=None, now=1).device


def test_forgetting_takes_the_beginning_of_a_pseudonym(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A unique beginning will do; an unknown one is an error, as is a method that a sealed group cannot have, and
    leaves no request behind."""
    device = joined(folder)
    assert run(folder, "forget", "nobody", "--yes") == 2
    assert "which fits 0" in capsys.readouterr().err
    assert run(folder, "forget", device[:6], "--yes", "--method", "federaser") == 2
    assert "federaser needs single updates, which the server of a sealed group never has" in capsys.readouterr().err
    assert run(folder, "forget") == 1
    assert run(folder, "forget", device[:6], "--yes") == 0
    assert run(folder, "members") == 1
    assert device == pseudonym(Identity(b"1" * 32).public)


def test_a_membership_ends_after_a_yes_alone(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`members revoke` asks, and says that no invite brings the device back; after a no the member stays."""
    device = joined(folder)
    for answer, code, state in (("n\n", 130, "member"), ("y\n", 0, "ended")):
        capsys.readouterr()
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        assert run(folder, "members", "revoke", device[:6]) == code
        assert "No invite brings this device back" in capsys.readouterr().err
        run(folder, "members")
        assert capsys.readouterr().out.split()[4] == state


def test_a_membership_that_ends_by_itself_is_told_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the list its day, and in what the doctor and the dashboard say of the members how many end soon."""
    made = make_server(tmp_path / "server", more="[retention]\nmember_days = 20")
    with running(made):
        member(made)
    until = iso_minute(time.time() + 20 * 86_400)[:10]
    run(made.folder, "members")
    assert f"  member until {until}" in capsys.readouterr().out
    run(made.folder, "doctor")
    assert f"; ending within 30 days: 1, the first on {until} (retention.member_days)" in capsys.readouterr().out


def test_the_list_says_who_waits_for_a_voucher(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The one whom the operator invited, until a member of the sealed group has vouched."""
    made = make_sealed(tmp_path / "server")
    with running(made) as server:
        founder, newcomer = members(made, 1)[0], Client(made.public_address)
        assert newcomer.join(server.invite()).ok

        def listed() -> dict[str, str]:
            capsys.readouterr()
            run(made.folder, "members")
            return {line[:32]: line.split("  ")[2] for line in capsys.readouterr().out.splitlines()}

        assert listed() == {founder.device: "member", newcomer.device: "not vouched for"}
        assert vouch(founder, newcomer).ok
        assert listed() == {founder.device: "member", newcomer.device: "member"}


@pytest.mark.usefixtures("few_coins")
def test_what_a_round_loses_with_a_member_is_said_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once somebody has answered, each command that ends a membership says how many are left to add the round up, and
    that it is lost where they are too few, or would be if a message proved false and all had to add up again; one who
    is forgotten while it is added up waits, and the list shows it."""
    made = make_sealed(tmp_path / "server")
    with running(made):
        people = members(made, 6)
        gone = people[5].device

        def asked(*command: str, answer: str = "n\n") -> str:
            capsys.readouterr()
            monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
            run(made.folder, *command)
            said = capsys.readouterr()
            return said.err + said.out

        commands = (("members", "revoke", gone), ("members", "remove", gone), ("forget", gone))
        assert not any("under way" in asked(*command) for command in commands)
        told = people[0].announcement()
        for one in people:
            assert share(one, told, np.array([1, 0])).ok
        for command in commands:
            assert "Round 1 is under way; 5 members are left to add it up, 5 are needed. [y/N]" in asked(*command)
        waits = asked("forget", gone, answer="y\n")
        assert "waiting; the membership ended; all else follows the round that is being added up" in waits
        assert "waiting" in asked("forget")
        lost = "4 members are left to add it up, 5 are needed: it is lost, and what was sent for it is spent."
        assert lost in asked("forget", people[4].device)
        assert send_answer(people[4], people[4].announcement()).ok
        perhaps = "4 members are left to add it up, 5 are needed: it is lost if a message proves false."
        assert perhaps in asked("forget", people[4].device)


def test_a_group_whose_only_member_lost_the_device_is_told_to_begin_anew(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where one can vouch, doctor names the one; where nobody can any more, it and `members` say so, and name no
    command that nobody could run."""
    founder = joined(folder)
    joined(folder, b"2" * 32)
    capsys.readouterr()
    run(folder, "doctor")
    assert f"only {founder} can; if that device is lost" in capsys.readouterr().out
    assert run(folder, "members", "remove", founder, "--yes") == 0
    removed = capsys.readouterr().err
    assert run(folder, "members") == 0
    listed = capsys.readouterr().err
    run(folder, "doctor")
    for said in (removed, listed, capsys.readouterr().out):
        assert "nobody is left who can vouch: begin a new group" in said
        assert "--gone" not in said


def test_whose_keys_an_open_group_still_has_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A member that the operator forgot stands in the roster, until the member that is named signs that it is gone."""
    made = make_server(tmp_path / "server")
    with running(made):
        ada, bob = member(made), member(made)
        assert run(made.folder, "forget", bob.device, "--yes") == 0
        told = f"public keys stay in the roster until {ada.device} runs `foltr-search vouch {bob.device[:8]} --gone`"
        assert told in capsys.readouterr().err
        assert run(made.folder, "members") == 0
        assert told in capsys.readouterr().err
        assert vouch(ada, bob, leaves=True).ok
        assert run(made.folder, "members") == 0
        assert capsys.readouterr().err == ""
    with reading(made.engine) as connection:
        assert [entry.body is None for entry in roster_book.entries(connection)] == [False, True, False]


def test_an_empty_beginning_means_nobody(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A script whose variable is empty ends no member, not even the only one, and no invite."""
    joined(folder)
    assert run(folder, "invite") == 0
    for command in (("forget", "", "--yes"), ("members", "remove", "", "--yes"), ("members", "revoke", "", "--yes")):
        assert run(folder, *command) == 2
        assert "wanted the beginning of one pseudonym, got '', which fits 1" in capsys.readouterr().err
    assert run(folder, "invite", "revoke", "") == run(folder, "invite", "again", "") == 2
    assert [run(folder, "members"), run(folder, "forget")] == [0, 1]
    assert run(folder, "invite", "list") == 0
    assert "open until" in capsys.readouterr().out


def test_what_was_erased_is_told_in_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By `remove`, by `forget` and in its list: no dict and no JSON."""
    removed = joined(folder, b"1" * 32)
    capsys.readouterr()
    assert run(folder, "members", "remove", removed[:6], "--yes") == 0
    said = capsys.readouterr().out
    assert said == f"{removed}: removed; erased 1 member; the ranker was not changed\n"
    assert run(folder, "forget", joined(folder, b"2" * 32)[:6], "--yes") == 0
    assert capsys.readouterr().out == "done; erased 1 member; the ranker had learned nothing from it\n"
    assert run(folder, "forget") == 0
    for line in capsys.readouterr().out.splitlines():
        assert line[32:] == "none         done        erased 1 member"


def test_what_members_keep_for_their_computers_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`members` says of each how many files and bytes, `doctor` of all; neither names a file."""
    with running(make_server(tmp_path / "server")) as server:
        ada, key = member(server.made), Client(server.made.public_address)
        member(server.made)
        asked = DepotRequest(group_id=server.invite().group_id, depot_key=key.identity.public)
        assert ada.send("POST", "/v1/depots", encode(asked)).ok
        for n in range(2):
            assert key.send("POST", "/v1/depot", encode(DepotChange(name=f"{n:032x}", content=bytes(8192)))).ok
        capsys.readouterr()
        run(server.made.folder, "members")
        lines = capsys.readouterr().out.splitlines()
        run(server.made.folder, "members", "--json")
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        run(server.made.folder, "doctor")
        said = capsys.readouterr().out
    assert [line.endswith("  depot 2 files, 16 KB") for line in sorted(lines)] == [
        device == ada.device for device in sorted(row["device"] for row in rows)
    ]
    assert {row["device"]: (row["depot_files"], row["depot_bytes"]) for row in rows}[ada.device] == (2, 16_384)
    assert "ok   depots: 2 files, 16 KB of 1 member\n" in said
