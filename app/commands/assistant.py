"""`foltr-search assistant`: which assistants may ask this program, about what, and what they asked."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import closing
from pathlib import Path

import click

from app.assistants.configurations import ASSISTANTS, Configuration, ConfigurationError
from app.commands.command import FOUND, NOTHING_FOUND, Group, TypedPath, ask, load, print_json, printed_path, say
from app.data_folder import ASSISTANT
from app.standard_folders import home_folder
from console.printable import safe_line

EXAMPLES = """
foltr-search assistant                                 list assistants, and what each may see
foltr-search assistant install claude-code ~/Notes     shows the change first, then asks
foltr-search assistant install cursor ~/src --learn    also learn a separate ranking
foltr-search assistant log cursor                      what it asked and got
foltr-search assistant remove cursor
"""


class _Name(click.Choice[str]):
    """One whose configuration is known; of requests that are kept also one that `mcp --as` named."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        by_hand = ctx is not None and ctx.info_name in ("log", "reset") and re.fullmatch(ASSISTANT, value)
        if value not in ASSISTANTS and not by_hand:
            self.fail(f"wanted one of {', '.join(ASSISTANTS)}, got {value!r}; set up others by hand, by their manual")
        return value


_name = click.argument("name", type=_Name(list(ASSISTANTS)), metavar="NAME")
_yes = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group(cls=Group, examples=EXAMPLES, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Let AI assistants search folders you name, see what they asked, and revoke it."""
    return 0 if ctx.invoked_subcommand else ctx.invoke(list_)


@command.command("list", examples="foltr-search assistant list")
def list_() -> int:
    """List the assistants that may search: name, folders, requests, and whether each one learns."""
    from console.wording import count

    n_listed = 0
    for name, configuration in ASSISTANTS.items():
        try:
            started = configuration.command(_home())
        except ConfigurationError as error:
            say(str(error))
            continue
        if started:
            n_listed += 1
            folders = started[started.index("--") + 1 :] if "--" in started else started[1:]
            learns = "learns" if "--learn" in started else "does not learn"
            click.echo(f"{name}\t{count(_n_requests(name), 'request')}\t{learns}\t{' '.join(folders)}")
    if not n_listed:
        say(f"no assistant has access; add {', '.join(ASSISTANTS)} by foltr-search assistant install NAME FOLDER...")
    return FOUND if n_listed else NOTHING_FOUND


@command.command("install", examples="foltr-search assistant install claude-code ~/Notes ~/Documents/manuals")
@_name
@click.argument("folders", nargs=-1, required=True, type=TypedPath(exists=True, file_okay=False, resolve_path=True))
@click.option("--learn", is_flag=True, help="Learn a separate ranking from what it fetches; yours never changes.")
@_yes
def install(name: str, folders: tuple[str, ...], learn: bool, yes: bool) -> int:
    """Let the assistant NAME search and read the indexed documents in FOLDER..., and nothing else.

    This adds one entry to its configuration, or replaces the old one. You see the change before it is written.
    """
    if odd := [folder for folder in folders if re.search("[\x00-\x1f\x7f\ud800-\udfff]", folder)]:
        raise click.UsageError(f"wanted a folder whose name is text, got {safe_line(repr(odd[0]))}")
    options = ["--as", name, *(["--learn"] if learn else [])]
    started = [*_own_command(), "mcp", *options, "--", *folders]
    text = ASSISTANTS[name].with_entry(_home(), started)
    return _exchange(ASSISTANTS[name], text, "restart the assistant to use it", yes=yes)


@command.command("remove", examples="foltr-search assistant remove cursor")
@_name
@_yes
def remove(name: str, yes: bool) -> int:
    """Remove this program from the configuration of the assistant NAME. Its log stays; `reset` deletes it."""
    text = ASSISTANTS[name].without_entry(_home())
    return _exchange(ASSISTANTS[name], text, "restart the assistant: until then it can still search", yes=yes)


@command.command("log", examples="foltr-search assistant log cursor --limit 20")
@_name
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Show at most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line (docs/json-output.md).")
def log(name: str, limit: int, as_json: bool) -> int:
    """Show what the assistant NAME asked and which documents it got, newest first.

    Documents that are no longer indexed are only counted.
    """
    from app.assistants.request_log import Requests
    from app.commands.model import opened
    from app.learning.pick_keys import load_key
    from console.wording import count, iso_minute
    from indexer.storage.catalogue import Catalogue

    if not _n_requests(name):
        say(f"{name} has asked nothing")
        return NOTHING_FOUND
    paths = load().paths
    with opened(assistant=name) as search:
        requests = Requests(search.store, load_key(paths.key, search.store))
        newest = list(requests.newest(limit))
        with closing(Catalogue.open(paths.catalogue)) as catalogue:
            known = requests.names(list(catalogue.documents(catalogue.doc_ids()).values()))
    for request in newest:
        given = [f"{known[one].path}#{known[one].part}".rstrip("#") for one in request.given if one in known]
        n_gone = len(request.given) - len(given)
        if as_json:
            told = {"time": request.time, "tool": request.tool, "query": request.query, "given": given, "gone": n_gone}
            print_json(told)
            continue
        click.echo(f"{iso_minute(request.time)}  {request.tool}  {safe_line(request.query)}".rstrip())
        for path in given:
            click.echo(f"    {printed_path(path)}")
        if n_gone:
            click.echo(f"    {count(n_gone, 'document')} not indexed any more")
    return FOUND


@command.command("reset", examples="foltr-search assistant reset cursor --yes")
@_name
@_yes
def reset(name: str, yes: bool) -> int:
    """Delete the log of the assistant NAME and what was learned from it."""
    from app.commands.model import forget_everything, opened

    ask(f"Delete the log of {name} and what was learned from it?", yes=yes)
    with opened(to_change=True, assistant=name) as search:
        forget_everything(search)
        search.store.erase("requests")
    say(f"deleted the log of {name} and what was learned from it")
    return 0


def _home() -> Path:
    return Path(home_folder())


def _own_command() -> list[str]:
    """How this program is started from anywhere."""
    program = shutil.which(sys.argv[0]) or shutil.which("foltr-search")
    named = Path(program).name if program else ""
    return [os.path.abspath(program)] if program and named == "foltr-search" else [sys.executable, "-m", "app"]


def _exchange(configuration: Configuration, text: str, afterwards: str, *, yes: bool) -> int:
    """Show what will change in a configuration, ask, and write it."""
    import difflib

    path, before = configuration.path(_home()), configuration.text(_home())
    if text == before:
        say(f"{path} was not changed")
        return 0
    for line in difflib.unified_diff(before.splitlines(), text.splitlines(), str(path), str(path), lineterm=""):
        click.echo(line, err=True)
    ask("Write this?", yes=yes)
    configuration.write(_home(), text)
    say(f"wrote {path}; {afterwards}")
    return 0


def _n_requests(name: str) -> int:
    import msgspec

    from app.assistants.request_log import count_requests
    from app.store import Store

    path = msgspec.structs.replace(load().paths, assistant=name).state
    if not path.exists():
        return 0
    with Store(path) as store:
        return count_requests(store)
