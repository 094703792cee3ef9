"""The clipboard: by the program that the desktop or tmux has for it, else by an escape sequence to the terminal.

A program gets the very bytes on its stdin, never through a shell. On a machine reached by SSH the programs of its own
desktop are not used, as its clipboard is not the user's; X11 is used there if it is forwarded.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

from msgspec import Struct

SECONDS = 3.0
"""after which a program is given up; those that must stay to serve the text go on in the background by themselves"""


class Copier(Struct, frozen=True):
    """A program that takes text on stdin into a clipboard."""

    argv: tuple[str, ...]
    encoding: str = ""
    """the encoding that it wants on stdin; "" for the bytes as they are"""
    note: str = ""
    """where the text is then, in a person's words"""


WL_COPY = Copier(("wl-copy",))
XCLIP = Copier(("xclip", "-selection", "clipboard", "-in"))
XSEL = Copier(("xsel", "--clipboard", "--input"))
PBCOPY = Copier(("pbcopy",))
TERMUX = Copier(("termux-clipboard-set",))
CLIP = Copier(("clip.exe",), encoding="utf-16")
TMUX = Copier(("tmux", "load-buffer", "-w", "-"), note="tmux's buffer, which passes it on to the terminal")


def copiers(env: Mapping[str, str], platform: str = sys.platform) -> list[Copier]:
    """The programs that may reach the user's clipboard here, the best first."""
    is_remote = bool(env.get("SSH_CONNECTION") or env.get("SSH_TTY"))
    reach = (
        (TERMUX, env.get("TERMUX_VERSION")),
        (WL_COPY, env.get("WAYLAND_DISPLAY") and not is_remote),
        (XCLIP, env.get("DISPLAY")),
        (XSEL, env.get("DISPLAY")),
        (PBCOPY, platform == "darwin" and not is_remote),
        (CLIP, platform == "win32" or env.get("WSL_DISTRO_NAME")),
        (TMUX, env.get("TMUX")),
    )
    return [copier for copier, is_there in reach if is_there]


def copy(text: str, env: Mapping[str, str] | None = None) -> str:
    """Give the text to the first program that takes it; returns what took it, in a person's words, "" if none did.

    It waits for the program, so a screen calls it in a worker.
    """
    env = os.environ if env is None else env
    for copier in copiers(env):
        program = shutil.which(copier.argv[0], path=env.get("PATH"))
        data = text.encode(copier.encoding, "replace") if copier.encoding else os.fsencode(text)
        if program is not None and _takes((program, *copier.argv[1:]), data, env):
            return copier.note or copier.argv[0]
    return ""


def _takes(argv: tuple[str, ...], data: bytes, env: Mapping[str, str]) -> bool:
    """Whether the program ended well; what it holds open afterwards is not waited for."""
    try:
        done = subprocess.run(
            argv, input=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False,
            env=dict(env),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def terminal_sequence(text: str, env: Mapping[str, str] | None = None) -> str:
    """OSC 52, which asks the terminal to take the text; inside tmux and screen also wrapped for the outer terminal."""
    env = os.environ if env is None else env
    plain = f"\x1b]52;c;{base64.b64encode(os.fsencode(text)).decode('ascii')}\a"
    inside = env.get("TERM", "")
    if env.get("TMUX") or inside.startswith("tmux"):
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if env.get("STY") or inside.startswith("screen"):
        return plain + "\x1bP" + plain + "\x1b\\"
    return plain
