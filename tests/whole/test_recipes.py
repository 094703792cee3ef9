"""docs/recipes.md: each block as it stands there, on a real index, with the other programs where they are installed."""

from __future__ import annotations

import configparser
import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import make_device

if TYPE_CHECKING:
    from tests.app.conftest import Device

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
BLOCKS = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S))
"""By the name of the file that each goes into."""
PATIENCE = 60.0
"""seconds in which a busy machine answers"""


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Device:
    """Somebody who has put every block of the page into a file, and has foltr-search on the PATH."""
    device = make_device(tmp_path_factory.mktemp("user"))
    device.index()
    folder = device.home / "bin"
    folder.mkdir()
    (folder / "foltr-search").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m app "$@"\n')
    for name, text in BLOCKS.items():
        (folder / name).write_text(text)
    for path in folder.iterdir():
        path.chmod(0o755)
    return device


def environment(user: Device, **more: str) -> dict[str, str]:
    return user.environment(PATH=f"{user.home / 'bin'}{os.pathsep}{os.environ['PATH']}", TERM="xterm", **more)


def run(user: Device, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment(user, **more), cwd=user.home, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL, timeout=PATIENCE,
    )  # fmt: skip


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def kingfisher(user: Device) -> str:
    return str(user.notes / "birds" / "kingfisher.md")


def choose(user: Device, command: str, *, shows: str) -> None:
    """Run a command in a terminal, and press Enter once it shows this."""
    pid, end = pty.fork()
    if pid == 0:
        os.chdir(user.home)
        os.execve("/bin/sh", ["/bin/sh", "-c", command], environment(user))
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 240, 0, 0))
    seen, until, chosen = "", time.monotonic() + PATIENCE, False
    while True:
        assert time.monotonic() < until, seen
        if select.select([end], [], [], 0.2)[0]:
            try:
                part = os.read(end, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not part:
                break
            seen += part.decode(errors="replace")
        if shows in seen and not chosen:
            chosen = True
            os.write(end, b"\r")
    os.close(end)
    os.waitpid(pid, 0)


def test_every_block_is_known_to_a_test() -> None:
    """A new recipe needs a test here."""
    assert set(BLOCKS) == {
        "foltr-files", "foltr.vim", "foltr.lua", "foltr.el", "consult.el", "keymap.toml", "documents.toml",
        "rofi-foltr-search", "foltr-search.desktop", "tmux.conf", "lines",
    }  # fmt: skip


def test_fzf_asks_again_and_prints_what_was_chosen(user: Device) -> None:
    """The first query is on the command line; Enter takes the row."""
    needs("fzf")
    choose(user, f"foltr-files kingfisher dives > {user.home}/chosen", shows="kingfisher.md")
    assert (user.home / "chosen").read_text() == kingfisher(user) + "\n"


def test_what_fzf_asks_answers_without_it(user: Device) -> None:
    """The command of the recipe, with a query in place of {q}."""
    (find,) = re.findall(r'^find="(.*)"$', BLOCKS["foltr-files"], re.M)
    asked = run(user, "sh", "-c", find.replace("{q}", "'kingfisher dives'"))
    assert (asked.stdout.split("\0")[0], asked.returncode) == (kingfisher(user), 0)
    nothing = run(user, "sh", "-c", find.replace("{q}", "''"))
    assert (nothing.stdout, nothing.returncode) == ("", 0)


def quickfix(user: Device, *command: str) -> list[str]:
    out = user.home / "quickfix"
    out.unlink(missing_ok=True)
    listing = 'map(getqflist(), \'fnamemodify(bufname(v:val.bufnr), ":p") . ":" . v:val.lnum . ":" . v:val.col\')'
    run(user, *command, "-c", f"call writefile({listing}, '{out}')", "-c", "qa!")
    return out.read_text().splitlines()


def test_vim_fills_its_quickfix_list(user: Device) -> None:
    """:grep goes through the settings of the recipe."""
    needs("vim")
    if "+quickfix" not in run(user, "vim", "--version").stdout:
        pytest.skip("this vim has no quickfix list")
    script = str(user.home / "bin" / "foltr.vim")
    found = quickfix(user, "vim", "-u", "NONE", "-es", "-S", script, "-c", "silent grep! kingfisher dives unheard")
    assert f"{kingfisher(user)}:3:5" in found
    assert all(line.startswith(str(user.notes)) for line in found)  # what is said on stderr is no entry


def test_neovim_has_a_command(user: Device) -> None:
    """:Find takes several words as one query."""
    needs("nvim")
    script = str(user.home / "bin" / "foltr.lua")
    found = quickfix(user, "nvim", "--headless", "-u", "NONE", "-S", script, "-c", "Find kingfisher dives unheard")
    assert f"{kingfisher(user)}:3:5" in found
    assert all(line.startswith(str(user.notes)) for line in found)


def test_emacs_shows_matches_as_of_grep(user: Device) -> None:
    """The next error is the first match."""
    needs("emacs")
    asked = """(let ((buffer (foltr-search "kingfisher dives")))
      (while (get-buffer-process buffer) (accept-process-output nil 0.1))
      (set-buffer buffer) (next-error)
      (dolist (one (buffer-list))
        (when (buffer-file-name one)
          (with-current-buffer one (princ (format "%s:%d\\n" (buffer-file-name) (line-number-at-pos)))))))"""
    done = run(user, "emacs", "-Q", "--batch", "-l", str(user.home / "bin" / "foltr.el"), "--eval", asked)
    assert done.stdout.startswith(str(user.notes)), done.stderr
    assert re.fullmatch(r".*\.(md|txt):[1-3]", done.stdout.strip())


def test_what_consult_asks_has_the_form_of_grep_with_nul(user: Device) -> None:
    """Path, NUL, line, colon, text; and the block can be read by emacs."""
    (words,) = re.findall(r'\(list ("foltr-search".*?) input\)', BLOCKS["consult.el"])
    command = [word.replace("\\\\", "\\") for word in shlex.split(words.replace("\\\\", "\\\\\\\\"))]
    done = run(user, *command, "kingfisher dives")
    assert re.match(rf"{re.escape(kingfisher(user))}\0[0-9]+:.*kingfisher", done.stdout), done
    if shutil.which("emacs"):
        read = run(user, "emacs", "-Q", "--batch", "-l", str(user.home / "bin" / "consult.el"))
        assert read.returncode == 0, read.stderr


def test_yazi_reveals_what_was_chosen(user: Device) -> None:
    """The command of the key, with a `ya` that writes down what it was told."""
    (key,) = tomllib.loads(BLOCKS["keymap.toml"])["mgr"]["prepend_keymap"]
    command = key["run"].removeprefix("shell --block -- ")
    assert command != key["run"]
    needs("fzf")
    told = user.home / "told"
    (user.home / "bin" / "ya").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {told}\n')
    (user.home / "bin" / "ya").chmod(0o755)
    choose(user, command.replace("foltr-files", "foltr-files kingfisher dives"), shows="kingfisher.md")
    assert told.read_text().splitlines() == ["emit", "reveal", kingfisher(user)]


def test_a_television_channel_lists_the_newest_documents(user: Device) -> None:
    """Its source is a command of the shell that prints a path on each line."""
    channel: Mapping[str, Mapping[str, str]] = tomllib.loads(BLOCKS["documents.toml"])
    done = run(user, "sh", "-c", channel["source"]["command"])
    assert set(done.stdout.splitlines()) == {str(path) for path in user.notes.rglob("*") if path.is_file()}
    preview = channel["preview"]["command"].replace("{}", kingfisher(user))
    assert "dives for fish" in run(user, "sh", "-c", preview).stdout


def test_rofi_lists_and_opens(user: Device) -> None:
    """By the states of rofi's script mode: 0 at first, 2 for typed text, 1 for a row with its info."""
    assert run(user, "rofi-foltr-search", ROFI_RETV="0").stdout == "\0prompt\x1fFind\n"
    listed = run(user, "rofi-foltr-search", "kingfisher dives", ROFI_RETV="2").stdout.splitlines()
    assert listed[0] == f"kingfisher.md  ({user.notes / 'birds'})\0info\x1f{kingfisher(user)}"
    log = user.home / "opened"
    (user.home / "bin" / "record").write_text(f'#!/bin/sh\nprintf "%s" "$1" > {log}.new && mv {log}.new {log}\n')
    (user.home / "bin" / "record").chmod(0o755)
    chosen = {"ROFI_RETV": "1", "ROFI_INFO": kingfisher(user), "FOLTR_OPEN__EDITOR": "record {path}"}
    assert (
        run(user, "rofi-foltr-search", listed[0].split("\0")[0], FOLTR_OPEN__ENTER="editor", **chosen).returncode == 0
    )
    assert log.read_text() == kingfisher(user)


def test_the_launcher_is_a_desktop_entry(user: Device) -> None:
    """It starts the program in a terminal; the desktop's own checker agrees where it is installed."""
    entry = configparser.ConfigParser(interpolation=None)
    entry.optionxform = str  # type: ignore[method-assign, assignment]
    entry.read_string(BLOCKS["foltr-search.desktop"])
    assert dict(entry["Desktop Entry"]) | {"Comment": ""} == {
        "Type": "Application", "Name": "foltr-search", "Comment": "", "Exec": "foltr-search", "Terminal": "true",
        "Categories": "Utility;", "Keywords": "search;find;documents;",
    }  # fmt: skip
    if shutil.which("desktop-file-validate"):
        checked = run(user, "desktop-file-validate", str(user.home / "bin" / "foltr-search.desktop"))
        assert (checked.returncode, checked.stdout) == (0, "")


def test_tmux_takes_the_key(user: Device) -> None:
    """The line is read by a server of its own, which then knows the key."""
    needs("tmux")
    socket = str(user.home / "tmux.socket")
    conf = str(user.home / "bin" / "tmux.conf")
    try:
        started = run(user, "tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "sleep 60")
        assert started.returncode == 0, started.stderr
        assert run(user, "tmux", "-S", socket, "source-file", conf).stderr == ""
        keys = run(user, "tmux", "-S", socket, "list-keys", "-T", "prefix", "f").stdout
        assert "display-popup -E" in keys
        assert keys.rstrip().endswith("foltr-search")
    finally:
        run(user, "tmux", "-S", socket, "kill-server")


def test_lines_of_the_files_that_answer(user: Device) -> None:
    """Every line of them that has the word."""
    done = run(user, "sh", str(user.home / "bin" / "lines"), "kingfisher")
    assert f"{kingfisher(user)}:3:The kingfisher dives for fish. It nests in river banks." in done.stdout.splitlines()
