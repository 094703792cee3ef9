"""`foltr-search completion`: the script that completes commands, options and settings in a shell."""

from __future__ import annotations

import click

from app.commands.command import Command

EXAMPLES = """
foltr-search completion bash > ~/.local/share/bash-completion/completions/foltr-search
foltr-search completion zsh > ~/.zfunc/_foltr-search       with ~/.zfunc in $fpath
foltr-search completion fish > ~/.config/fish/completions/foltr-search.fish
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the completion script for SHELL."""
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"no completion for {shell}")
    root = ctx.find_root().command
    # click's source() runs the shell to check its version; the template alone needs no shell.
    completion = complete(root, {}, "foltr-search", "_FOLTR_SEARCH_COMPLETE")
    click.echo(completion.source_template % completion.source_vars())
    return 0
