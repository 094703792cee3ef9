"""The server's settings: the file, the environment, and what cannot be used."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from federation_server.cli import main
from federation_server.settings import SCHEME, ServerSettings, ServerSettingsError, read, resolve
from foltr.federated.aggregation.krum import Krum


def written(folder: Path, text: str) -> Path:
    file = folder / "server.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_default_file_changes_nothing_as_it_is_and_with_every_sign_taken_away(tmp_path: Path) -> None:
    """Each commented key is that of the structs, with its default, and written in full: no table stands above it."""
    text = SCHEME.default_file()
    assert read(written(tmp_path, text), {}) == ServerSettings()
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    active = "\n".join(line if line.partition(" = ")[0] in SCHEME.keys else f"# {line}" for line in lines)
    assert {f"{table}.{key}" for table, keys in tomllib.loads(active).items() for key in keys} == set(SCHEME.keys)
    assert read(written(tmp_path, active), {}) == ServerSettings()


def test_a_variable_wins_over_the_file_and_that_over_the_default(tmp_path: Path) -> None:
    """The table `server` needs no name; the device's variables mean nothing here."""
    file = written(tmp_path, "[server]\nport = 9000\naddress = '::1'\n[method]\nmode = 'open'\n[rounds]\nquorum = 7\n")
    settings = read(file, {"FOLTR_SERVER__PORT": "9001", "FOLTR_SERVER_ROUNDS__QUORUM": "8", "FOLTR_INDEX__X": "1"})
    assert (settings.server.port, settings.server.address, settings.rounds.quorum) == (9001, "::1", 8)
    effective = resolve(file, file.read_text(encoding="utf-8"), {"FOLTR_SERVER_ROUNDS__QUORUM": "8"})
    assert effective.sources["rounds.quorum"] == "FOLTR_SERVER_ROUNDS__QUORUM"
    assert effective.sources["server.port"] == f"{file}, line 2"
    assert effective.sources["rounds.floor"] == "default"


OPEN, GROUPED = '[method]\nmode = "open"\n', '[method]\nmode = "grouped"\n'
KRUM = 'rule = { rule = "krum", n_malicious = 1 }'


def test_a_rule_is_a_table_in_the_file_and_in_a_variable(tmp_path: Path) -> None:
    """Structs that are told apart by a tag are read from TOML wherever they stand."""
    table = '{ rule = "krum", n_malicious = 1 }'
    by_file = read(written(tmp_path, f"{OPEN}[rounds]\nfloor = 5\n[aggregation]\nrule = {table}\n"), {})
    file = written(tmp_path, OPEN + "[rounds]\nfloor = 5\n")
    assert by_file.aggregation.rule == read(file, {"FOLTR_SERVER_AGGREGATION__RULE": table}).aggregation.rule
    assert by_file.aggregation.rule == Krum(n_malicious=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[rounds]\nquorom = 5\n", "line 2: unknown key `rounds.quorom`; the nearest known one is `rounds.quorum`"),
        ("[round]\nquorum = 5\n", "line 1: unknown key `round`; the nearest table is `[rounds]`"),
        ("\n[server]\nport = 70000\n", "line 3: server.port wants a whole number from 0 to 65535, got 70000"),
        ("[retention]\nmember_days = 99999999999999999\n", "wants a whole number from 0 to 36500, got 99"),
        ("server.public = 'https://host:65536'\n", "wanted an address such as https://host:8421"),
        ("[server\n", "wanted a TOML file, got: "),
        ("[aggregation]\nrule = { rule = 'sum' }\n", "line 2: aggregation.rule wants a table with rule = one of mean"),
        ('[aggregation]\nrule = { rule = "krum", m = 1 }\n', "unknown field `m`"),
        ("[rounds]\nfloor = 6\nquorum = 5\n", "rounds.floor 6 is above rounds.quorum 5"),
        ('[method]\nranker = "neural"\n', 'with method.ranker = "neural" it must be []'),
        ('[method]\nprivacy = "none"\n', "line 2: method.privacy wants by-mode, or a table with mechanism = one of"),
        (f"{OPEN}[aggregation]\n{KRUM}\n", "aggregation.rule with rounds.floor = 3: "),
        (f"{GROUPED}[aggregation]\nrule = {{ rule = 'krum', n_malicious = 3 }}\n", "aggregation.rule with five sums: "),
        (f"[aggregation]\n{KRUM}\n", "a sealed group has one sum"),
        (
            "[aggregation]\nguard = true\n",
            "aggregation.guard = true judges single updates, which the server",
        ),
        (f"{GROUPED}[aggregation]\nguard = true\n", "the server of a grouped group never sees"),
        ("[forgetting]\nmethod = 'federaser'\n", "forgetting.method = 'federaser' takes single updates out"),
        ("[forgetting]\nmethod = 'reaggregate'\n", 'there are "noise" and "rollback"'),
        ("[rounds]\nquorum = 5\n", "rounds.quorum: wanted 0 in a sealed group"),
        ("[method]\nprivacy = { mechanism = 'none' }\n", "method.privacy: a sealed group adds Gaussian noise"),
        ("[method]\nprivacy = { mechanism = 'laplace', clip = 1.0, epsilon = 1.0 }\n", "adds Gaussian noise"),
        ("server.public = 'ranker.example.org'\n", "server.public: wanted an address such as https://host:8421, got "),
        ("server.public = 'http://ranker.example.org'\n", "devices take http on a loopback address only"),
        ("server.public = 'https://ada@host'\n", "got 'https://ada@host'"),
        ("[limits]\ndepot_files = 10001\n", "limits.depot_files wants a whole number from 0 to 10000, got 10001"),
    ],
)
def test_what_cannot_be_used_is_one_line_that_names_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    """What was wanted, what came, and where it stands."""
    file = written(tmp_path, text)
    with pytest.raises(ServerSettingsError) as caught:
        read(file, {})
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_config_check_lists_every_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and a line for each; 0 and nothing where all is well, also before there is a file."""
    assert main(["--folder", str(tmp_path), "config", "check"]) == 0
    written(tmp_path, "[server]\nport = -1\nadress = 'x'\n[limits]\nbody_bytes = 'many'\n")
    assert main(["--folder", str(tmp_path), "config", "check"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 3
    assert "`server.address`" in said.err


def test_config_show_names_values_and_sources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table or a key narrows the list; an unknown one is an error with the nearest."""
    written(tmp_path, "[server]\nport = 9000\n")
    assert main(["--folder", str(tmp_path), "config", "show", "server.port"]) == 0
    assert capsys.readouterr().out == f"server.port = 9000  # {tmp_path / 'server.toml'}, line 2\n"
    assert main(["--folder", str(tmp_path), "config"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(SCHEME.keys)
    assert main(["--folder", str(tmp_path), "config", "show", "server.prt"]) == 2
    assert "`server.port`" in capsys.readouterr().err
