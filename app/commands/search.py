"""`foltr-search search`: results on stdout, anything else on stderr."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import structs

from app.commands.command import (
    FAILED,
    FOUND,
    NOTHING_FOUND,
    Command,
    Context,
    load,
    load_numpy,
    print_json,
    print_line,
    say,
    setting_option,
    wants_colour,
)
from app.commands.completion import query_words
from app.search.results import ORDERS
from console.printable import safe_line
from console.wording import columns, count

if TYPE_CHECKING:
    from app.paths import Paths
    from app.search.results import Hit, ResultPage
    from app.search.search import Search
    from indexer.query.nodes import Problem

EXAMPLES = """
foltr-search search tax return 2024
foltr-search search '"annual report" ext:pdf modified:last-week'
foltr-search search 'from:anna type:mail -newsletter'
foltr-search search report --json | jq -r .title
foltr-search search draft --paths0 | xargs -0 ls -l
foltr-search search todo --format '{rank}\\t{path}\\t{snippet}'
foltr-search search invoice --order modified -n 3
foltr-search search TODO --vimgrep          path:line:column:text, for editors
foltr-search search report --explain        why each result ranks where it does
foltr-search search --like 2 type:pdf       what is like result 2 of the last search
foltr-search search --on desk,nas report    also other machines, over ssh
"""


def nothing_indexed(paths: Paths) -> str:
    """What to say where no document is searched: who is about to index them, or how it is done."""
    from indexer.storage.index import lock_holder

    if writer := lock_holder(paths.index):
        return f"nothing can be searched yet; indexing is under way: {writer}"
    return "nothing is indexed yet; to begin: `foltr-search index FOLDER`"


class SearchCommand(Command):
    """Words that begin with one `-` belong to the query; what begins with two is an option, but behind a bare `--`.

    `-n N` alone is an option of one letter; -news leaves out a word.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = args[: args.index("--")] if "--" in args else list(args)
        takes_value = {
            name for p in self.get_params(ctx) if isinstance(p, click.Option) and not p.is_flag for name in p.opts
        }
        for i, word in enumerate(options):
            if (i == 0 or options[i - 1] not in takes_value) and (short := re.fullmatch(r"-n([0-9]*)", word)):
                options[i] = f"--limit={short[1]}" if short[1] else "--limit"
        args = options + args[len(options) :]
        rest = super().parse_args(ctx, ["--help"] if args == ["-h"] else args)
        for word in ctx.params.get("query") or ():
            if word.startswith("--") and word in options:
                hint = f"; to search for it: foltr-search search -- {word}"
                raise click.NoSuchOption(word, f"No such option: {word}{hint}", ctx=ctx)
        return rest


@click.command(
    cls=SearchCommand,
    examples=EXAMPLES,
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
)
@click.argument("query", nargs=-1, shell_complete=query_words)
@click.option("--like", metavar="N|PATH", help="Search for documents like result N of the last search, or this file.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), metavar="N", help="Print at most N results (also -n N); default: one page."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line (docs/json-output.md).")
@click.option("--paths0", is_flag=True, help="Paths only, each ended by a NUL byte, for xargs -0.")
@click.option("--format", "template", metavar="TEXT", help=r"One line per result, as in '{rank}\t{path}'.")
@click.option("--vimgrep", is_flag=True, help="One line per match: path:line:column:text, for editors.")
@click.option("--order", type=click.Choice(ORDERS), default="learned", help="Default: learned.")
@click.option("--no-explore", is_flag=True, help="Never reorder close results at random.")
@click.option("--as-typed", is_flag=True, help="Do not correct spelling.")
@click.option("--explain", is_flag=True, help="Say why each result ranks where it does.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="always: even in a pipe.")
@setting_option("--on", key="devices.ask", metavar="NAME,NAME", help="Also search these computers, over ssh.")
@setting_option("--strength", key="learning.strength", type=float, metavar="S", help="Effect of learning, 0-2.")
def command(query: tuple[str, ...], **options: Any) -> int:
    """Print the documents that match QUERY, best first.

    Documents with more of the words come first. To narrow the search: "a phrase", AND, OR, NOT or -word, ( ), prefix*,
    title: path: name: from: dir: ext: type: lang: modified: and size:. The only one-letter option is -n N; to exclude
    the word n, write '... -n' in quotes, or after --. Exit code 0: found, 1: nothing found, 2: an error.
    """
    if sum((options["as_json"], options["paths0"], options["vimgrep"], options["template"] is not None)) > 1:
        raise click.UsageError("wanted only one of --json, --paths0, --vimgrep and --format")
    if options["explain"] and (options["paths0"] or options["vimgrep"] or options["template"] is not None):
        raise click.UsageError("--explain works with the ordinary output or --json only")
    if options["template"] is not None:
        from app.commands.results_text import fields_of

        fields_of(options["template"])
    text = " ".join(query)
    if not (text.strip() or options["like"]):
        say("the query is empty; see `foltr-search search --help`")
        return FAILED
    return _answer(load(), text, options)


def _answer(context: Context, text: str, options: dict[str, Any]) -> int:
    load_numpy()
    from app.resident.on_behalf import only_alone, search_for_command
    from app.search.results import SearchRequest
    from app.store import SearchHistory
    from indexer.errors import IndexDamaged

    limit = options["limit"] or context.settings.search.page_size
    request = SearchRequest(
        text=text,
        order=options["order"],
        limit=max(limit, context.settings.search.limit),  # as the screen asks, so that both give the same order
        explore=not options["no_explore"],
        as_typed=options["as_typed"],
        on=tuple(context.settings.devices.ask),
    )
    if request.on:
        only_alone()  # ssh wants the agent of who asks, and nobody else should wait for another machine
    with search_for_command(context.settings, context.paths) as search:
        if options["like"]:
            if search.trouble:
                raise IndexDamaged(search.trouble)
            text = f"{_words_like(search, options['like'])} {text}".strip()
            request = structs.replace(request, text=text)
        page = search.search(request)
        kept = search.keep(page)  # for `open N`
        if not search.unkept:
            SearchHistory(search.store, context.settings.history).add(text, now=time.time())
        hits = page.hits[:limit]
        if search.trouble:
            raise IndexDamaged(search.trouble)
        say_about(page, context.paths)
        search.keep_places(kept, _print(search, page, hits=hits, options=options))
        if sys.stdout.isatty():
            documents = count(page.n_documents, "document")
            say(f"{len(hits)} of {matches_of(page)} in {documents}, {page.seconds * 1000:.0f} ms")
        if search.unkept:
            say(search.unkept)
    _start_on_demand(context)
    return FOUND if hits else NOTHING_FOUND


def _words_like(search: Search, target: str) -> str:
    """What to search for to find documents like this result or file; click.UsageError where that cannot be told."""
    from app.commands.open import find_target
    from app.likeness import query_like
    from app.search.shown_page import load_shown

    row = find_target(search, search.catalogue, load_shown(search.store), target)[1]
    if words := query_like(search, row) if row is not None else "":
        return words
    why = "it is not indexed here" if row is None else "no other document has any of its words"
    raise click.UsageError(f"--like {target}: {why}")


def _start_on_demand(context: Context) -> None:
    """The next question is answered at once, where the user has asked for that."""
    from app.resident.local_socket import AVAILABLE
    from app.resident.on_behalf import is_on_behalf

    if AVAILABLE and context.settings.resident.start == "on demand" and not is_on_behalf():
        from app.following.background import start_resident

        start_resident(context.paths)


def _print(search: Search, page: ResultPage, *, hits: Sequence[Hit], options: dict[str, Any]) -> list[tuple[int, int]]:
    """Print the results; gives where (line, page) the passages are that were shown."""
    if options["as_json"]:
        return _print_json(search, page, hits=hits, explain=options["explain"])
    if options["paths0"]:
        sys.stdout.flush()
        paths = (os.fsencode(hit.path) for hit in hits if not (hit.missing or hit.machine))
        sys.stdout.buffer.write(b"".join(path + b"\0" for path in paths))
        return []
    if options["vimgrep"]:
        from app.commands.results_text import match_lines

        for hit in (one for one in hits if not (one.missing or one.machine)):
            for line in match_lines(hit, search.preview(page, hit)):
                print_line(line)
        return []
    is_for_people = sys.stdout.isatty() or options["explain"] or options["color"] == "always"
    if options["template"] is not None or not is_for_people:
        return _print_lines(search, page, hits=hits, template=options["template"])
    return _print_terminal(search, page, hits=hits, options=options)


def _print_json(search: Search, page: ResultPage, *, hits: Sequence[Hit], explain: bool) -> list[tuple[int, int]]:
    from app.commands.documents_json import document_fields

    places = []
    for hit in hits:
        snippet = search.snippet(page, hit)
        places.append((snippet.line, snippet.page))
        explanation = search.explain(page, hit) if explain else None
        print_json(document_fields(hit, snippet, explanation, why=search.why(page, hit), searched=page.searched))
    return places


def _print_lines(
    search: Search, page: ResultPage, *, hits: Sequence[Hit], template: str | None
) -> list[tuple[int, int]]:
    from app.commands.results_text import OF_SNIPPET, PLAIN, fields_of, formatted

    template = PLAIN if template is None else template
    needs_text = bool(OF_SNIPPET & fields_of(template))
    places = []
    for hit in hits:
        snippet = search.snippet(page, hit) if needs_text else None
        if snippet is not None:
            places.append((snippet.line, snippet.page))
        print_line(formatted(template, hit, snippet))
    return places


def _print_terminal(
    search: Search, page: ResultPage, *, hits: Sequence[Hit], options: dict[str, Any]
) -> list[tuple[int, int]]:
    import shutil

    from app.commands.results_text import SNIPPET_LINES, explanation_lines, terminal_lines

    width = shutil.get_terminal_size().columns
    home = os.path.expanduser("~")
    colour = wants_colour(options["color"])
    places = []
    for hit in hits:
        snippet = search.snippet(page, hit, width=SNIPPET_LINES * max(width - 6, 20))
        places.append((snippet.line, snippet.page))
        why = search.why(page, hit)
        for line in terminal_lines(hit, snippet, width=width, words=page.words, why=why, home=home):
            click.echo(line, color=colour)
        if options["explain"]:
            for line in explanation_lines(search.explain(page, hit), width=width):
                click.echo(click.style(line, dim=True), color=colour)
    return places


def say_about(page: ResultPage, paths: Paths) -> None:
    """What a person should know about the answer: what was not understood, what may have been meant."""
    for problem in page.problems:
        say(f"{problem.message}\n{_pointed_at(problem, page.request.text)}")
    for option in re.findall(r"(?<!\S)-[A-Za-z](?= \d)", page.request.text):
        known = "write -n N outside the quotes" if option == "-n" else "the only one-letter option is -n N"
        say(f"{option} leaves out the word {option[1:]!r}, as -word does; {known}")
    if page.n_documents == 0:
        say(nothing_indexed(paths))
    elif not page.hits:
        say("nothing found; `foltr-search why PATH` says whether a file is indexed")
    elif not page.n_matches:
        say("nothing has these words; found by meaning alone")
    if page.searched:
        say(f"nothing has all the words; showing results for: {page.searched} (--as-typed for: {page.request.text})")
    if page.suggestion:
        say(f"did you mean: {page.suggestion}")
    if page.relaxed and page.hits:
        n = page.n_all_words
        say(f"{f'only {n:,} matches have' if n > 1 else 'only 1 match has' if n else 'no match has'} all the words")
    for line in page.unasked:
        say(line)
    if page.by_words:
        say(f"by words alone: {page.by_words}")


AROUND = 40
"""characters of a query that are shown before what was not understood, and as many from there on"""


def _pointed_at(problem: Problem, query: str) -> str:
    """What of the query was not understood, with what stands around it, and a mark below: a pasted page is no line."""
    query, at = safe_line(query), problem.position
    before, behind = query[max(at - AROUND, 0) : at], query[at : at + AROUND]
    return f"  {before}{behind}\n  {' ' * columns(before)}{'^' * max(columns(behind[: problem.length]), 1)}"


def matches_of(page: ResultPage) -> str:
    """How many documents match: "1 match", "220 matches (6 with all the words)"."""
    matches = "1 match" if page.n_matches == 1 else f"{page.n_matches:,} matches"
    return matches if page.n_all_words == page.n_matches else f"{matches} ({page.n_all_words:,} with all the words)"
