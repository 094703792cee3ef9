"""Ignore rules: who decides, how far a pattern list reaches, and which folders count as generated."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from indexer.files.ignore import (
    BUILD_FOLDERS,
    GENERATED_ENDINGS,
    GENERATED_FOLDERS,
    IgnoreRules,
    Scope,
    compile_patterns,
    read_ignore_file,
)


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
    ]  # fmt: skip
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    patterns = ["*.log", "!keep.log", "/top.txt", "foo/**", "!foo/keep.txt", "doc/*.txt", "/out/", "spaced*"]
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
