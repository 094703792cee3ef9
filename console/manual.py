"""A program's manual page in roff's man macros, made from its commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from console.command_line import CommandWithExamples


def manual_page(root: click.Context, purpose: str, synopsis: Sequence[str]) -> str:
    """The page up to its commands; `synopsis` is in roff."""
    program, name = root.command, str(root.info_name)
    lines = [f'.TH {name.upper()} 1 "" "{name}" "User Commands"', ".SH NAME", rf"{name} \- {purpose}"]
    lines += [".SH SYNOPSIS", *synopsis, ".SH DESCRIPTION", *_text(program.help or ""), *_options(program, root)]
    return "\n".join([*lines, ".SH COMMANDS", *_commands(program, root)])


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
    """Text that roff prints as it is: its escape character, its hyphens, and lines that begin like a macro."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + escaped if escaped.startswith((".", "'")) else escaped
