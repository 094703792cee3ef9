"""The operator's commands: what they say, their exit codes, and errors of one line."""

from __future__ import annotations

import importlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from federation_server.cli import main
from federation_server.tls import key_fingerprint
from foltr.federated.envelope import open_document
from foltr.federated.links import from_link, read_move
from foltr.federated.wire import ServerMove
from tests.federation_server.client import make_server

Output = pytest.CaptureFixture[str]


def test_a_groups_life_by_commands(tmp_path: Path, capsys: Output) -> None:
    """init, invites, lists, keys, backup and its check: each succeeds, or says 1 where there is nothing to list."""

    def call(*arguments: str) -> tuple[int, str]:
        code = main(["--folder", str(tmp_path / "server"), *arguments])
        said = capsys.readouterr()
        assert said.out or said.err
        return code, said.out

    code, said = call("init", "--group", "herons")
    assert (code, [line.split()[0] for line in said.splitlines()]) == (0, ["group", "settings:", "next:"])
    assert call("members")[0] == call("rounds")[0] == call("forget")[0] == call("invite", "list")[0] == 1
    code, link = call("invite", "--note", "Ada")
    assert (code, from_link(link.strip()).address) == (0, "http://127.0.0.1:8421")
    code, listed = call("invite", "list")
    assert (code, "open" in listed, "Ada" in listed) == (0, True, True)
    assert call("invite", "revoke", listed.split()[0]) == (0, "1 revoked\n")
    assert call("invite", "revoke", listed.split()[0])[0] == 1
    assert call("model")[1].startswith("1.0")
    assert call("model", "rollback", "1.0", "--yes") == (0, "lineage 2 begins from 1.0\n")
    assert "column keys 1" in call("keys")[1]
    assert call("keys", "rotate")[0] == 0
    assert "column keys 2" in call("keys")[1]
    assert len(call("keys", "dashboard")[1].strip()) == 32
    backup = tmp_path / "backup"
    assert call("backup", "--to", str(backup))[0] == 0
    assert call("restore", "--verify", str(backup))[1].startswith("complete")
    assert "tables" in call("doctor")[1]


def test_the_certificate_is_renewed_with_its_key(tmp_path: Path, capsys: Output) -> None:
    """Devices pin the key, which stays; a server without a certificate of its own has none to renew."""
    folder = tmp_path / "server"
    made = make_server(folder, tls="self-signed")
    before, pinned = made.certificate.read_bytes(), key_fingerprint(made.certificate)
    assert main(["--folder", str(folder), "keys", "renew"]) == 0
    assert capsys.readouterr().out.endswith(f"which devices know as {pinned}\n")
    assert (made.certificate.read_bytes() == before, key_fingerprint(made.certificate)) == (False, pinned)
    assert main(["--folder", str(folder), "config", "path"]) == 0
    path = Path(capsys.readouterr().out.strip())
    path.write_text(path.read_text().replace('mode = "self-signed"', 'mode = "off"'))
    assert main(["--folder", str(folder), "keys", "renew"]) == 2
    assert 'tls.mode is "off", so this program does not make the certificate' in capsys.readouterr().err


def test_a_move_is_signed_as_a_link(tmp_path: Path, capsys: Output) -> None:
    """The address without its last slash; the settings that do not name it yet are told, another address refused."""
    made = make_server(tmp_path / "server")
    assert main(["--folder", str(made.folder), "move", "--to", "https://host:9000/"]) == 0
    told = capsys.readouterr()
    move = open_document(made.vault.identity.public, read_move(told.out), "moved", ServerMove)
    assert (move.address, move.certificate) == ("https://host:9000", "")
    assert f"server.toml still says {made.public_address}" in told.err
    assert main(["--folder", str(made.folder), "move", "--to", "host"]) == 2
    assert "wanted an address such as https://host:8421, got 'host'" in capsys.readouterr().err


def test_a_backup_is_restored_with_its_own_keys_alone(tmp_path: Path, capsys: Output) -> None:
    """With the key file of another group nothing is written, and the right one restores it afterwards."""
    made, other, backup = tmp_path / "made", tmp_path / "other", tmp_path / "backup"
    assert main(["--folder", str(made), "init"]) == main(["--folder", str(made), "backup", "--to", str(backup)]) == 0
    assert main(["--folder", str(other), "init"]) == 0
    (other / "foltr-server.sqlite").unlink()
    capsys.readouterr()
    assert main(["--folder", str(other), "restore", str(backup)]) == 2
    assert "belongs to another key file" in capsys.readouterr().err
    shutil.copy(made / "keys.json", other)
    assert main(["--folder", str(other), "restore", str(backup)]) == main(["--folder", str(other), "model"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [["members"], ["model", "rollback", "x"], ["serve", "--nonsense"], ["nonsense"], ["restore", "/nowhere"]],
)
def test_an_error_is_told_and_has_code_two(tmp_path: Path, capsys: Output, arguments: list[str]) -> None:
    """No traceback, the last line says what is wrong."""
    assert main(["--folder", str(tmp_path), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.strip()
    assert "Traceback" not in error


@pytest.mark.parametrize("name", ["1.²", f"1.{'9' * 20}", f"{'9' * 20}.1"])
def test_a_round_that_no_number_names_is_none(tmp_path: Path, capsys: Output, name: str) -> None:
    """A number that no database holds, or that is none, is told like any other wrong one."""
    assert main(["--folder", str(tmp_path), "init"]) == 0
    for command in (["rounds", "show", name], ["model", "rollback", name]):
        test_an_error_is_told_and_has_code_two(tmp_path, capsys, command)


def test_what_the_system_says_is_told_in_its_words(tmp_path: Path, capsys: Output) -> None:
    """Without a number, and with the place: a file where the folder should be, a folder where a file should be."""
    (tmp_path / "made" / "server.toml").mkdir(parents=True)
    assert main(["--folder", str(tmp_path / "made"), "config"]) == 2
    assert capsys.readouterr().err == f"foltr-server: Is a directory: {tmp_path / 'made' / 'server.toml'}\n"
    (tmp_path / "file").touch()
    assert main(["--folder", str(tmp_path / "file" / "server"), "init"]) == 2
    assert capsys.readouterr().err == f"foltr-server: Not a directory: {tmp_path / 'file' / 'server'}\n"


def test_without_a_home_the_folder_must_be_named(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """A user without HOME and without a name, as in a container, is told so in one line."""
    for variable in ("HOME", "XDG_DATA_HOME", "FOLTR_SERVER_FOLDER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    assert main(["health"]) == 2
    assert "there is no home folder; set HOME, or name a folder with --folder" in capsys.readouterr().err


def test_without_a_command_the_help_is_shown_as_it_is_written(capsys: Output) -> None:
    """Line by line on stderr, each command in a whole sentence, and the exit code is 2."""
    assert main([]) == 2
    shown = capsys.readouterr().err.splitlines()
    assert shown[0].startswith("Usage: foltr-server ")
    assert any(line.startswith("  serve ") for line in shown)
    assert [line for line in shown[1:] if line.endswith("...")] == []


def test_what_the_database_says_is_one_line(tmp_path: Path, capsys: Output) -> None:
    """A file that is no database any more, and a table that is gone: what SQLite says of it, without a traceback."""
    made, broken = tmp_path / "made", tmp_path / "broken"
    assert main(["--folder", str(made), "init"]) == 0
    broken.mkdir(mode=0o700)
    for name in ("server.toml", "keys.json"):
        shutil.copy(made / name, broken)
    (broken / "foltr-server.sqlite").write_bytes(b"rubbish" * 1000)
    capsys.readouterr()
    assert main(["--folder", str(broken), "invite"]) == 2
    assert capsys.readouterr().err == "foltr-server: the database cannot be used: file is not a database\n"
    with closing(sqlite3.connect(made / "foltr-server.sqlite")) as database:
        database.execute("DROP TABLE invites")
    assert main(["--folder", str(made), "invite"]) == 2
    assert capsys.readouterr().err == "foltr-server: the database cannot be used: no such table: invites\n"
    with closing(sqlite3.connect(made / "foltr-server.sqlite")) as database:
        database.execute("DROP TABLE rounds")
    with (made / "server.toml").open("a") as file:
        file.write("server.port = 0\noperations.metrics_port = 0\n")
    assert main(["--folder", str(made), "serve"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "foltr-server: the database cannot be used: no such table: rounds"
    assert len(lines) < 5


def test_what_only_reads_waits_for_nobody_who_writes(tmp_path: Path, capsys: Output) -> None:
    """While another program holds the database, lists, the check-up and a backup are made all the same."""
    made = make_server(tmp_path / "server")
    with closing(sqlite3.connect(made.engine.url.database or "", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for command in ("members", "rounds", "keys", "doctor", f"backup --to {tmp_path / 'backup'}"):
            assert main(["--folder", str(made.folder), *command.split()]) in (0, 1), command
            assert "the database cannot be used" not in capsys.readouterr().err


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """Without the server's packages the program says how to install them."""

    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy")

    monkeypatch.setattr(importlib, "import_module", missing)
    assert main(["members"]) == 2
    assert "[server]" in capsys.readouterr().err
