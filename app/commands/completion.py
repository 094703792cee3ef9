"""`foltr-search completion`: the script that completes commands, options and settings in a shell, and what it offers.

Folders that are indexed, days, words of a query, saved searches: each is asked at a press of Tab, reads one small file
or table, and what cannot be read offers nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

import click

from app.commands.command import Command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def remembered_folders(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The folders that `index FOLDER` remembered, for `--forget`."""
    from app.chosen_folders import remembered_roots
    from app.settings import Paths, SettingsError
    from console.wording import short_path

    try:
        roots = remembered_roots(Paths.from_environment())
    except SettingsError:
        return []
    named = map(short_path, roots) if incomplete.startswith("~") else roots
    return _items(root for root in named if root.startswith(incomplete))


def kept_days(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The days of which a version of the model is kept, newest first, for `model reset --to`."""
    from app.learning.model_versions import days
    from app.settings import Paths, Settings
    from app.store import Store
    from foltr.errors import FoltrError

    paths = Paths.from_environment()
    found: list[str] = []
    try:
        if paths.state.exists():
            ranker = Settings.load(paths).learning.ranker
            with Store(paths.state, writable=False) as store:
                found = [str(day) for day in reversed(days(store, ranker, today=date.today()))]
    except (FoltrError, sqlite3.Error, OSError):
        found = []
    return _items(day for day in ("yesterday", *found) if day.startswith(incomplete))


def saved_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of saved searches, with or without their @ as they are typed."""
    from app.search.saved import SavedError, SavedSearches
    from app.settings import Paths

    sign = "@" if incomplete.startswith("@") else ""
    try:
        names = list(SavedSearches(Paths.from_environment().saved).all())
    except SavedError:
        return []
    return _items(sign + name for name in names if name.startswith(incomplete.removeprefix("@")))


def query_words(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The fields of a query, behind `type:` the types, behind @ the saved searches."""
    if incomplete.startswith("@"):
        return saved_names(ctx, parameter, incomplete)
    from indexer.documents import TYPES
    from indexer.query.parse import FILTER_NAMES, TEXT_NAMES

    field, colon, value = incomplete.partition(":")
    if colon:
        known = TYPES if field in ("type", "kind") else ()
        return _items(f"{field}:{name}" for name in known if name.startswith(value))
    names = dict.fromkeys((*TEXT_NAMES.values(), *FILTER_NAMES))
    return _items(f"{name}:" for name in names if name.startswith(incomplete)) if incomplete else []


def _items(values: Iterable[str]) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(value) for value in values]


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
AS_WRITTEN = {
    "zsh": ('"$key":"$descr"', r'"$key":"${descr//\\/\\\\}"'),  # _describe drops a backslash
    "fish": ('split "," $', 'split -m 1 "," $'),
}
"""what click's script loses of an answer, by shell: a piece of it and what takes its place"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the completion script for SHELL."""
    from click.shell_completion import FishComplete, ZshComplete

    if shell == "bash":
        click.echo(BASH, nl=False)
        return 0
    complete = ZshComplete if shell == "zsh" else FishComplete
    # click's source() runs the shell to check its version; the template alone needs no shell.
    completion = complete(ctx.find_root().command, {}, "foltr-search", "_FOLTR_SEARCH_COMPLETE")
    click.echo((completion.source_template % completion.source_vars()).replace(*AS_WRITTEN[shell]))
    return 0
