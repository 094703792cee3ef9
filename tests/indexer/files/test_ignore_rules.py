"""Ignore rules: who decides, how far a pattern list reaches, and which folders count as generated."""

from __future__ import annotations

import os
import subprocess
import time
import zipfile
from pathlib import Path

import msgspec
import pytest

from app.assistants.granted import Granted, RefusedError
from app.following.indexing import update_index, why
from app.paths import Paths
from app.settings import IndexSettings, MeaningSettings, Settings
from indexer.files.ignore_rules import (
    BUILD_FOLDERS,
    GENERATED_ENDINGS,
    GENERATED_FOLDERS,
    SECRETS,
    IgnoreRules,
    Scope,
    compile_patterns,
    pattern_of,
    read_ignore_file,
)
from indexer.storage.catalogue import Catalogue


def rule_of(path: Path, *, rules: IgnoreRules | None = None, scope: Scope | None = None) -> str:
    """The rule that keeps out `path`, "" when none does."""
    rules = rules or IgnoreRules()
    verdict = rules.judge(scope or Scope(), str(path), path.name, is_folder=path.is_dir())
    return verdict.rule if verdict else ""


@pytest.mark.parametrize("name", sorted(GENERATED_FOLDERS))
def test_each_generated_folder_is_left_out_and_says_why(tmp_path: Path, name: str) -> None:
    """A folder of the table is left out by default, with its reason from the table."""
    (tmp_path / name).mkdir()
    verdict = IgnoreRules().judge(Scope(), str(tmp_path / name), name, is_folder=True)
    assert verdict is not None
    assert verdict.rule == "default-ignore"
    assert GENERATED_FOLDERS[name] in verdict.reason


@pytest.mark.parametrize("name", sorted(BUILD_FOLDERS))
def test_a_build_folder_is_left_out_only_beside_its_project_file(tmp_path: Path, name: str) -> None:
    """A folder called "build" or "target" may be anybody's; beside a project file it is build output."""
    (tmp_path / name).mkdir()
    assert rule_of(tmp_path / name) == ""
    (tmp_path / BUILD_FOLDERS[name][0]).touch()
    assert rule_of(tmp_path / name) == "default-ignore"


@pytest.mark.parametrize("marker", ["CACHEDIR.TAG", "pyvenv.cfg"])
def test_a_marker_file_leaves_its_folder_out(tmp_path: Path, marker: str) -> None:
    """A folder that holds CACHEDIR.TAG or pyvenv.cfg is a cache or an environment, whatever its name."""
    folder = tmp_path / "anything"
    folder.mkdir()
    (folder / marker).touch()
    assert rule_of(folder) == "default-ignore"


def test_hidden_names_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    """A name that begins with a dot is kept only with `hidden`."""
    (tmp_path / ".profile").touch()
    assert rule_of(tmp_path / ".profile") == "hidden"
    assert rule_of(tmp_path / ".profile", rules=IgnoreRules(hidden=True)) == ""


@pytest.mark.parametrize("name", ["a" + ending for ending in GENERATED_ENDINGS] + ["~$letter.docx"])
def test_generated_files_are_left_out(tmp_path: Path, name: str) -> None:
    """Backup copies, minified code, source maps and Office's lock files are left out."""
    (tmp_path / name).touch()
    assert rule_of(tmp_path / name) == "default-ignore"


def test_the_users_pattern_wins_over_ignore_files_and_those_over_the_tables(tmp_path: Path) -> None:
    """`exclude` decides first, then .ignore, then .gitignore, then the default tables."""
    (tmp_path / "node_modules").mkdir()
    rules = IgnoreRules()
    (tmp_path / ".gitignore").write_text("!node_modules/\n")
    scope = rules.scope_of(str(tmp_path), rules.root_scope(str(tmp_path)))
    assert rule_of(tmp_path / "node_modules", scope=scope) == ""
    (tmp_path / ".ignore").write_text("node_modules/\n")
    scope = rules.scope_of(str(tmp_path), rules.root_scope(str(tmp_path)))
    assert rule_of(tmp_path / "node_modules", scope=scope) == "ignored"
    rules = IgnoreRules(exclude=("!node_modules/",))
    scope = rules.scope_of(str(tmp_path), rules.root_scope(str(tmp_path)))
    assert rule_of(tmp_path / "node_modules", rules=rules, scope=scope) == ""


def test_the_nearest_ignore_file_wins(tmp_path: Path) -> None:
    """A pattern in a nested .gitignore overrides one further up, and holds only in its own tree."""
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / ".gitignore").write_text("!*.log\n")
    rules = IgnoreRules()
    outer = rules.scope_of(str(tmp_path), Scope())
    inner = rules.scope_of(str(tmp_path / "kept"), outer)
    assert rule_of(tmp_path / "a.log", scope=outer) == "ignored"
    assert rule_of(tmp_path / "kept" / "a.log", scope=inner) == ""


def test_a_verdict_names_the_pattern_and_its_file(tmp_path: Path) -> None:
    """The reason is enough to find the line that keeps a file out."""
    (tmp_path / ".gitignore").write_text("# comment\n\n*.tmp.txt\n")
    scope = IgnoreRules().scope_of(str(tmp_path), Scope())
    verdict = IgnoreRules().judge(scope, str(tmp_path / "a.tmp.txt"), "a.tmp.txt", is_folder=False)
    assert verdict is not None
    assert verdict.reason == f"pattern '*.tmp.txt' in {tmp_path / '.gitignore'}"


@pytest.mark.parametrize("line", ["!", "\\", "a\\", "[z-a]", "[", "", "# x", "/"])
def test_an_invalid_pattern_leaves_its_neighbours_alone(tmp_path: Path, line: str) -> None:
    """A line that is no pattern is passed over; the lines around it hold."""
    patterns = compile_patterns(["*.a", line, "*.b"], folder=str(tmp_path), source="test")
    assert patterns is not None
    assert patterns.check(str(tmp_path / "x.a"), False)[0] is True
    assert patterns.check(str(tmp_path / "x.b"), False)[0] is True


def test_strange_names_are_matched(tmp_path: Path) -> None:
    """Names that are not UTF-8, or hold a newline, match patterns like any other."""
    patterns = compile_patterns(["*.txt"], folder=str(tmp_path), source="test")
    assert patterns is not None
    for name in (os.fsdecode(b"bad\xff.txt"), "new\nline.txt", "new\nline/a.txt"):
        assert patterns.check(os.path.join(tmp_path, name), False)[0] is True


def test_an_ignore_file_that_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    """A FIFO called .gitignore would block whoever opens it."""
    os.mkfifo(tmp_path / ".gitignore")
    assert read_ignore_file(str(tmp_path / ".gitignore")) is None


def test_git_agrees(tmp_path: Path) -> None:
    """On a tree with nested lists, negation and anchored patterns we keep exactly what git keeps."""
    files = [
        "a.log", "keep.log", "src/a.c", "src/a.o", "src/deep/b.o", "doc/x.txt", "doc/in/x.txt", "foo/x", "foo/keep.txt",
        "top.txt", "sub/top.txt", "spaced name.txt", "out/a/b.txt", "lib/out/a.txt",
        "s/1a2b3c", "s/acb", "s/aab1c", "s/a/bc", "t/1x2y/3z", "t/x/y/z", "u/mna-b-c", "u/na/b-c", "u/nb-c",
        "v/a/b/a/c", "v/x/a/y/a/z/c", "v/a/c", "v/a/a/c/d",
    ]  # fmt: skip
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    patterns = ["*.log", "!keep.log", "/top.txt", "foo/**", "!foo/keep.txt", "doc/*.txt", "/out/", "spaced*"]
    patterns += ["s/*a*b*c*", "t/*x*y*/*z", "n*[!n]*b*c", "m?*[!n]*b*c", "v/**/a/**/a/**/c"]
    (tmp_path / ".gitignore").write_text("\n".join(patterns))
    (tmp_path / "src" / ".gitignore").write_text("*.o\n!deep/*.o\n")
    run = ["git", "-c", "core.excludesFile=/dev/null", "-C", str(tmp_path)]
    subprocess.run([*run, "init", "-q"], check=True)
    listed = subprocess.run(
        [*run, "ls-files", "-z", "--others", "--exclude-standard"], check=True, capture_output=True, text=True
    ).stdout
    kept = {name for name in listed.split("\0") if name and not name.endswith(".gitignore")}

    rules, ours = IgnoreRules(), set()
    pending = [(tmp_path, rules.root_scope(str(tmp_path)))]
    while pending:
        folder, outer = pending.pop()
        scope = rules.scope_of(str(folder), outer)
        for path in folder.iterdir():
            if rules.judge(scope, str(path), path.name, is_folder=path.is_dir()) is None:
                if path.is_dir():
                    pending.append((path, scope))
                else:
                    ours.add(str(path.relative_to(tmp_path)))
    assert ours == kept


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
            shown = {Path(one["id"]).name for one in granted.search(query, 50)["results"]}
            assert shown <= {"notes.txt", "all.zip", "all.zip#notes.txt"}
        catalogue = Catalogue.open(paths.catalogue)
        rows = catalogue.documents(sorted(catalogue.doc_ids())).values()
        secrets = [id for row in rows if (id := f"{row.path}#{row.part}".rstrip("#")).endswith("id_rsa")]
        catalogue.close()
        assert len(secrets) == 2  # one of them in the archive
        for secret in secrets:
            with pytest.raises(RefusedError):
                granted.fetch([secret])
        for name in ("id_rsa", "harmless.txt"):
            with pytest.raises(RefusedError):
                granted.why(str(home / name))
    finally:
        granted.close()


def test_a_pattern_of_many_stars_costs_little() -> None:
    """Each star more made a long name take a hundred times as long, and a folder from somebody else may have such."""
    patterns = compile_patterns(["*a" * 20 + "*b"], folder="/f", source="the test")
    assert patterns is not None
    began = time.process_time()
    assert patterns.check("/f/" + "a" * 250, False) == (None, "")
    assert patterns.check("/f/" + "ca" * 99 + "b", False)[0]
    patterns = compile_patterns(["**/a/" * 20 + "**/b"], folder="/f", source="the test")
    assert patterns is not None
    assert patterns.check("/f/" + "a/" * 200 + "c", False) == (None, "")
    assert patterns.check("/f/" + "c/a/" * 99 + "b", False)[0]
    assert time.process_time() - began < 1
