"""Files of keys and passwords: found by name alone, also where they were indexed whole, and never by an agent."""

from __future__ import annotations

import zipfile
from pathlib import Path

import msgspec
import pytest

from app.following.indexing import update_index, why
from app.paths import Paths
from app.search.granted import Granted, RefusedError
from app.settings import IndexSettings, MeaningSettings, Settings
from indexer.files.secrets import SECRETS, pattern_of
from indexer.storage.catalogue import Catalogue

WORD = "quokka"
"""in every file"""


@pytest.mark.parametrize(
    "path",
    ["/h/.ssh/id_rsa", "/h/ID_ED25519", "id_rsa", "/h/server.PEM", "/h/.aws/credentials", "/h/.env", "/h/.env.local",
     "/h/prod.env", "/h/credentials-2.json", "/h/passwords.kdbx", "/h/Login Data", "/h/.gnupg/pubring.kbx"],
)  # fmt: skip
def test_names_of_keys_and_passwords_are_known(path: str) -> None:
    assert pattern_of(path, SECRETS)


@pytest.mark.parametrize(
    "path",
    ["/h/id_card.jpg", "/h/id_rsa.pub", "/h/aws/credentials", "/h/.env.example", "/h/environment.py", "/h/keys.md",
     "/h/my credentials.json", "/id_rsa/notes.txt", "/h/a.pem.txt", "/h/cookies.md", "/h/id_rsa\n.txt"],
)  # fmt: skip
def test_names_that_only_look_alike_are_not(path: str) -> None:
    """A picture of an identity card, a public key, an example, a folder of that name."""
    assert not pattern_of(path, SECRETS)


def test_the_last_pattern_decides_and_stars_stay_within_a_name() -> None:
    assert pattern_of("/h/a.key", ("*.key", "!a.key")) == ""
    assert pattern_of("/h/a.key", ("!a.key", "*.KEY")) == "*.KEY"
    assert pattern_of("/h/x/a/b", ("x/*",)) == ""
    assert pattern_of("/h/x.y", ("x?y", "[x].y")) == "x?y"
    assert pattern_of("/h/x", ()) == ""


@pytest.fixture
def device(tmp_path: Path) -> tuple[Path, Paths, Settings]:
    """A folder with keys, one of them in an archive, and settings as they come."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("id_rsa", "prod.env", "credentials.json", "notes.txt"):
        (home / name).write_text(WORD)
    with zipfile.ZipFile(home / "all.zip", "w") as archive:
        archive.write(home / "id_rsa", "keys/id_rsa")
        archive.write(home / "notes.txt", "notes.txt")
    settings = Settings(index=IndexSettings(roots=[str(home)], workers=1), meaning=MeaningSettings(enabled=False))
    return home, Paths(tmp_path / "config", tmp_path / "data"), settings


def texts(paths: Paths, home: Path) -> dict[str, str]:
    """What is kept of each document, by its name and part."""
    catalogue = Catalogue.open(paths.catalogue)
    try:
        rows = catalogue.documents(sorted(catalogue.doc_ids())).values()
        return {f"{Path(row.path).name}/{row.part}": catalogue.text(row.doc_id) for row in rows}
    finally:
        catalogue.close()


def with_secrets(settings: Settings, secrets: list[str]) -> Settings:
    return msgspec.structs.replace(settings, index=msgspec.structs.replace(settings.index, secrets=secrets))


def test_their_texts_are_not_read_and_vanish_where_they_were(device: tuple[Path, Paths, Settings]) -> None:
    """An index from before the list, or of a user who emptied it, loses the texts at its next update."""
    home, paths, settings = device
    update_index(with_secrets(settings, []), paths)
    assert [name for name, text in texts(paths, home).items() if WORD not in text] == ["all.zip/"]
    update_index(settings, paths)
    kept = texts(paths, home)
    assert {name for name, text in kept.items() if WORD in text} == {
        "notes.txt/",
        "all.zip/notes.txt",
        "all.zip/keys/id_rsa",
    }
    assert {"id_rsa/", "prod.env/", "credentials.json/"} < kept.keys()
    update_index(settings, paths, rebuild=True)
    assert {name for name, text in texts(paths, home).items() if WORD in text} == {"notes.txt/", "all.zip/notes.txt"}


def test_why_names_the_pattern_and_the_way_back(device: tuple[Path, Paths, Settings]) -> None:
    home, paths, settings = device
    update_index(settings, paths)
    (line,) = why(settings, paths, home / "credentials.json").lines
    assert "'credentials*.json' in index.secrets" in line
    assert "`!NAME`" in line
    asked = with_secrets(settings, [*SECRETS, "!credentials.json"])
    update_index(asked, paths)
    assert texts(paths, home)["credentials.json/"] == WORD


def test_an_agent_never_gets_them(device: tuple[Path, Paths, Settings]) -> None:
    """Neither text nor name, by whatever name and even where the user has them indexed."""
    home, paths, settings = device
    (home / "harmless.txt").symlink_to(home / "id_rsa")
    settings = with_secrets(settings, [])
    update_index(settings, paths)
    granted = Granted(settings, paths, [str(home)])
    try:
        for query in (WORD, "id_rsa", "prod", "ext:env", "credentials"):
            shown = {Path(one["path"]).name + one["part"] for one in granted.search(query, 50)["results"]}
            assert shown <= {"notes.txt", "all.zip", "all.zipnotes.txt"}
        catalogue = Catalogue.open(paths.catalogue)
        rows = catalogue.documents(sorted(catalogue.doc_ids())).values()
        secrets = [row.doc_id for row in rows if f"{row.path}/{row.part}".rstrip("/").endswith("id_rsa")]
        catalogue.close()
        assert len(secrets) == 2  # one of them in the archive
        for secret in secrets:
            with pytest.raises(RefusedError):
                granted.fetch(str(secret))
        for name in ("id_rsa", "harmless.txt"):
            with pytest.raises(RefusedError):
                granted.why(str(home / name))
    finally:
        granted.close()
