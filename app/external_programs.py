"""Handing a result over to the user's own programs: editor, pager, the system's opener, the containing folder.

Programs are started from an argument list and never through a shell, and a file is always named by its absolute path,
so no file name can be taken for an option or a command.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from msgspec import Struct

from app.settings import Settings
from console.durable import what_failed
from console.printable import display_path
from indexer.documents import SPAN

EDITOR_LINE: Mapping[str, str] = {
    **dict.fromkeys(
        ("vi", "vim", "nvim", "view", "vis", "gvim", "nvi", "elvis", "nano", "pico", "emacs", "emacsclient", "mg",
         "micro", "kak", "joe", "jed", "ne", "gedit", "pluma", "gnome-text-editor", "sensible-editor"),
        "+{line} {path}",
    ),
    **dict.fromkeys(("hx", "helix", "subl", "zed", "zeditor"), "{path}:{line}"),
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor"), "--goto {path}:{line}"),
    **dict.fromkeys(("kate", "kwrite", "mousepad", "idea", "pycharm"), "--line {line} {path}"),
    "notepad++": "-n{line} {path}",
}  # fmt: skip
"""The arguments by the editor's name."""

SCREEN_EDITORS = frozenset({
    "gvim", "gedit", "pluma", "gnome-text-editor", "subl", "zed", "zeditor", "code", "code-insiders", "codium",
    "cursor", "kate", "kwrite", "mousepad", "idea", "pycharm", "notepad", "notepad++",
})  # fmt: skip
"""Editors with a window of their own; any other is taken to need this terminal."""

PAGER_LINE: Mapping[str, str] = {
    **dict.fromkeys(("less", "more", "most"), "+{line} {path}"),
    **dict.fromkeys(("bat", "batcat"), "--paging=always --highlight-line {line} {path}"),
}

PDF_PAGE: Mapping[str, str] = {
    "zathura": "-P {page} {path}",
    **dict.fromkeys(("evince", "papers", "atril", "xreader"), "-i {page} {path}"),
    "okular": "-p {page} {path}",
    "qpdfview": "{path}#{page}",
    "sioyek": "--page {page} {path}",
    **dict.fromkeys(("mupdf", "xpdf"), "{path} {page}"),
}
"""The arguments by the viewer's name, which is also in the name of its desktop entry."""
PLAYER_START: Mapping[str, str] = {
    "mpv": "--start={seconds} {path}",
    "vlc": "--start-time={seconds} {path}",
    "celluloid": "--mpv-start={seconds} {path}",
}
"""The same of players."""

MAIL_SCREENS = frozenset({"mutt", "neomutt", "aerc", "alpine", "pine", "elm", "meli", "himalaya", "alot"})
"""mail programs that need this terminal"""

AS_THEY_ARE = frozenset({"text", "markdown", "source", "data", "calendar"})
"""types of document whose extracted text is the text of their file"""

FOLDER_SCREENS = frozenset({
    "yazi", "ranger", "nnn", "lf", "vifm", "mc", "broot", "joshuto", "xplr", "fff", "clifm", "superfile", "spf",
})  # fmt: skip
"""file managers that need this terminal"""

How = Literal["system", "editor", "pager", "folder"]

START_SECONDS = 0.3
"""How long a detached program is watched for an immediate failure; nobody waits longer."""
TERMINAL_SECONDS = 3.0
"""How long a program in the terminal must run to count as having opened something, however it ends after that."""


class OpenError(Exception):
    """A file could not be handed to a program; the message says what is missing and how to set it."""


class NoDisplayError(OpenError):
    """A file needs a graphical display, and there is none."""


class MachineError(OpenError):
    """Another machine of this person gave nothing useful; the message says why, in one line."""


class LooseMail(Struct, frozen=True):
    """What a mail program can be told about one mail."""

    path: str
    """a file that holds this mail alone"""
    mailbox: str
    """the Maildir or the mailbox that it lies in"""
    message_id: str
    """without brackets, "" where there is none"""


class Invocation(Struct, frozen=True):
    argv: tuple[str, ...]
    needs_terminal: bool
    """True: it takes over this terminal, and `run` waits for its end"""
    startfile: bool = False
    """True: `argv` is one path, for the Windows shell"""


def plan(
    path: str, how: How = "system", *, settings: Settings, line: int = 0, page: int = 0,
    mail: LooseMail | None = None, address: str = "", env: Mapping[str, str] | None = None,
) -> Invocation:  # fmt: skip
    """The program that opens `path`, at `line` or `page` (from 1; 0 for unknown) where it can be told to.

    With `mail`, `path` holds that mail, and the system opens the mail; with `address` it opens that web page.

    Raises OpenError where the file is gone or no program is found. May ask the desktop for its PDF viewer (a short
    child process), so a screen calls it from a worker.
    """
    env = os.environ if env is None else env
    if address and how == "system":
        return _plan_page(address, settings.open.addresses, env)
    target = str(Path(path).absolute())
    wanted = str(Path(target).parent) if how == "folder" else target
    if not os.path.lexists(wanted):
        raise OpenError(f"{display_path(wanted)}: it is gone")
    if mail is not None and how == "system":
        return _plan_mail(mail, settings, env)
    return _PLANNERS[how](_Target(target, line, page), settings, env)


def address_of(type_: str, properties: Sequence[tuple[str, str]]) -> str:
    """The address that opening a bookmark or a visited page means; "" for a document that is a file."""
    return next((value for name, value in properties if name == "url"), "") if type_ == "site" else ""


def is_plain(type_: str, part: str) -> bool:
    """Whether a document is a whole file of text, so that a line of its text is that line of the file."""
    return type_ in AS_THEY_ARE and not part


def run(command: Invocation, *, opened: Callable[[], object] = lambda: None) -> int:
    """Start a planned program and return its exit code; 0 for a detached one that does not fail at once.

    `opened` is called once it has run for a moment, or has ended well before that. Raises OpenError if it cannot be
    started, or is detached and fails at once.
    """
    if command.startfile:
        code = _startfile(command.argv[0])
        opened()
        return code
    detached = not command.needs_terminal
    stream = subprocess.DEVNULL if detached else None
    try:
        process = subprocess.Popen(command.argv, stdin=stream, stdout=stream, stderr=stream, start_new_session=detached)
    except OSError as error:
        raise OpenError(f"cannot start {display_path(command.argv[0])}: {error.strerror}") from error
    with nullcontext() if detached else _deaf_to_interrupts():
        try:
            code = process.wait(START_SECONDS if detached else TERMINAL_SECONDS)
        except subprocess.TimeoutExpired:
            if detached:
                threading.Thread(target=process.wait, daemon=True).start()  # or it would stay a zombie until we end
                opened()
                return 0
            try:
                opened()
            finally:
                code = process.wait()
            return code
    if code and detached:
        shown = display_path(shlex.join(command.argv))
        raise OpenError(f"{shown} failed with exit code {code}; set open.opener, or use the editor or pager")
    if not code:
        opened()
    return code


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Within the block Ctrl-C only reaches the other program: a pager, say, stops its search by it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Target(Struct, frozen=True):
    path: str
    line: int
    page: int

    def values(self) -> dict[str, str]:
        page = max(self.page, 1)
        return {"path": self.path, "line": str(max(self.line, 1)), "page": str(page), "seconds": str((page - 1) * SPAN)}


def _plan_system(target: _Target, settings: Settings, env: Mapping[str, str]) -> Invocation:
    from indexer.extract.kinds import TYPE_OF_KIND, kind_of  # loaded late, as few open files here

    type_ = TYPE_OF_KIND.get(kind_of(target.path) or "", "")
    template, known, media = {
        "pdf": (settings.open.pdf, PDF_PAGE, "application/pdf"),
        "audio": (settings.open.player, PLAYER_START, "audio/mpeg"),
        "video": (settings.open.player, PLAYER_START, "video/mp4"),
    }.get(type_, ("", {}, ""))
    if template:
        return Invocation(
            _fill(template, target, "open.pdf" if type_ == "pdf" else "open.player"), needs_terminal=False
        )
    if settings.open.opener:
        return Invocation(_fill(settings.open.opener, target, "open.opener"), needs_terminal=False)
    if sys.platform == "win32":
        return Invocation((target.path,), needs_terminal=False, startfile=True)
    if sys.platform == "darwin":
        return Invocation(("open", target.path), needs_terminal=False)
    if not _has_display(env, "BROWSER"):
        return _plan_without_display(target, settings, env)
    viewer = _viewer(known, media, env) if known and target.page > 1 else ""
    if viewer:
        return Invocation((viewer, *_fill(known[viewer], target, viewer)), needs_terminal=False)
    return Invocation((_found("xdg-open", env), target.path), needs_terminal=False)


def _has_display(env: Mapping[str, str], *others: str) -> bool:
    return any(env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", *others))


def _plan_mail(mail: LooseMail, settings: Settings, env: Mapping[str, str]) -> Invocation:
    if settings.open.mail:
        values = {"path": mail.path, "mailbox": mail.mailbox, "message_id": quote(mail.message_id, safe="@")}
        argv = _filled(settings.open.mail, values, "open.mail", last=mail.path)
        return Invocation(argv, needs_terminal=_program(argv[0]) in MAIL_SCREENS)
    if not (_has_display(env) or settings.open.opener or sys.platform in ("win32", "darwin")):
        raise NoDisplayError("there is no graphical display to open a mail on; set open.mail to a terminal program")
    return _plan_system(_Target(mail.path, 0, 0), settings, env)


def _plan_page(address: str, schemes: Sequence[str], env: Mapping[str, str]) -> Invocation:
    """What the desktop opens it with; an address neither of the web nor of one of `schemes` is refused."""
    if not re.match(r"https?://[^\s/]", address) and address.partition(":")[0] not in schemes:
        raise OpenError(f"wanted an address of the web, or of a scheme in open.addresses, got {address[:100]!r}")
    if sys.platform == "win32":
        return Invocation((address,), needs_terminal=False, startfile=True)
    if sys.platform == "darwin":
        return Invocation(("open", address), needs_terminal=False)
    if not _has_display(env, "BROWSER"):
        raise NoDisplayError(f"there is no graphical display to open it on: {display_path(address)}")
    return Invocation((_found("xdg-open", env), address), needs_terminal=False)


def _plan_without_display(target: _Target, settings: Settings, env: Mapping[str, str]) -> Invocation:
    """On a machine without a desktop (over SSH) text opens in the terminal; nothing else can be shown there."""
    try:
        with open(target.path, "rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise OpenError(what_failed(error)) from error
    if b"\0" in start or start.startswith(b"%PDF"):
        name = display_path(Path(target.path).name)
        raise NoDisplayError(
            f"{name}: there is no graphical display to open it on; set open.opener to a terminal program"
        )
    has_editor = bool(settings.open.editor or env.get("VISUAL") or env.get("EDITOR"))
    return (_plan_editor if has_editor else _plan_pager)(target, settings, env)


def _plan_editor(target: _Target, settings: Settings, env: Mapping[str, str]) -> Invocation:
    if settings.open.editor:
        argv = _fill(settings.open.editor, target, "open.editor")
        return Invocation(argv, needs_terminal=_program(argv[0]) not in SCREEN_EDITORS)
    words = _words(env.get("VISUAL") or env.get("EDITOR") or "", "$VISUAL")
    if not words:
        fallback = ("notepad",) if sys.platform == "win32" else ("sensible-editor", "vi", "nano")
        words = [_first_found(fallback, env, hint="set $EDITOR or open.editor")]
    program = _program(words[0])
    place = _fill(EDITOR_LINE[program], target, program) if target.line and program in EDITOR_LINE else (target.path,)
    return Invocation((*words, *place), needs_terminal=program not in SCREEN_EDITORS)


def _plan_pager(target: _Target, settings: Settings, env: Mapping[str, str]) -> Invocation:
    if settings.open.pager:
        return Invocation(_fill(settings.open.pager, target, "open.pager"), needs_terminal=True)
    words = _words(env.get("PAGER") or "", "$PAGER")
    words = words or [_first_found(("less", "more"), env, hint="set $PAGER or open.pager")]
    program = _program(words[0])
    place = _fill(PAGER_LINE[program], target, program) if target.line and program in PAGER_LINE else (target.path,)
    return Invocation((*words, *place), needs_terminal=True)


def _plan_folder(target: _Target, settings: Settings, env: Mapping[str, str]) -> Invocation:
    folder = str(Path(target.path).parent)
    if settings.open.folder:
        argv = _filled(settings.open.folder, {"path": target.path, "folder": folder}, "open.folder", last=folder)
        return Invocation(argv, needs_terminal=_program(argv[0]) in FOLDER_SCREENS)
    if sys.platform == "win32":
        return Invocation(("explorer", f"/select,{target.path}"), needs_terminal=False)
    if sys.platform == "darwin":
        return Invocation(("open", "-R", target.path), needs_terminal=False)
    if settings.open.opener:
        return Invocation(_fill(settings.open.opener, _Target(folder, 0, 0), "open.opener"), needs_terminal=False)
    if not _has_display(env):
        raise OpenError('there is no graphical display to open a folder on; set open.folder, as to "mc {folder}"')
    return Invocation((_found("xdg-open", env), folder), needs_terminal=False)


_PLANNERS: Mapping[str, Callable[[_Target, Settings, Mapping[str, str]], Invocation]] = {
    "system": _plan_system,
    "editor": _plan_editor,
    "pager": _plan_pager,
    "folder": _plan_folder,
}


def _fill(template: str, target: _Target, source: str) -> tuple[str, ...]:
    """The words of a command with its placeholders filled in; the path comes last where it has no place of its own.

    The words are split before they are filled, so blanks and quotes in a file name split nothing.
    """
    words = _filled(template, target.values(), source)
    return words if "{path}" in template else (*words, target.path)


def _filled(template: str, values: Mapping[str, str], source: str, *, last: str = "") -> tuple[str, ...]:
    """The words of a command with the placeholders of `values` filled in; OpenError for another one.

    `last` is appended to a command without any placeholder.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            *names, last = (f"{{{name}}}" for name in values)
            raise OpenError(f"{source}: wanted {', '.join(names)} or {last}, got {match[0]} in {template!r}")
        return values[match[1]]

    words = tuple(re.sub(r"\{(\w+)\}", value, word) for word in _words(template, source))
    return (*words, last) if last and not re.search(r"\{\w+\}", template) else words


def _words(command: str, source: str) -> list[str]:
    try:
        return shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise OpenError(f"{source}: wanted a command, got {command!r}: {error}") from error


def _program(word: str) -> str:
    return Path(word).name.lower().removesuffix(".exe").removesuffix(".cmd")


def _found(program: str, env: Mapping[str, str]) -> str:
    return _first_found((program,), env, hint="set open.opener, or use the editor or pager")


def _first_found(programs: tuple[str, ...], env: Mapping[str, str], *, hint: str) -> str:
    for program in programs:
        if shutil.which(program, path=env.get("PATH")):
            return program
    raise OpenError(f"{' and '.join(programs)} not found; {hint}")


def _viewer(known: Mapping[str, str], media: str, env: Mapping[str, str]) -> str:
    """The desktop's program for such files, if we know how to tell it a place, else ""."""
    try:
        answer = subprocess.run(("xdg-mime", "query", "default", media), capture_output=True, timeout=1, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    name = answer.stdout.decode("utf-8", "replace").strip().removesuffix(".desktop").lower()
    return next((v for v in known if v in name and shutil.which(v, path=env.get("PATH"))), "")


def _startfile(path: str) -> int:
    if sys.platform == "win32":
        try:
            os.startfile(path)
        except OSError as error:
            raise OpenError(f"{display_path(path)}: {error.strerror}") from error
        return 0
    raise OpenError(f"{display_path(path)}: the Windows shell is not on this system")
