"""Settings come from four sources with one precedence, and an invalid one gives a clear error."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.settings import SCHEME, Paths, Settings, SettingsError, examine, resolve
from console.configuration import toml_value

if TYPE_CHECKING:
    from tests.app.conftest import Device


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    (tmp_path / "config").mkdir()
    return Paths(config_dir=tmp_path / "config", data_dir=tmp_path / "data")


def load(paths: Paths, text: str = "", env: dict[str, str] | None = None, **flags: str) -> Settings:
    paths.config_file.write_text(text, encoding="utf-8")
    return Settings.load(paths, env or {}, flags={name.replace("__", "."): value for name, value in flags.items()})


def refusal(paths: Paths, text: str = "", env: dict[str, str] | None = None, **flags: str) -> str:
    with pytest.raises(SettingsError) as refused:
        load(paths, text, env, **flags)
    return str(refused.value)


def test_without_any_source_the_defaults_hold(paths: Paths) -> None:
    """A machine without a file and without variables has the defaults of the structs."""
    assert Settings.load(paths, {}) == Settings()


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(paths: Paths) -> None:
    """Each source overrides those below it, and leaves alone what it does not name."""
    text = "[index]\nworkers = 1\nmemory_mb = 256\nscan_minutes = 5\n"
    env = {"FOLTR_INDEX__WORKERS": "2", "FOLTR_INDEX__MEMORY_MB": "512"}
    index = load(paths, text, env, index__workers="3").index
    assert (index.workers, index.memory_mb, index.scan_minutes, index.hidden) == (3, 512, 5.0, False)


def test_show_names_the_source_of_each_value(paths: Paths) -> None:
    """The source of a value is its flag, its variable, its line in the file, or the default."""
    paths.config_file.write_text("\n[search]\n# a comment\nlimit = 50\n", encoding="utf-8")
    effective = resolve(paths, {"FOLTR_HISTORY__ENABLED": "yes"}, flags={"learning.strength": "0.5"})
    assert effective.settings.search.limit == 50
    assert effective.sources["search.limit"] == f"{paths.config_file}, line 4"
    assert effective.sources["history.enabled"] == "FOLTR_HISTORY__ENABLED"
    assert effective.sources["learning.strength"] == "--set learning.strength"
    assert effective.sources["index.hidden"] == "default"


@pytest.mark.parametrize("name", [name for name, key in SCHEME.keys.items() if key.default != ""])
def test_every_key_can_be_set_by_file_variable_and_flag(paths: Paths, name: str) -> None:
    """Any key accepts its default from any source, and gives the same value back."""
    key = SCHEME.keys[name]
    written = toml_value(key.default)
    table, _, field = name.partition(".")
    text = written if isinstance(key.default, (list, dict)) else str(key.default)
    for settings in (
        load(paths, f"[{table}]\n{field} = {written}\n"),
        load(paths, env={f"FOLTR_{table}__{field}".upper(): text}),
        Settings.load(paths, {}, flags={name: text}),
    ):
        assert getattr(getattr(settings, table), field) == key.default


def test_lists_and_tables_can_be_written_as_plain_text(paths: Paths) -> None:
    """A variable writes a list with commas or as a TOML array, and a table as pairs."""
    env = {
        "FOLTR_INDEX__EXCLUDE": "*.o, build/",
        "FOLTR_SEARCH__LANGUAGES": '["german", "english"]',
        "FOLTR_SCREEN__KEYS": "open=enter,preview=ctrl+o",
    }
    settings = load(paths, env=env)
    assert settings.index.exclude == ["*.o", "build/"]
    assert settings.search.languages == ["german", "english"]
    assert settings.screen.keys == {"open": "enter", "preview": "ctrl+o"}


def test_one_entry_of_a_table_leaves_the_others(paths: Paths) -> None:
    """A cap for one type, from any source, keeps the caps of the other types."""
    caps = Settings().index.max_file_mb
    by_file = load(paths, "[index.max_file_mb]\npdf = 3\n").index.max_file_mb
    by_variable = load(paths, env={"FOLTR_INDEX__MAX_FILE_MB__PDF": "3"}).index.max_file_mb
    assert by_file == by_variable == {**caps, "pdf": 3.0}


def test_unknown_keys_name_their_path_their_line_and_the_nearest_known_one(paths: Paths) -> None:
    """A misspelt key is an error that shows where it is and what was probably meant."""
    assert refusal(paths, "[index]\nhidden = true\nworker = 3\n") == (
        f"{paths.config_file}, line 3: unknown key `index.worker`; the nearest known one is `index.workers`"
    )
    assert "nearest known one is `learning.exploration`" in refusal(paths, "[learning]\nexplore = 0\n")
    assert "nearest known one is `index.hidden`" in refusal(paths, "[search]\nhidden = true\n")
    assert "nearest table is `[search]`" in refusal(paths, "[serch]\nlimit = 3\n")
    assert "FOLTR_INDX__WORKERS: unknown key `indx.workers`" in refusal(paths, env={"FOLTR_INDX__WORKERS": "1"})
    assert "--set index.wrkers" in refusal(paths, index__wrkers="1")
    assert "unknown key `index.max_file_mb.pfd`" in refusal(paths, "[index.max_file_mb]\npfd = 3\n")


@pytest.mark.parametrize(
    ("text", "wanted", "came"),
    [
        ("[index]\nworkers = 'many'", "index.workers wants a whole number from 0 to 256", "'many'"),
        ("[index]\nworkers = true", "index.workers wants a whole number", "True"),
        ("[index]\nhidden = 1", "index.hidden wants true or false", "1"),
        ("[learning]\nstrength = 2.5", "learning.strength wants a number from 0 to 2", "2.5"),
        ("[learning]\nexploration = nan", "learning.exploration wants a number", "nan"),
        ("[learning]\nranker = 'tree'", "learning.ranker wants one of linear, neural", "'tree'"),
        ("[index]\nroots = 'a'", "index.roots wants a list", "'a'"),
        ("[index]\nroots = ['notes']", "index.roots wants absolute folders", "'notes'"),
        ("[index.max_file_mb]\npdf = -3", "index.max_file_mb wants a table", "-3"),
        ("[index", "wanted a TOML file", "Expected"),
        (f"[index]\nworkers = {'9' * 5000}", "wanted a TOML file", "4300 digits"),
    ],
)
def test_a_value_that_cannot_be_used_says_what_was_wanted_and_what_came(
    paths: Paths, text: str, wanted: str, came: str
) -> None:
    """A wrong type, range or choice gives one line with the expected and the given value."""
    message = refusal(paths, text)
    assert wanted in message
    assert came in message
    assert "\n" not in message


def test_check_lists_every_problem_and_keeps_what_can_be_used(paths: Paths) -> None:
    """One bad value hides neither the next bad one nor the good ones."""
    paths.config_file.write_text("[index]\nworkers = -1\nhidden = true\nx = 1\n", encoding="utf-8")
    effective, problems = examine(paths, {"FOLTR_SEARCH__LIMIT": "0"}, flags={})
    assert len(problems) == 3
    assert effective.settings.index.hidden
    assert effective.settings.index.workers == Settings().index.workers


def test_the_default_file_is_a_settings_file_that_changes_nothing(paths: Paths) -> None:
    """The commented file is valid as it is, and with all keys uncommented it gives the defaults."""
    assert load(paths, SCHEME.default_file()) == Settings()
    active = "\n".join(
        line.removeprefix("# ") if line.removeprefix("# ").partition(" = ")[0].isidentifier() else line
        for line in SCHEME.default_file().splitlines()
    )
    written = tomllib.loads(active)
    assert {f"{table}.{field}" for table, fields in written.items() for field in fields} == set(SCHEME.keys)
    assert load(paths, active) == Settings()


def test_a_pipe_in_place_of_a_file_holds_no_command_up(device: Device) -> None:
    """Settings, saved searches, folders and key: commands that need the file name the pipe, all others work."""
    device.index()
    of_settings = (device.config_file, device.config_file.with_name("searches.toml"))
    device.config_file.parent.mkdir(exist_ok=True)
    for place in (*of_settings, device.data_dir / "roots.json", device.data_dir / "key"):
        place.unlink(missing_ok=True)
        os.mkfifo(place)
        commands = (["search", "@a heron"], ["saved"], ["index"], ["doctor"], ["model"], ["backup", "--to", "a.zip"])
        done = [device.run(*command) for command in commands]
        assert any("it is a pipe" in one.stderr for one in done)
        place.unlink()


def test_a_mark_before_the_text_is_no_part_of_it(device: Device) -> None:
    """A byte order mark, as Windows editors write it, is ignored in the settings and in saved searches."""
    device.config_file.parent.mkdir(exist_ok=True)
    device.config_file.write_bytes(b"\xef\xbb\xbfindex.hidden = true\r\n")
    device.config_file.with_name("searches.toml").write_bytes(b'\xef\xbb\xbfbird = "heron"\r\n')
    assert "index.hidden = true  # " in device.run("config", "show", "index.hidden").stdout
    assert device.run("saved").stdout.startswith("@bird")


def test_roots_may_begin_with_the_home_folder(paths: Paths) -> None:
    """`~` in a root is the user's home."""
    assert load(paths, '[index]\nroots = ["~/notes"]').index.roots == [str(Path.home() / "notes")]


def test_variables_of_the_server_are_not_settings_of_the_device(paths: Paths) -> None:
    """FOLTR_SERVER__... and variables without two underscores are left alone."""
    env = {"FOLTR_SERVER__PORT": "1", "FOLTR_DATA_DIR": "/x", "FOLTR_DEBUG": "1", "FOLTR_INDEX__WORKERS": ""}
    assert load(paths, env=env) == Settings()
