"""`foltr-search review`: a search to the end, one document after another."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.commands.command import FOUND, NOTHING_FOUND, load, print_json, print_line, printed_path, say
from app.commands.search import SearchCommand, nothing_indexed
from console.printable import safe_line, safe_text

if TYPE_CHECKING:
    from app.commands.command import Context
    from app.review.judgements import Answer, StoredReview
    from app.review.review import Proposal, Review

EXAMPLES = """
foltr-search review 'contract Miller type:pdf'      start a review
foltr-search review --list                          list reviews
foltr-search review --resume 2                      continue; so does the same QUERY
foltr-search review --resume 2 --report found.md    report: query, searched, read, judged, not readable
foltr-search review --resume 2 --save miller        save what it learned as the search @miller
foltr-search review --json 'wind turbine' < answers   for programs: answers y, n, l, u or q, one a line
"""
KEYS: Mapping[str, Answer] = {"y": "yes", "n": "no", "l": "later"}
ASKED = "y(es) n(o) l(ater) t(ext) o(pen) u(ndo) q(uit): "
SNIPPET = 480
"""characters"""


@click.command(
    cls=SearchCommand,
    examples=EXAMPLES,
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
)
@click.argument("query", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List your reviews, newest first.")
@click.option("--resume", "number", type=click.IntRange(min=1), metavar="N", help="Continue review N.")
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write a report (.md, .csv or .json), by default of the newest review, and exit.")  # fmt: skip
@click.option("--save", metavar="NAME", help="Save the query and the learned words as @NAME, and exit.")
@click.option("--teach", is_flag=True, help="Learn from what matters, as if opened once for the query, and exit.")
@click.option("--forget", is_flag=True, help="Delete the review and its judgements.")
@click.option("--plain", is_flag=True, help="Use plain lines, even on a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per document (docs/json-output.md).")
def command(query: tuple[str, ...], number: int | None, listed: bool, plain: bool, as_json: bool, **deeds: Any) -> int:
    """Find every document that matters for QUERY, one by one, and estimate how many are left.

    Answer y (it matters), n or l (later). Each answer is saved at once and reorders the rest. Words decide only what
    comes first; filters (type: dir: -word) decide what the review covers. The number left is an estimate, no guarantee.
    Exit code 0: something is found, 1: nothing yet, 130: interrupted, 2: an error.
    """
    text = " ".join(query)
    begun = any(deeds.values())
    asked = sum((bool(text.strip()), number is not None, listed))
    if asked > 1 or not (asked or (begun and not (deeds["teach"] or deeds["forget"]))):
        raise click.UsageError("wanted one of: QUERY, --resume N, --list")
    context = load()
    on_screen = not (plain or as_json or begun) and sys.stdin.isatty() and sys.stdout.isatty()
    if on_screen and not listed:
        from app.tui import run

        return run(context.settings, context.paths, review=number or text)
    if listed:
        return _list(context, as_json=as_json)
    from app.review.review import Review
    from app.search.search import Search

    with closing(Search(context.settings, context.paths)) as search:
        if text and not begun and not search.status().n_documents:
            say(nothing_indexed(context.paths))
            return NOTHING_FOUND
        review = Review(search, number) if number else Review.of_query(search, text, begun=begun)
        if not (begun and asked):
            say(f"review {review.about.number}: {review.about.query}")
        if begun:
            _do(context, review, **deeds)
        else:
            show = _show_json if as_json else _show_lines
            while (shown := review.next()) is not None:
                show(review, shown)
                if not _answered(context, review, shown, as_json=as_json):
                    break
            show(review, None)
        return FOUND if review.progress.n_found else NOTHING_FOUND


def _list(context: Context, *, as_json: bool) -> int:
    from app.commands.documents_json import iso
    from app.review.judgements import JudgementBook
    from app.store import Store
    from console.wording import iso_minute

    reviews: Sequence[StoredReview] = ()
    if context.paths.state.exists():
        with Store.for_searching(context.paths.state) as store:
            reviews = JudgementBook(store).reviews()
    for one in reviews:
        if as_json:
            print_json({"v": 1, **one._asdict(), "started": iso(one.started)})
        else:
            counts = f"{one.n_found:,} found, {one.n_judged:,} read"
            print_line(f"{one.number}\t{iso_minute(one.started)}\t{counts}\t{safe_line(one.query)}")
    return FOUND if reviews else NOTHING_FOUND


def _do(context: Context, review: Review, *, report: Path | None, save: str | None, teach: bool, forget: bool) -> None:
    """What is done with what was judged."""
    if report is not None:
        from app.review.review_report import write_account

        write_account(review, report, now=time.time())
        say(f"wrote {report}")
    if save is not None:
        from app.search.saved import SavedSearches

        SavedSearches(context.paths.saved).save(save, review.as_search())
        say(f"saved as @{save.removeprefix('@')}: {review.as_search()}")
    if teach:
        say(f"{review.teach():,} newly counted as opened")
    if forget:
        review.book.forget(review.about.number)
        say(f"review {review.about.number} is forgotten")


def _answered(context: Context, review: Review, shown: Proposal, *, as_json: bool) -> bool:
    """Take what is typed for one document, until the next one is wanted; False when the person leaves."""
    while True:
        click.echo("" if as_json else ASKED, nl=False)
        typed = sys.stdin.readline()
        match typed.strip().lower()[:1]:
            case "y" | "n" | "l" as key:
                review.answer(shown, KEYS[key])
                return True
            case "u":
                review.undo()
                return True
            case "t":
                text = review.preview(shown).text
                if as_json:
                    print_json({"v": 1, "text": text})
                else:
                    click.echo(safe_text(text))
            case "o":
                _open(context, review, shown)
            case key if key == "q" or not typed:
                return False


def _show_lines(review: Review, shown: Proposal | None) -> None:
    """A document as a few lines for a person, with how far it is; at the end this alone."""
    from app.review.review import progress_line

    found = review.progress
    if shown is None:
        click.echo(f"\n{progress_line(found)}")
        return
    hit, snippet = shown.hit, review.snippet(shown, SNIPPET)
    click.echo(f"\n[{found.n_read + 1:,} of {found.n_documents:,}] {progress_line(found)}")
    click.echo(printed_path(hit.path) + (f" {safe_line(hit.part)}" if hit.part else ""), color=True)
    for line in (safe_line(hit.title), safe_line(snippet.text), shown.remark):
        if line:
            click.echo(f"  {line}")


def _show_json(review: Review, shown: Proposal | None) -> None:
    """The same as a line of JSON for a program."""
    from app.commands.documents_json import path_fields
    from app.review.review import is_enough, progress_line

    found = review.progress
    record: dict[str, Any] = {"v": 1}
    if shown is not None:
        hit, snippet = shown.hit, review.snippet(shown, SNIPPET)
        record |= {
            **path_fields(hit.path), "part": hit.part, "title": hit.title, "type": hit.type, "missing": hit.missing,
            "snippet": snippet.text, "line": snippet.line, "before": shown.before, "blake2b_128": shown.identity.hex(),
        }  # fmt: skip
    progress = {
        "n_read": found.n_read, "n_found": found.n_found, "n_documents": found.n_documents,
        "about": found.n_found + found.n_left, "surely_more_than": found.sure_share, "enough": is_enough(found),
        "in_words": progress_line(found),
    }  # fmt: skip
    print_json({**record, "end": shown is None, "progress": progress})


def _open(context: Context, review: Review, shown: Proposal) -> None:
    from app.document_to_open import Place, prepare
    from app.external_programs import OpenError

    settings = context.settings
    try:
        prepare(
            shown.hit, settings.open.enter, place=Place(), settings=settings, data_dir=context.paths.data_dir,
            text_of=lambda: review.preview(shown).text,
        ).run()  # fmt: skip
    except OpenError as error:
        say(str(error))
