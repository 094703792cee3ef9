"""A group is made from its settings, or not at all."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography import x509
from sqlalchemy import Engine, text

from federation_server import serve, setup, tls
from federation_server.database import connect, is_sqlite, reading, writing
from federation_server.group import group
from federation_server.serve import Installation, open_installation
from federation_server.settings import ServerSettingsError, read
from federation_server.vault import Vault
from foltr.federated.wire import Terms
from foltr.privacy.accounting import Ledger
from foltr.privacy.mechanisms import NoPrivacy
from tests.federation_server.client import run
from tests.waiting import until


def test_serving_makes_a_group_from_settings_written_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`serve` alone is enough when server.toml was written first, and the second start takes the same group."""
    (tmp_path / "server.toml").write_text('[method]\nmode = "open"\n[rounds]\nfloor = 2\nquorum = 2\n')
    served: list[Installation] = []
    monkeypatch.setattr(serve, "serve", served.append)
    assert run(tmp_path, "serve") == run(tmp_path, "serve") == 0
    ids = []
    for one in served:
        with reading(one.engine) as connection:
            ids.append(group.terms(connection).group_id)
            assert group.terms(connection).floor == 2
    assert ids[0] == ids[1]


@pytest.mark.parametrize("command", ["init", "serve"])
def test_a_folder_of_others_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """One line says what was wanted; one that holds what the system, or a kill, left there is taken."""
    theirs = tmp_path / "theirs.txt"
    theirs.write_text("theirs")
    tmp_path.chmod(0o777)
    before = tmp_path.stat()
    assert run(tmp_path, command) == 2
    assert "wanted an empty folder for the server" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["theirs.txt"]
    after = tmp_path.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    theirs.unlink()
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "server.toml.foltr-unfinished-0a1b2c3d").touch()
    assert run(tmp_path, "init") == 0


@pytest.mark.parametrize("command", ["init", "serve"])
def test_no_new_keys_are_made_beside_a_group_whose_own_are_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """One line names the key file that is missing, nothing is written, and with the file back the group is there."""
    (tmp_path / "server.toml").write_text('tls.mode = "self-signed"\n')
    assert run(tmp_path, "init") == 0
    keys = (tmp_path / "keys.json").read_bytes()
    for path in (made := {tmp_path / name for name in ("keys.json", "certificate.pem", "certificate-key.pem")}):
        path.unlink()
    capsys.readouterr()
    assert run(tmp_path, command) == 2
    assert f"belongs to a key file that is gone; restore {tmp_path / 'keys.json'}" in capsys.readouterr().err
    assert not made & set(tmp_path.iterdir())
    (tmp_path / "keys.json").write_bytes(keys)
    (tmp_path / "keys.json").chmod(0o600)
    assert run(tmp_path, "model") == 0


def test_a_group_that_could_not_be_made_is_made_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After the reason is mended, the same command works; so it does after a kill in between."""
    settings = tmp_path / "server.toml"
    settings.write_text('[server]\ndatabase = "sqlite:///missing/server.sqlite"\n')
    assert run(tmp_path, "init") == 2
    settings.write_text("")
    assert run(tmp_path, "rounds") == 2
    assert "there is no group in" in capsys.readouterr().err
    assert run(tmp_path, "init") == 0
    assert run(tmp_path, "init") == 2
    assert "there is a server in" in capsys.readouterr().err


def test_two_processes_that_make_a_server_at_once_leave_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find no keys; those of the second one are not put in the place of those that the group was made with."""
    generate, others = Vault.generate, [lambda: run(tmp_path, "init")]
    monkeypatch.setattr(Vault, "generate", lambda: (others and others.pop()(), generate())[1])
    assert run(tmp_path, "init") == 2
    assert run(tmp_path, "invite") == 0


def wait_for_a_waiting_one(database_url: str, other: Thread) -> None:
    """Until another process waits for what this one has locked; SQLite does not say so; there one writes at a time."""
    asking = connect(database_url)
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with asking.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        until(lambda: is_sqlite(asking) or not other.is_alive() or connection.execute(query).scalar_one())
    asking.dispose()


def test_of_two_that_make_a_group_in_one_database_the_second_is_told(
    empty_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins while the first one has seen that there is none, and has not made it yet."""
    (tmp_path / "server.toml").write_text(f'[server]\ndatabase = "{empty_database}"\n')
    terms_of, said = setup.terms_of, []

    def make() -> Installation:
        return setup.make(tmp_path, name="herons", start=setup.shipped_start(), now=0)

    def second() -> None:
        with pytest.raises(ServerSettingsError) as refused:
            make()
        said.append(str(refused.value))

    def slow_terms(*arguments: Any, **options: Any) -> Terms:
        monkeypatch.undo()
        other.start()
        wait_for_a_waiting_one(empty_database, other)
        return terms_of(*arguments, **options)

    other = Thread(target=second)
    monkeypatch.setattr(setup, "terms_of", slow_terms)
    make().engine.dispose()
    other.join()
    assert said == [f"there is a server in {tmp_path} already"]


def test_two_that_set_a_fact_for_the_first_time_both_set_it(engine: Engine) -> None:
    """As two processes of a server do that start at once: the later one's stays."""
    url = engine.url.render_as_string(hide_password=False)

    def set_again() -> None:
        with writing(engine) as connection:
            group.set_fact(connection, "served at", "b")

    other = Thread(target=set_again)
    with writing(engine) as connection:
        group.set_fact(connection, "served at", "a")
        other.start()
        wait_for_a_waiting_one(url, other)
    other.join()
    with reading(engine) as connection:
        assert group.fact(connection, "served at") == "b"


def test_a_certificate_is_of_the_key_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process found no key either, and makes its own while the certificate of the first one is signed."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"

    def name(text: str) -> x509.GeneralName:
        with suppress(FileExistsError):
            tls._generate(key)
        return x509.DNSName(text)

    monkeypatch.setattr(tls, "_name", name)
    tls.make_self_signed(certificate, key, names=("localhost",))
    ssl.create_default_context().load_cert_chain(certificate, key)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "wanted a start model, got"),
        ('{"v": 2, "manifest_hash": "", "features": ["size"], "theta": [0.5]}', "wanted version 1"),
        ('{"v": 1, "manifest_hash": "", "features": ["size"], "theta": [0.5, 1]}', "one weight for each feature"),
        ('{"v": 1, "manifest_hash": "", "features": [], "theta": []}', "one weight for each feature"),
    ],
)
def test_a_group_begins_with_a_whole_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, why: str
) -> None:
    """A file that is none is named, and no group is made."""
    model = tmp_path / "model.json"
    model.write_text(text)
    assert run(tmp_path / "server", "init", "--model", str(model)) == 2
    assert f"{model}: " in (said := capsys.readouterr().err)
    assert why in said
    assert not (tmp_path / "server").exists()


def terms_with(text: str, tmp_path: Path) -> Terms:
    (tmp_path / "server.toml").write_text(text)
    return setup.terms_of(
        read(tmp_path / "server.toml", {}), "group", features=("size", "bm25f", "newer"), manifest_hash=""
    )


TWO = 'shared = ["newer", "size"]\n'


def test_shared_weights_are_named_by_features(tmp_path: Path) -> None:
    """Names become indices, rising; [] shares all; 0 is no cap; a name that is no feature is an error."""
    agreed = terms_with(f"[method]\n{TWO}longest_query = 0\n", tmp_path)
    method = group.method_of(agreed)
    assert (method.shared, method.n_sent, method.update) == ((0, 2), 2, "batch")
    assert (method.longest_step, method.longest_query) == (0.15, None)
    assert group.method_of(terms_with("[method]\nshared = []\n", tmp_path)).n_sent == 3
    with pytest.raises(ServerSettingsError, match=r"no feature 'colour'; there are size, bm25f, newer"):
        terms_with('[method]\nshared = ["colour"]\n', tmp_path)


def test_the_noise_is_that_of_the_mode(tmp_path: Path) -> None:
    """Four rounds cost epsilon 10 in an open group and 4 where only the sum is learned, against absence (1e-5)."""
    for mode, against, epsilon in (("open", "server", 10.0), ("sealed", "sum", 4.0), ("grouped", "sum", 4.0)):
        agreed = terms_with(f'[method]\nmode = "{mode}"\n{TWO}', tmp_path)
        assert (agreed.mode, agreed.n_rounds, agreed.period_days) == (mode, 4, 365)
        privacy = group.method_of(agreed).privacy
        spent = Ledger(2).spend(privacy, agreed.n_rounds).epsilon(1e-5, against=against)  # type: ignore[arg-type]
        assert epsilon - 0.03 < spent <= epsilon
    none = terms_with(f'[method]\nmode = "open"\nprivacy = {{ mechanism = "none" }}\n{TWO}', tmp_path)
    assert group.method_of(none).privacy == NoPrivacy()


@pytest.mark.parametrize("mode", ["sealed", "open", "grouped"])
def test_init_makes_the_mode_that_is_asked_for(tmp_path: Path, mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is in the settings file and in the terms, and said; sealed where nothing is asked for."""
    assert run(tmp_path, "init", "--mode", mode) == 0
    assert f": {mode}, so this server " in capsys.readouterr().out
    made = open_installation(tmp_path / "server.toml")
    with reading(made.engine) as connection:
        assert group.terms(connection).mode == mode
    assert made.settings.method.mode == mode
    made.engine.dispose()


def test_init_takes_no_other_mode_than_the_file_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A settings file that is there already is not overruled; without --mode a new group is sealed."""
    (tmp_path / "server.toml").write_text('[method]\nmode = "open"\n')
    assert run(tmp_path, "init", "--mode", "sealed") == 2
    assert "says that the group is open, --mode says sealed: write" in capsys.readouterr().err
    assert run(tmp_path / "new", "init") == 0
    assert read(tmp_path / "new" / "server.toml").method.mode == "sealed"
