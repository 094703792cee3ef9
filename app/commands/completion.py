"""`foltr-search completion`: the script that completes commands, options and settings in a shell."""

from __future__ import annotations

import click

from app.commands.command import Command

EXAMPLES = """
foltr-search completion bash > ~/.local/share/bash-completion/completions/foltr-search
foltr-search completion zsh > ~/.zfunc/_foltr-search       with ~/.zfunc in $fpath
foltr-search completion fish > ~/.config/fish/completions/foltr-search.fish
"""

BASH = r"""# Words are offered together with folders, and `:`, `=` and `@` do not cut a word in two.
_foltr_search_completion() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" word kept answer kind value folder
    word="${line##*[[:space:]]}"
    kept=""
    [[ $word == *[@:=]* ]] && kept="${word%"${word##*[@:=]}"}"
    local words=() folders=()
    while IFS= read -r answer; do
        kind="${answer%%,*}" value="${answer#*,}"
        value="${value%%$'\t'*}"
        case $kind in
            plain) words+=("${value#"$kept"}") ;;
            dir) while read -r folder; do folders+=("$folder"); done < <(compgen -d -- "$word") ;;
            file) while read -r folder; do folders+=("$folder"); done < <(compgen -f -- "$word") ;;
        esac
    done < <(env _FOLTR_SEARCH_COMPLETE=fish_complete COMP_WORDS="$line" COMP_CWORD="$word" "$1" 2>/dev/null)
    if ((${#words[@]} == 0)); then
        ((${#folders[@]})) && compopt -o filenames
        COMPREPLY=("${folders[@]#"$kept"}")
        return
    fi
    COMPREPLY=("${words[@]}")
    for folder in "${folders[@]}"; do
        [[ -d $folder ]] && folder+=/
        printf -v folder %q "$folder"
        COMPREPLY+=("${folder#"$kept"}")
    done
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:=/] ]] && compopt -o nospace
}

complete -o nosort -F _foltr_search_completion foltr-search
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
    if shell == "bash":
        click.echo(BASH, nl=False)
        return 0
    root = ctx.find_root().command
    # click's source() runs the shell to check its version; the template alone needs no shell.
    completion = complete(root, {}, "foltr-search", "_FOLTR_SEARCH_COMPLETE")
    click.echo(completion.source_template % completion.source_vars())
    return 0
