"""`foltr-search config`: where the settings are, which are in force and from where, and whether they can be used."""

from __future__ import annotations

import os
from contextlib import suppress

import click

from app.commands.command import FAILED, Group, flags, load, say
from console.command_line import print_settings
from console.durable import create_durably

EXAMPLES = """
foltr-search config                       every setting, and where its value comes from
foltr-search config show learning         one table
foltr-search config edit                  open the file in your editor, then check it
foltr-search config default > "$(foltr-search config path)"
FOLTR_LEARNING__STRENGTH=0.5 foltr-search config show learning.strength
"""


@click.group(cls=Group, examples=EXAMPLES, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Show, check and edit the settings.

    Precedence: a flag (--set KEY=VALUE), then an environment variable (FOLTR_SECTION__KEY), then config.toml, then the
    default.
    """
    return 0 if ctx.invoked_subcommand else ctx.invoke(show)


@command.command("path", examples="foltr-search config path")
def path() -> int:
    """Print the path of config.toml, even if it does not exist yet."""
    from app.settings import Paths

    click.echo(Paths.from_environment().config_file)
    return 0


@command.command("show", examples="foltr-search config show index")
@click.argument("prefix", default="")
def show(prefix: str) -> int:
    """Print settings and where each value comes from; PREFIX limits it to one table or key."""
    from app.settings import SCHEME, resolve

    effective = resolve(load().paths, os.environ, flags=flags(click.get_current_context()))
    return print_settings(SCHEME, effective, prefix)


@command.command("check", examples="foltr-search config check && echo fine")
@click.pass_context
def check(ctx: click.Context) -> int:
    """Check config.toml and the environment, and list every problem (exit code 2)."""
    from app.settings import Paths, examine
    from app.tui.keys import problems_of
    from app.tui.themes import problem_of

    resolved, problems = examine(Paths.from_environment(), os.environ, flags=flags(ctx))
    screen = resolved.settings.screen
    every = [problem for problem in (*problems, *problems_of(screen.keys), problem_of(screen.theme)) if problem]
    for problem in every:
        say(problem)
    return FAILED if every else 0


@command.command("default", examples='foltr-search config default > "$(foltr-search config path)"')
def default() -> int:
    """Print the default file with comments."""
    from app.settings import SCHEME

    click.echo(SCHEME.default_file(), nl=False)
    return 0


@command.command("edit", examples="foltr-search config edit")
@click.pass_context
def edit(ctx: click.Context) -> int:
    """Open config.toml in your editor (created from the defaults if missing), then check it."""
    from app.external_programs import plan, run
    from app.settings import SCHEME, Paths, examine

    paths = Paths.from_environment()
    paths.config_dir.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        create_durably(paths.config_file, SCHEME.default_file().encode())
    settings = examine(paths, os.environ, flags=flags(ctx))[0].settings  # a broken file is what may need editing
    run(plan(str(paths.config_file), "editor", settings=settings))
    result: int = ctx.invoke(check)
    return result
