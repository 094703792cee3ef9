"""What every command shares: `--set`, examples under its help, the settings in force, exit codes and interruption.

Importing a command loads click and nothing heavier; each imports what it works with inside its function, so that
`--help`, `--version` and completion answer at once. The first Ctrl-C (or SIGTERM) asks long work to stop, the second
one ends it at once. A group's server that is not there is an exit code of its own.

A path reaches a program by its very bytes, a terminal as it can show it. `--paths0` and JSON allow line ends in it.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from console.command_line import FAILED as FAILED
from console.command_line import FOUND as FOUND
from console.command_line import INTERRUPTED as INTERRUPTED
from console.command_line import NOTHING_FOUND as NOTHING_FOUND
from console.command_line import CommandsInFull, CommandWithExamples
from console.printable import display_path, safe_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from app.settings import Paths, Settings
    from app.store import Store


NAME = "foltr-search"
_FLAGS = "foltr.flags"
_THREADS = "OPENBLAS_NUM_THREADS"
_F = TypeVar("_F", bound=Callable[..., Any])


class Command(CommandWithExamples):
    """A command that takes `--set`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["--set", "assignments"],
                multiple=True,
                metavar="KEY=VALUE",
                help="Override one setting, as in --set index.workers=2; may be repeated.",
                callback=_remember_assignments,
                expose_value=False,
                shell_complete=_complete_key,
            )
        )


class Group(Command, CommandsInFull):
    """A command with subcommands, as `config`."""

    command_class = Command
    group_class = type


class Context(Struct, frozen=True):
    """What a command works with."""

    settings: Settings
    paths: Paths


class TypedPath(click.Path):
    """A path as somebody types it: with ~ where no shell has replaced it, and accents other than those on the disk."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from app.paths import as_spelt

        return super().convert(value if os.path.lexists(value) else as_spelt(os.path.expanduser(value)), param, ctx)


def setting_option(*names: str, key: str, **attributes: Any) -> Callable[[_F], _F]:
    """A named flag for one setting, equal to `--set key=value`."""

    def remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value is not None:
            flags(ctx)[key] = str(value).lower() if isinstance(value, bool) else str(value)

    return click.option(*names, callback=remember, expose_value=False, default=None, **attributes)


def flags(ctx: click.Context) -> MutableMapping[str, str]:
    """The settings that this command line overrides, by dotted key."""
    found: MutableMapping[str, str] = ctx.meta.setdefault(_FLAGS, {})
    return found


def load() -> Context:
    """The folders and the settings in force for this run; raises SettingsError."""
    from app.data_folder import make_private
    from app.settings import Paths, Settings

    paths = Paths.from_environment()
    make_private(paths)
    return Context(Settings.load(paths, os.environ, flags=flags(click.get_current_context())), paths)


def load_numpy() -> None:
    """Load numpy for one question at a time: threads of its linear algebra cost more than they save, and on a busy
    machine forty times the encoder of other languages."""
    kept = os.environ.get(_THREADS)
    os.environ[_THREADS] = kept or "1"
    try:
        import numpy  # noqa: F401
    finally:
        if kept is None:
            del os.environ[_THREADS]


def wants_colour(choice: str) -> bool:
    """Whether stdout gets colour: as chosen, else on a terminal unless NO_COLOR is set (no-color.org)."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(message: str) -> None:
    """One diagnostic line, on stderr: stdout carries results only. It may quote what was typed or pasted."""
    click.echo(safe_text(f"foltr-search: {message}"), err=True)


def ask(question: str, *, yes: bool = False) -> None:
    """Go on if the user says so, or has said so already; else click.Abort."""
    if not yes:
        click.confirm(question, abort=True, err=True)


def error_line(error: Exception) -> str:
    """One line for a person: the message of our own errors, with its kind for any other."""
    import sqlite3

    from app.external_programs import OpenError
    from app.settings import SettingsError
    from console.durable import what_failed
    from foltr.errors import FoltrError
    from indexer.errors import IndexDamaged, IndexerError

    message = without_codes(display_path(" ".join(str(error).split())))  # it may quote a server, or a file
    if isinstance(error, IndexDamaged) and f"`{NAME} " not in message:
        return f"{message}; `{NAME} index` rebuilds it, and what was learned stays"
    if isinstance(error, (FoltrError, IndexerError, OpenError, SettingsError)):
        return message
    if isinstance(error, sqlite3.Error):
        return f"database: {message}; `{NAME} doctor` looks for the cause"
    if isinstance(error, OSError) and error.strerror:
        return what_failed(error)
    return f"unexpected {type(error).__name__}: {message} (FOLTR_DEBUG=1 shows where)"


_CODE = re.compile(r"(?<![^\W_])(?:[^\W_]{4}(?:[\s-][^\W_]{4}){7}|[^\W_]{32})(?![^\W_])")
"""what may be a code by which a person's computers join each other, in groups or in one"""


def without_codes(message: str) -> str:
    """An error that shows no code, wherever one was typed: it opens everything that the computers exchange."""
    return _CODE.sub(lambda found: "(a code)" if _is_code(found[0]) else found[0], message)


def _is_code(text: str) -> bool:
    """Whether it looks like one, be it mistyped; in small letters, as names of groups are, it must be one."""
    from app.devices.device_keys import from_code
    from app.devices.sealing import DevicesError

    try:
        return len(text) > 32 or text.isupper() or bool(from_code(text))
    except DevicesError:
        return False


def _remember_assignments(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    for assignment in values:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise click.BadParameter(f"wanted KEY=VALUE, got {assignment!r}", ctx, parameter)
        flags(ctx)[name.strip()] = value


def _complete_key(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from app.settings import SCHEME

    keys = SCHEME.keys.items()
    return [CompletionItem(f"{name}=", help=key.description) for name, key in keys if incomplete in name]


UNREACHABLE = 3
"""the server did not answer, or is busy: trying again later may help"""


@contextmanager
def state_of_member(
    without_server: str = "", *, moved: str = "", meets_first: bool = True, is_read: bool = False
) -> Iterator[tuple[Store, Settings]]:
    """The device's state, for what concerns its group; without an answer UNREACHABLE, and a line of what to do.
    If it is only read, the data folder need not be writable."""
    from app.data_folder import create_data_folder
    from app.federation.failures import MOVED, Unreachable
    from app.store import Store

    context = load()
    create_data_folder(context.paths)
    told = exchange(context) if meets_first else ""
    try:
        with (Store.for_searching if is_read else Store)(context.paths.state) as store:
            yield store, context.settings
            exchange(context, told)
    except Unreachable as error:
        advice = [f"no answer from {error}; nothing is lost, try again later", without_server, moved or MOVED]
        say("; ".join(filter(None, advice)))
        raise click.exceptions.Exit(UNREACHABLE) from error


def exchange(context: Context, told: str = "") -> str:
    """Meet the other devices of this person, where there are any; says what stood in its way, unless it was told."""
    if not context.paths.device_keys.exists():
        return ""
    from app.devices.own_devices import meet_quietly

    if (trouble := meet_quietly(context.paths, context.settings)) not in ("", told):
        say(trouble)
    return trouble


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """An event that the first interrupt sets, so that what was done is kept; the second raises KeyboardInterrupt."""
    stop = threading.Event()

    def ask(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def printed_path(path: str) -> str:
    """On a terminal without control and direction characters, else what stdout writes as the path's very bytes."""
    if sys.stdout.isatty():
        return display_path(path)
    try:
        return os.fsencode(path).decode(sys.stdout.encoding or "utf-8", "surrogateescape")
    except UnicodeDecodeError:  # of an encoding that has not a letter for each byte
        return path


def print_line(line: str) -> None:
    """One line on stdout as it is: left alone, click would take what looks like colour out of a name in a pipe."""
    click.echo(line, color=True)


def print_json(record: Mapping[str, Any]) -> None:
    """One line of JSON: UTF-8 in any encoding of stdout, escaped if it holds no text or what a terminal obeys."""
    import json

    line = json.dumps(record, ensure_ascii=False)
    safe = display_path(line) if sys.stdout.isatty() else line.encode(errors="ignore").decode()
    is_plain = (sys.stdout.encoding or "utf-8").lower() == "utf-8" and line == safe
    print_line(line if is_plain else json.dumps(record))
