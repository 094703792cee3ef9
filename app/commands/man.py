"""`foltr-search man`: the manual page, made from the commands themselves so that it always tells what they do."""

from __future__ import annotations

from collections.abc import Iterator

import click

from app.commands.command import Command, Group

EXAMPLES = """
foltr-search man | man -l -
foltr-search man > ~/.local/share/man/man1/foltr-search.1
"""

_TAIL = r"""
.SH EXIT STATUS
.TP
.B 0
found, or done
.TP
.B 1
nothing was found
.TP
.B 2
an error; one line on standard error says what was wanted and what came
.TP
.B 3
the group's server did not answer; trying again later may help
.TP
.B 130
interrupted; what was done so far is kept
.SH ENVIRONMENT
.TP
.B FOLTR_CONFIG_DIR, FOLTR_DATA_DIR
the folders of the settings and of the index and what was learned
.TP
.B FOLTR_SECTION__KEY
any setting, as in FOLTR_INDEX__WORKERS=2
.TP
.B FOLTR_DEBUG
set to 1, an error shows where it happened
.TP
.B NO_COLOR
no colours
.TP
.B VISUAL, EDITOR, PAGER
the programs that open a result, where the settings name none
.SH FILES
.TP
.I ~/.config/foltr-search/config.toml
the settings; \fBfoltr-search config path\fR prints where it is on this system
.TP
.I ~/.local/share/foltr-search/
the index, the catalogue and what was learned; only its owner can read it
.SH PRIVACY
Nothing leaves the device: no command opens a network connection.
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Print the manual page (roff)."""
    click.echo(page(ctx.find_root()), nl=False)
    return 0


def page(root: click.Context) -> str:
    """The manual page of the whole program, in roff's man macros."""
    program = root.command
    lines = ['.TH FOLTR-SEARCH 1 "" "foltr-search" "User Commands"', ".SH NAME"]
    lines += [r"foltr-search \- search your own files from the terminal, ranked by what you open"]
    lines += [".SH SYNOPSIS", r"\fBfoltr-search\fR [\fIFOLDER\fR]", ".br"]
    lines += [r"\fBfoltr-search\fR \fICOMMAND\fR [\fIARGS\fR]...", ".SH DESCRIPTION", *_text(program.help or "")]
    lines += _options(program, root)
    lines += [".SH COMMANDS", *_commands(program, root)]
    return "\n".join(lines) + _TAIL


def _commands(group: click.Command, ctx: click.Context) -> Iterator[str]:
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(ctx):
        found = group.get_command(ctx, name)
        if found is None or found.hidden:
            continue
        inner = click.Context(found, parent=ctx, info_name=name)
        usage = " ".join(found.collect_usage_pieces(inner))
        yield f".SS {_escape(inner.command_path.removeprefix('foltr-search '))} {_escape(usage)}"
        yield from _text(found.help or "")
        yield from _options(found, inner)
        if isinstance(found, (Command, Group)) and found.examples:
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
