"""The clipboard: real programs on PATH that record what they get, and a real tmux."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from app.clipboard import copiers, copy, terminal_sequence

TEXT = os.fsdecode(b"/home/anna/caf\xe9.txt")
"""a path that is not UTF-8"""


def _programs(folder: Path, *names: str, code: int = 0) -> dict[str, str]:
    """Programs that keep their arguments and their stdin beside them; the environment that has them."""
    folder.mkdir(exist_ok=True)
    for name in names:
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "$@" > "{program}.arguments"\ncat > "{program}.stdin"\nexit {code}\n')
        program.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("variables", "program", "arguments"),
    [
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "wl-copy", ""),
        ({"DISPLAY": ":0"}, "xclip", "-selection clipboard -in"),
        ({"TMUX": "/tmp/tmux,1,0"}, "tmux", "load-buffer -w -"),
        ({"TERMUX_VERSION": "0.118"}, "termux-clipboard-set", ""),
        ({"WAYLAND_DISPLAY": "wayland-0", "SSH_TTY": "/dev/pts/1", "TMUX": "x"}, "tmux", "load-buffer -w -"),
    ],
)
def test_the_very_bytes_reach_the_program_of_the_place(
    tmp_path: Path, variables: dict[str, str], program: str, arguments: str
) -> None:
    """With all of them installed, the environment decides which one reaches the user."""
    env = _programs(tmp_path / "bin", "wl-copy", "xclip", "xsel", "tmux", "termux-clipboard-set")
    assert copy(TEXT, {**env, **variables}) == (
        "tmux's buffer, which passes it on to the terminal" if program == "tmux" else program
    )
    assert (tmp_path / "bin" / f"{program}.stdin").read_bytes() == os.fsencode(TEXT)
    assert (tmp_path / "bin" / f"{program}.arguments").read_text().strip() == arguments
    assert len(list((tmp_path / "bin").glob("*.stdin"))) == 1


def test_a_program_that_fails_makes_room_for_the_next(tmp_path: Path) -> None:
    """If xclip fails without a display, xsel is tried; if all fail, nothing was copied."""
    env = {**_programs(tmp_path / "bin", "xclip", code=1), "DISPLAY": ":0"}
    assert copy("a", env) == ""
    _programs(tmp_path / "bin", "xsel")
    assert copy("a", env) == "xsel"


def test_nothing_is_started_where_nothing_can_take_it(tmp_path: Path) -> None:
    """A plain terminal over SSH has no such program, a Mac has pbcopy, Windows clip.exe."""
    assert copiers({"SSH_CONNECTION": "x"}, "linux") == []
    assert [one.argv[0] for one in copiers({}, "darwin")] == ["pbcopy"]
    assert [one.argv[0] for one in copiers({}, "win32")] == ["clip.exe"]


def test_the_sequence_is_wrapped_for_what_stands_between() -> None:
    """base64 of the bytes; tmux gets each Escape doubled within the wrapping, screen does not."""
    plain = f"\x1b]52;c;{base64.b64encode(os.fsencode(TEXT)).decode()}\x07"
    assert terminal_sequence(TEXT, {"TERM": "xterm"}) == plain
    assert terminal_sequence(TEXT, {"TERM": "tmux-256color"}) == f"{plain}\x1bPtmux;\x1b{plain}\x1b\\"
    assert terminal_sequence(TEXT, {"TERM": "screen"}) == f"{plain}\x1bP{plain}\x1b\\"


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_tmux_has_it_in_its_buffer(tmp_path: Path) -> None:
    """In a separate server with tmux's defaults, what was copied inside can be pasted."""
    name, done = f"foltr-{uuid.uuid4().hex}", tmp_path / "done"
    env = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY", "TMUX")}
    code = "import sys; from app.clipboard import copy; open(sys.argv[1], 'w').write(copy('a heron'))"
    tmux = ["tmux", "-L", name, "-f", "/dev/null"]
    inside = f'{sys.executable} -c "{code}" {done}; tmux wait-for -S copied; sleep 30'
    try:
        subprocess.run([*tmux, "new-session", "-d", inside], env=env, check=True)
        subprocess.run([*tmux, "wait-for", "copied"], env=env, check=True, timeout=120)
        shown = subprocess.run([*tmux, "show-buffer"], env=env, capture_output=True, text=True, check=True)
        assert (shown.stdout, done.read_text()[:13]) == ("a heron", "tmux's buffer")
    finally:
        subprocess.run([*tmux, "kill-server"], env=env, check=False)
