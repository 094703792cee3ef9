"""Files go to the user's programs as plain arguments, at the line or page if the program can open there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.external_programs import How, Invocation, NoDisplayError, OpenError, plan, run
from app.settings import OpenSettings, Settings

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the programs of Linux desktops")

ODD_NAMES = ["plain.txt", "-rf.txt", "two words.txt", "it's; $(touch x) `y`.txt", "{line}.txt", "new\nline.txt"]


def programs(folder: Path, *names: str) -> dict[str, str]:
    """An environment with a display in which just these programs exist."""
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
        (folder / name).chmod(0o700)
    return {"PATH": str(folder), "DISPLAY": ":0"}


def argv(
    path: Path, how: How, *, env: Mapping[str, str], line: int = 0, page: int = 0, **settings: str
) -> tuple[str, ...]:
    chosen = Settings(open=OpenSettings(**settings))  # type: ignore[arg-type]
    return plan(str(path), how, settings=chosen, line=line, page=page, env=env).argv


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_text("one\ntwo\n", encoding="ascii")
    return path


def test_a_file_manager_of_the_terminal_shows_the_folder(tmp_path: Path) -> None:
    """`open.folder` names it, with the file to select or the folder; one with a window needs no terminal."""
    path = tmp_path / "two words.txt"

    def planned(template: str) -> tuple[tuple[str, ...], bool]:
        done = plan(str(path), "folder", settings=Settings(open=OpenSettings(folder=template)), env={})
        return done.argv, done.needs_terminal

    assert planned("yazi {path}") == (("yazi", str(path)), True)
    assert planned("mc -b {folder}") == (("mc", "-b", str(tmp_path)), True)
    assert planned("ranger") == (("ranger", str(tmp_path)), True)
    assert planned("nautilus --select {path}") == (("nautilus", "--select", str(path)), False)
    with pytest.raises(OpenError, match=r"open.folder: wanted \{path\} or \{folder\}, got \{line\}"):
        planned("nnn {line}")


def test_an_address_is_opened_by_the_system_alone(tmp_path: Path) -> None:
    """The profile's file may be gone; an editor gets the file; an address that is no web page is refused."""
    env = programs(tmp_path / "bin", "xdg-open")
    path = str(tmp_path / "places.sqlite")
    page = "https://example.org/a?b=1"
    assert plan(path, settings=Settings(), address=page, env=env).argv == ("xdg-open", page)
    with pytest.raises(OpenError, match="it is gone"):
        plan(path, "editor", settings=Settings(), address=page, env=env)
    with pytest.raises(
        OpenError, match=r"wanted an address of the web, or of a scheme in open\.addresses, got 'javascript:1'"
    ):
        plan(path, settings=Settings(), address="javascript:1", env=env)


@pytest.mark.parametrize(
    ("editor", "expected"),
    [
        ("vim", ["vim", "+7", "FILE"]),
        ("/usr/bin/nvim -u NONE", ["/usr/bin/nvim", "-u", "NONE", "+7", "FILE"]),
        ("nano", ["nano", "+7", "FILE"]),
        ("hx", ["hx", "FILE:7"]),
        ("code --wait", ["code", "--wait", "--goto", "FILE:7"]),
        ("kate", ["kate", "--line", "7", "FILE"]),
        ("an-unknown-editor", ["an-unknown-editor", "FILE"]),
    ],
)
def test_the_editor_is_told_the_line(file: Path, editor: str, expected: list[str]) -> None:
    """Each known editor gets the line in its own syntax, an unknown one just the file."""
    words = [word.replace("FILE", str(file)) for word in expected]
    assert list(argv(file, "editor", env={"EDITOR": editor}, line=7)) == words


def test_visual_wins_over_editor_and_the_setting_over_both(file: Path) -> None:
    """open.editor, then $VISUAL, then $EDITOR."""
    env = {"VISUAL": "vim", "EDITOR": "nano"}
    assert argv(file, "editor", env=env)[0] == "vim"
    assert argv(file, "editor", env=env, editor="micro {path}")[0] == "micro"


def test_editors_with_a_window_do_not_take_the_terminal(file: Path) -> None:
    """Only for a program in this terminal does the screen step aside."""
    for editor, needs_terminal in (("vim", True), ("code", False), ("unknown", True)):
        assert plan(str(file), "editor", settings=Settings(), env={"EDITOR": editor}).needs_terminal is needs_terminal


def test_the_pager_is_told_the_line(file: Path, tmp_path: Path) -> None:
    """$PAGER, else less, opens at the line."""
    env = programs(tmp_path / "bin", "less")
    assert argv(file, "pager", env=env, line=3) == ("less", "+3", str(file))
    assert argv(file, "pager", env={**env, "PAGER": "more"}) == ("more", str(file))


def test_placeholders_are_filled_after_the_command_was_split(tmp_path: Path) -> None:
    """A configured command keeps a name with blanks, quotes and braces as one argument."""
    path = tmp_path / "it's {page} here.txt"
    path.write_text("x", encoding="ascii")
    filled = argv(path, "editor", env={}, line=4, editor="'my editor' --at={line} {path}")
    assert filled == ("my editor", "--at=4", str(path))
    assert argv(path, "editor", env={}, editor="ed") == ("ed", str(path))
    with pytest.raises(OpenError, match=r"\{column\}"):
        argv(path, "editor", env={}, editor="ed {column} {path}")
    with pytest.raises(OpenError, match=r"open\.editor"):
        argv(path, "editor", env={}, editor="ed 'unclosed")


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("how", ["system", "editor", "pager"])
def test_no_name_can_be_taken_for_an_option_or_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, how: How
) -> None:
    """Any name arrives as one absolute path, even if it was given relative to the current folder."""
    (tmp_path / name).write_text("x", encoding="ascii")
    monkeypatch.chdir(tmp_path)
    env = {**programs(tmp_path / "bin", "xdg-open", "less"), "EDITOR": "vim"}
    assert argv(Path(name), how, env=env)[-1] == f"{tmp_path}/{name}"


def test_a_name_that_is_not_utf8_arrives_byte_for_byte(tmp_path: Path) -> None:
    """The started program gets the exact bytes of the name."""
    path = os.fsencode(tmp_path) + b"/caf\xe9"
    try:
        with open(path, "wb") as file:
            file.write(b"found")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    viewer = f"{sys.executable} -c 'import sys; sys.exit(open(sys.argv[1]).read() != \"found\")' {{path}}"
    settings = Settings(open=OpenSettings(editor=viewer))
    assert run(plan(os.fsdecode(path), "editor", settings=settings)) == 0


def test_a_pdf_opens_at_its_page_in_the_viewer_that_is_set(tmp_path: Path) -> None:
    """open.pdf gets the page; without it, and with no page, the system's opener gets the file."""
    path = tmp_path / "paper.PDF"
    path.write_bytes(b"%PDF-1.7")
    env = programs(tmp_path / "bin", "xdg-open")
    assert argv(path, "system", env=env, page=5, pdf="zathura -P {page} {path}") == ("zathura", "-P", "5", str(path))
    assert argv(path, "system", env=env) == ("xdg-open", str(path))


@pytest.mark.parametrize(
    ("player", "expected"),
    [("mpv", ["mpv", "--start=760"]), ("vlc", ["vlc", "--start-time=760"]), ("totem", ["xdg-open"])],
)
def test_a_recording_opens_at_its_moment_where_the_player_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, player: str, expected: list[str]
) -> None:
    """Page 153 is 12:40; a known player gets it; open.player wins; without a moment only the file is passed."""
    path = tmp_path / "memo.OGG"
    path.write_bytes(b"OggS")
    env = programs(tmp_path / "bin", "xdg-open", player)
    (tmp_path / "bin" / "xdg-mime").write_text(f"#!/bin/sh\necho {player}.desktop\n")
    (tmp_path / "bin" / "xdg-mime").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    assert list(argv(path, "system", env=env, page=153)) == [*expected, str(path)]
    assert argv(path, "system", env=env) == ("xdg-open", str(path))
    assert argv(path, "system", env=env, page=153, player="play {path} {seconds}") == ("play", str(path), "760")


def test_the_folder_of_a_file_opens_even_when_the_file_is_gone(tmp_path: Path) -> None:
    """`folder` names the containing folder; any other way needs the file."""
    env = programs(tmp_path / "bin", "xdg-open")
    assert argv(tmp_path / "gone.txt", "folder", env=env) == ("xdg-open", str(tmp_path))
    with pytest.raises(OpenError, match=r"gone\.txt: it is gone"):
        argv(tmp_path / "gone.txt", "system", env=env)
    with pytest.raises(OpenError, match=r"no graphical display to open a folder on; set open\.folder") as refused:
        argv(tmp_path / "gone.txt", "folder", env={"PATH": env["PATH"]})
    assert not isinstance(refused.value, NoDisplayError)  # for which the text would be shown instead


def test_without_a_display_text_opens_in_the_terminal(file: Path, tmp_path: Path) -> None:
    """Over SSH text goes to the editor or pager; what needs a window is refused with a remedy."""
    env = {"PATH": programs(tmp_path / "bin", "less", "xdg-open")["PATH"]}
    assert argv(file, "system", env=env) == ("less", str(file))
    assert argv(file, "system", env={**env, "EDITOR": "vim"}) == ("vim", str(file))
    pdf = tmp_path / "paper.pdf"
    pdf.write_bytes(b"%PDF-1.7")
    with pytest.raises(OpenError, match=r"graphical display.*open\.opener"):
        argv(pdf, "system", env=env)


def test_a_missing_program_says_what_to_set(file: Path, tmp_path: Path) -> None:
    """No opener, no editor, no pager: each error names the program and the setting."""
    env = programs(tmp_path / "bin")
    with pytest.raises(OpenError, match=r"xdg-open not found; set open\.opener"):
        argv(file, "system", env=env)
    with pytest.raises(OpenError, match=r"set \$EDITOR or open\.editor"):
        argv(file, "editor", env=env)
    with pytest.raises(OpenError, match=r"set \$PAGER or open\.pager"):
        argv(file, "pager", env=env)
    with pytest.raises(OpenError, match="cannot start"):
        run(plan(str(file), "editor", settings=Settings(open=OpenSettings(editor="no-such-program"))))


def test_a_detached_program_that_fails_at_once_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """xdg-open without a handler does not fail silently."""
    monkeypatch.setattr("app.external_programs.START_SECONDS", 60)
    with pytest.raises(OpenError, match="exit code 3"):
        run(Invocation((sys.executable, "-S", "-c", "raise SystemExit(3)"), needs_terminal=False))
    assert run(Invocation((sys.executable, "-S", "-c", "pass"), needs_terminal=False)) == 0


def test_a_program_in_the_terminal_gives_its_exit_code() -> None:
    """`run` waits for a program that takes the terminal."""
    assert run(Invocation((sys.executable, "-S", "-c", "raise SystemExit(7)"), needs_terminal=True)) == 7


def test_a_program_in_the_terminal_that_fails_after_a_second_opened_nothing() -> None:
    """A slow editor that fails to show the file counts as little as one that fails at once."""
    opened: list[str] = []
    code = "import time; time.sleep(1); raise SystemExit(1)"
    ran = run(Invocation((sys.executable, "-S", "-c", code), needs_terminal=True), opened=lambda: opened.append("open"))
    assert (ran, opened) == (1, [])


def test_an_interrupt_is_the_program_s_that_has_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a pager stops its search, not the pager nor this program; the file counts as opened."""
    monkeypatch.setattr("app.external_programs.TERMINAL_SECONDS", 0.3)
    os.mkfifo(stage := tmp_path / "stage")
    code = "import os, signal, sys; signal.alarm(300); open(sys.argv[1]).read(); os.kill(os.getppid(), signal.SIGINT)"
    code += "; raise SystemExit(5)"
    pager = Invocation((sys.executable, "-S", "-c", code, str(stage)), needs_terminal=True)
    assert run(pager, opened=lambda: stage.write_text("open")) == 5
