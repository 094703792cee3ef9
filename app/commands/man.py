"""`foltr-search man`: the manual page, made from the commands themselves so that it always tells what they do."""

from __future__ import annotations

import click

from app.commands.command import Command
from console.command_line import manual_page

EXAMPLES = """
foltr-search man | man -l -
foltr-search man > ~/.local/share/man/man1/foltr-search.1
"""

_SECTIONS: dict[str, str | dict[str, str]] = {
    "EXIT STATUS": {
        "0": "found, or done",
        "1": "nothing was found",
        "2": "an error; one line on standard error says what was expected and what was found instead",
        "3": "the group's server did not answer; trying again later may help",
        "130": "interrupted; what was done so far is kept",
    },
    "ENVIRONMENT": {
        "FOLTR_CONFIG_DIR, FOLTR_DATA_DIR": "the folders of the settings, and of the index and what was learned",
        "FOLTR_SECTION__KEY": "any setting, as in FOLTR_INDEX__WORKERS=2",
        "FOLTR_DEBUG": "if 1, errors show where they happened",
        "NO_COLOR": "no colours",
        "VISUAL, EDITOR, PAGER": "the programs that open a result, if the settings name none",
    },
    "FILES": {
        "~/.config/foltr-search/config.toml": (
            r"the settings; \fBfoltr-search config path\fR prints where it is on this system"
        ),
        "~/.local/share/foltr-search/": "the index, the catalogue and what was learned; only its owner can read it",
    },
    "PRIVACY": (
        r"Nothing leaves the device unless you turn it on: a group (\fBjoin\fR, \fBsync\fR; \fBprivacy\fR lists it), "
        r"\fBdevices\fR, or \fBsearch \-\-on\fR."
    ),
}


@click.command(cls=Command, examples=EXAMPLES)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Print the manual page (roff)."""
    click.echo(page(ctx.find_root()), nl=False)
    return 0


def page(root: click.Context) -> str:
    """The manual page of the whole program."""
    synopsis = [r"\fBfoltr-search\fR [\fIFOLDER\fR]", ".br", r"\fBfoltr-search\fR \fICOMMAND\fR [\fIARGS\fR]..."]
    return manual_page(root, "search your own files from the terminal, ranked by what you open", synopsis, _SECTIONS)
