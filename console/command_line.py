"""The shared parts of all command lines: commands by name, examples, exit codes, one line for an error, and
a manual page in roff's man macros, made from the commands.

stdout carries results only. FOLTR_DEBUG=1 shows the traceback of an error.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from console.standard_streams import open_missing, show_everything

if TYPE_CHECKING:
    from types import FrameType

    from console.configuration import Effective, Scheme

FOUND = 0
NOTHING_FOUND = 1
FAILED = 2
INTERRUPTED = 130
"""128 + SIGINT, as a shell reports it"""


class CommandWithExamples(click.Command):
    """A command whose help ends with example command lines exactly as written, not re-wrapped."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # click leaves it out where an option lacks its value
            raise

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if self.examples:
            formatter.write("\nExamples:\n")
            formatter.write("".join(f"  {line}\n" for line in self.examples.strip().splitlines()))


class CommandsInFull(click.Group):
    """A group that lists each command with its whole first sentence; click would cut it at the end of the line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(400)) for name, one in named if one and not one.hidden])


class CommandsByName(CommandsInFull):
    """A program whose commands are modules; imported only when one is asked for."""

    modules: Mapping[str, str] = {}
    """command name -> `MODULE:NAME`, or a module, whose command is its `command`"""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module, _, name = self.modules.get(cmd_name, "").partition(":")
        return vars(importlib.import_module(module))[name or "command"] if module else None


def run(
    command: click.Command,
    arguments: Sequence[str] | None,
    *,
    program: str,
    describe: Callable[[Exception], str | None],
) -> int:
    """Run one command line and return its exit code; only an unknown error leaves this function as an exception.

    `describe` gives one line for an error, None for one whose traceback should be shown.
    """
    open_missing()
    show_everything()
    out = sys.stdout
    try:
        code = command.main(
            args=list(sys.argv[1:] if arguments is None else arguments), prog_name=program, standalone_mode=False
        )
        sys.stdout.flush()
    except click.ClickException as error:
        _say(program, _usage(error, program))
        return FAILED
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and sys.stdout is out:
            raise  # click answers a broken pipe by wrapping stdout and exiting with 1; this is another exit
        _forget_unwritten(out)  # the reader has seen enough (`| head`)
        return 0
    except Exception as error:
        message = None if os.environ.get("FOLTR_DEBUG") else describe(error)
        if message is None:
            raise
        _say(program, message)
        try:
            out.flush()
        except OSError:  # a full disk, say, which exiting would report again
            _forget_unwritten(out)
        return FAILED
    return code if isinstance(code, int) else 0


def _forget_unwritten(out: TextIO) -> None:
    """Send what is still buffered to /dev/null, so that exiting stays quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


@contextmanager
def heard_interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C also sets: numpy turns a KeyboardInterrupt during a comparison into its own TypeError.

    An error after Ctrl-C becomes a KeyboardInterrupt. Does nothing where SIGINT is ignored, or in another thread.
    """
    heard = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield heard
        return
    then = before

    def hear(number: int, frame: FrameType | None) -> None:
        heard.set()
        then(number, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    except Exception as error:
        if heard.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def print_settings(scheme: Scheme[Any], effective: Effective[Any], prefix: str) -> int:
    """Print the settings in force with their sources; UsageError where none begins with `prefix`."""
    lines = list(scheme.listing(effective, prefix))
    if not lines:
        raise click.UsageError(f"no setting `{prefix}`; {scheme.nearest(prefix)}")
    click.echo("\n".join(lines))
    return FOUND


def _say(program: str, message: str) -> None:
    """One diagnostic line, on stderr."""
    click.echo(f"{program.split()[0]}: {message}", err=True)


def _usage(error: click.ClickException, program: str) -> str:
    """One line for an invalid command line: what was wrong, and where to look up what is right."""
    message = " ".join(error.format_message().split()).removesuffix(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None or program in message:
        return message
    return f"{message}; see `{context.command_path} --help`"


def manual_page(
    root: click.Context, purpose: str, synopsis: Sequence[str], sections: Mapping[str, str | Mapping[str, str]]
) -> str:
    """The page of a program; `synopsis` and the `sections` after its commands (texts, or terms with texts) are roff."""
    program, name = root.command, str(root.info_name)
    lines = [f'.TH {name.upper()} 1 "" "{name}" "User Commands"', ".SH NAME", rf"{name} \- {purpose}"]
    lines += [".SH SYNOPSIS", *synopsis, ".SH DESCRIPTION", *_text(program.help or ""), *_options(program, root)]
    lines += [".SH COMMANDS", *_commands(program, root)]
    for heading, content in sections.items():
        lines.append(f".SH {heading}")
        if isinstance(content, str):
            lines.append(content)
        else:
            for term, text in content.items():
                lines += [".TP", f"{'.I' if heading == 'FILES' else '.B'} {term}", text]
    return "\n".join([*lines, ""])


def _commands(group: click.Command, ctx: click.Context) -> Iterator[str]:
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(ctx):
        found = group.get_command(ctx, name)
        if found is None or found.hidden:
            continue
        inner = click.Context(found, parent=ctx, info_name=name)
        usage = " ".join(found.collect_usage_pieces(inner))
        yield f".SS {_escape(inner.command_path.partition(' ')[2])} {_escape(usage)}"
        yield from _text(found.help or "")
        yield from _options(found, inner)
        if isinstance(found, CommandWithExamples) and found.examples:
            yield from (".PP", "Examples:", ".PP", ".nf", ".RS 2")
            yield from (_escape(line) for line in found.examples.strip().splitlines())
            yield from (".RE", ".fi")
        yield from _commands(found, inner)


def _options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        is_everywhere = {"--help", "--set"} & set(parameter.opts) and ctx.parent is not None
        if record and isinstance(parameter, click.Option) and not is_everywhere:
            yield from (".TP", rf"\fB{_escape(record[0])}\fR", _escape(record[1]))


def _text(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        yield ".PP"
        yield _escape(" ".join(paragraph.split()))


def _escape(text: str) -> str:
    """Text escaped so that roff prints it as it is: escape characters, hyphens, lines that begin like a macro."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + escaped if escaped.startswith((".", "'")) else escaped
