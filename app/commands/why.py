"""`foltr-search why`: is this file indexed, and if not, which rule, limit or error kept it out?"""

from __future__ import annotations

import click

from app.commands.command import FOUND, NOTHING_FOUND, Command, load, print_line, printed_path

EXAMPLES = """
foltr-search why ~/Documents/report.pdf
foltr-search why node_modules
foltr-search why ~/notes && echo 'it can be found'
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(readable=False))
def command(paths: tuple[str, ...]) -> int:
    """Say whether PATH is indexed, or what keeps it out.

    Exit code 0 if every PATH is indexed, 1 if one is not.
    """
    from app.data_folder import create_data_folder
    from app.following.indexing import why

    if "" in paths:
        raise click.UsageError("wanted a PATH, got an empty text")
    context = load()
    create_data_folder(context.paths)
    answers = [why(context.settings, context.paths, path) for path in paths]
    for answer in answers:
        print_line(f"{printed_path(answer.path)}: {answer.status}")
        for line in answer.lines:
            click.echo(f"  {line}")
    return FOUND if all(answer.findable or answer.status == "folder" for answer in answers) else NOTHING_FOUND
