"""How a command asks the resident process, if there is one, and prints its answer.

Whatever goes wrong before the first byte is printed, the command works alone: an answer comes whole or not at all.
"""

from __future__ import annotations

import os
import sys

from app.resident import protocol
from app.resident.local_socket import AVAILABLE, MAX_ANSWER, LineError, call, index_socket_path, socket_path
from app.standard_folders import data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.resident.local_socket import LocalLine

COMMANDS = frozenset({"search", "open", "why"})
"""first words that the resident process may answer"""

BEGIN_SECONDS = 0.5
"""to wait until the resident process begins a question, before working alone: a stopped process never begins"""
SECONDS = 5.0
"""to wait for the answer after that"""


def answered(arguments: Sequence[str]) -> int | None:
    """The exit code, when the resident process has answered this command line; None: work alone."""
    folders = folders_to_index(arguments) if AVAILABLE else None
    if folders is not None:
        is_here = os.environ.get("FOLTR_DEBUG") or not all(map(os.path.isdir, folders))
        return None if is_here else _indexed(arguments)
    if not AVAILABLE or not is_brief(arguments, os.environ) or os.environ.get("FOLTR_DEBUG"):
        return None
    try:
        answer = ask(socket_path(data_folder(os.environ)), protocol.question(protocol.RUN, arguments))
        parts = list(protocol.parts(answer))
    except (LineError, OSError, ValueError):
        return None
    return _printed(parts)


def _record(told: Sequence[str]) -> None:
    """Record an opening, now that its program has started: the resident process could not know that it would."""
    from contextlib import suppress

    with suppress(LineError, OSError, ValueError):
        answer = ask(socket_path(data_folder(os.environ)), protocol.question(protocol.RUN, told))
        if any(kind == protocol.CODE for kind, _ in protocol.parts(answer)):
            return
    from app import cli

    cli.main(told)


def is_brief(arguments: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Whether this is a command that the resident process may answer, or what a shell asks at a press of Tab."""
    return bool(variables.get("_FOLTR_SEARCH_COMPLETE")) or (bool(arguments) and arguments[0] in COMMANDS)


def ask(path: str, question: bytes, *, seconds: float = SECONDS) -> bytes:
    """The answer of the process that listens at `path`; LineError or OSError when none came."""
    if not os.path.exists(path):
        raise LineError("no resident process")
    line = call(path, seconds=BEGIN_SECONDS)
    try:
        line.send(question)
        try:
            line.receive(0)
        except TimeoutError as error:
            raise LineError("the resident process does not answer: it is stopped, or busy") from error
        line.connection.settimeout(seconds)
        return line.receive(MAX_ANSWER)
    finally:
        line.close()


QUIET = frozenset({"-q", "--quiet"})


def folders_to_index(arguments: Sequence[str]) -> list[str] | None:
    """The folders that `index` is to add before it looks for what changed; None when anything else is asked for."""
    if not arguments or arguments[0] != "index":
        return None
    folders = [one for one in arguments[1:] if one not in QUIET]
    return None if any(one.startswith(("-", "~")) for one in folders) else folders


def _indexed(arguments: Sequence[str]) -> int | None:
    """The exit code of `index`, when the process that follows changes has done its work; None: work alone."""
    try:
        line = call(index_socket_path(data_folder(os.environ)), seconds=BEGIN_SECONDS)
    except (LineError, OSError):
        return None
    try:
        line.send(protocol.question(protocol.RUN, arguments))
        line.receive(0)  # a stopped process never begins
        line.connection.settimeout(None)
        return _followed(line)
    except (LineError, OSError, ValueError):
        return None
    finally:
        line.close()


def _followed(line: LocalLine) -> int | None:
    """Print what comes until the exit code; the first interrupt asks for an early end, the second stops waiting."""
    import signal

    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        line.send(b"")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        while True:
            for kind, content in protocol.parts(line.receive(MAX_ANSWER)):
                if kind == protocol.ERR:
                    _write(2, content)
                else:
                    return int(content) if kind == protocol.CODE else None
    except (LineError, OSError):
        if asked:
            return 130
        if sys.stderr.isatty():
            _write(2, b"\r\x1b[J")  # erases its last progress line
        return None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def standing(data_dir: str) -> str:
    """The state of a data folder's resident process, in one line; "" where there is none."""
    try:
        answer = ask(socket_path(data_dir), protocol.question(protocol.STATUS))
        return b"".join(content for kind, content in protocol.parts(answer) if kind == protocol.OUT).decode()
    except (LineError, OSError, ValueError):
        return ""


def _printed(parts: Sequence[tuple[bytes, bytes]]) -> int | None:
    kinds = [kind for kind, _ in parts]
    if protocol.ALONE in kinds or protocol.CODE not in kinds:
        return None
    code = 0
    try:
        for kind, content in parts:
            if kind in (protocol.OUT, protocol.ERR):
                _write(1 if kind == protocol.OUT else 2, content)
            elif kind == protocol.CODE:
                code = int(content)
            elif kind == protocol.PROGRAM:
                return _run(content)
    except BrokenPipeError:  # the reader has seen enough (`| head`)
        return 0
    return code


def _write(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _run(program: bytes) -> int:
    """Start the program that opens a file: from here, as it needs this terminal, display and session."""
    from app.commands.command import FAILED, error_line, say
    from app.commands.open import run_prepared
    from app.document_to_open import Prepared
    from app.external_programs import Invocation, OpenError

    needs_terminal, n, *words = map(os.fsdecode, program.split(b"\0"))
    told, argv = words[: int(n)], words[int(n) :]
    try:
        command = Invocation(tuple(argv), needs_terminal=needs_terminal == "1")
        return run_prepared(Prepared(command), opened=lambda: _record(told) if told else None)
    except OpenError as error:
        say(error_line(error))
        return FAILED
