"""`foltr-search man`: the manual page, made from the commands themselves so that it always tells what they do."""

from __future__ import annotations

import click

from app.commands.command import Command
from console.command_line import manual_page

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
an error; one line on standard error says what was expected and what came
.TP
.B 3
the group's server did not answer; trying again later may help
.TP
.B 130
interrupted; what was done so far is kept
.SH ENVIRONMENT
.TP
.B FOLTR_CONFIG_DIR, FOLTR_DATA_DIR
the folders of the settings, and of the index and what was learned
.TP
.B FOLTR_SECTION__KEY
any setting, as in FOLTR_INDEX__WORKERS=2
.TP
.B FOLTR_DEBUG
if 1, errors show where they happened
.TP
.B NO_COLOR
no colours
.TP
.B VISUAL, EDITOR, PAGER
the programs that open a result, if the settings name none
.SH FILES
.TP
.I ~/.config/foltr-search/config.toml
the settings; \fBfoltr-search config path\fR prints where it is on this system
.TP
.I ~/.local/share/foltr-search/
the index, the catalogue and what was learned; only its owner can read it
.SH PRIVACY
Nothing leaves the device unless you turn it on: a group (\fBjoin\fR, \fBsync\fR; \fBprivacy\fR lists it),
\fBdevices\fR, or \fBsearch \-\-on\fR.
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Print the manual page (roff)."""
    click.echo(page(ctx.find_root()), nl=False)
    return 0


def page(root: click.Context) -> str:
    """The manual page of the whole program."""
    synopsis = [r"\fBfoltr-search\fR [\fIFOLDER\fR]", ".br", r"\fBfoltr-search\fR \fICOMMAND\fR [\fIARGS\fR]..."]
    return manual_page(root, "search your own files from the terminal, ranked by what you open", synopsis) + _TAIL
