"""`foltr-search open`: open a result of the last search, or a file, and learn from it."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import click

from app.commands.command import FAILED, NOTHING_FOUND, Command, load, load_numpy, print_line, printed_path, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.document_to_open import Prepared
    from app.external_programs import How
    from app.search.search import Search
    from app.search.shown_page import ShownPage
    from indexer.storage.catalogue import Catalogue, DocumentRow

EXAMPLES = """
foltr-search open 1                        the first result of the last search
foltr-search open 3 --with editor
foltr-search open 2 --with folder          its folder, in the file manager
foltr-search open ~/notes/todo.md
less "$(foltr-search open 1 --print)"      only print its path; counts as opening
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("target", metavar="N|PATH")
@click.option(
    "--with",
    "how",
    type=click.Choice(["system", "editor", "pager", "folder"]),
    help="Program to open it with; default: the setting open.enter.",
)
@click.option("--print", "print_only", is_flag=True, help="Print the path instead of opening it.")
@click.option(
    "--opened-on", metavar="PAGE", type=bytes.fromhex, hidden=True, help="Only record that N was opened on this page."
)
def command(target: str, how: How | None, print_only: bool, opened_on: bytes | None) -> int:
    """Open result N of the last search, or the file PATH, and learn from it.

    A result counts as a pick at once. The page becomes a lesson when you search for something else. Write ./3 for a
    file named like a number.
    """
    load_numpy()
    from app.document_to_open import Place, Prepared, prepare
    from app.external_programs import OpenError, plan
    from app.paths import typed_path
    from app.resident.on_behalf import only_alone, search_for_command
    from app.search.shown_page import decode_shown, load_shown
    from console.printable import display_path
    from indexer.storage.catalogue import Catalogue

    context = load()
    settings = context.settings
    how = how or settings.open.enter
    with (
        search_for_command(settings, context.paths) as search,
        closing(Catalogue.open(context.paths.catalogue)) as catalogue,
    ):
        if opened_on is not None:  # nothing else, whatever is given: its program runs already
            rank = int(target) if target.isdecimal() and len(target) < 10 else 0
            return 0 if search.open_shown(decode_shown(opened_on), rank) else NOTHING_FOUND
        last = load_shown(search.store)
        rank, row = find_target(search, catalogue, last, target)
        far = last.machines[rank - 1] if last is not None and rank and last.machines else ""
        data_dir = context.paths.data_dir
        if last is not None and far:
            only_alone()  # as where it was found
            row, how = search.machines.bring(last, rank, how, data_dir, whole=not print_only)
            if how != "pager" and not print_only:
                say(f"this is a copy from {far}: changes to it are not sent back")
        path = row.path if row is not None else str(typed_path(target))
        if rank and row is None:
            say(f"result {rank} of the last search is no longer indexed; search again")
            return NOTHING_FOUND
        record = partial(search.open_shown, last, rank, row if far else None)
        if row is None and not os.path.lexists(path):
            raise OpenError(f"{display_path(path)}: there is no such file, here or in the index")
        if print_only:
            return _print(row, path, how, opened=record)
        if row is None:
            return _start(Prepared(plan(path, how, settings=settings)), last, rank, opened=record)
        doc_id = row.doc_id

        def text() -> str:
            only_alone()  # the copy of the text must stay as long as it is read
            return search.machines.text(far, doc_id) if far else catalogue.text(doc_id)

        place = Place(*last.places[rank - 1]) if last is not None and 0 < rank <= len(last.places) else Place()
        ready = prepare(row, how, place=place, settings=settings, data_dir=data_dir, text_of=text)
        return _start(ready, last, rank, opened=record)


def find_target(
    search: Search, catalogue: Catalogue, page: ShownPage | None, target: str
) -> tuple[int, DocumentRow | None]:
    """The rank on the last page that `target` names or is found at (0: none), and its document where it has one."""
    from app.paths import typed_path

    if target.isascii() and target.isdigit():
        rank = int(target) if len(target) < 10 else 0
        if page is None or not page.n_shown:
            why = "there is no last search" if page is None else "the last search found nothing"
            raise click.UsageError(f"{why}; run `foltr-search search QUERY`, or name a file")
        if not 1 <= rank <= page.n_shown:
            raise click.UsageError(f"the last search has results 1 to {page.n_shown}, not {target[:20]}")
        search.keep_places(page, page.places)  # where this fails, the last search was not kept either: it was another
        if search.unkept:
            raise click.UsageError("the last search was not kept: the data folder cannot be written; name a file")
        doc_id = page.doc_ids[rank - 1]
        return rank, catalogue.documents([doc_id]).get(doc_id)
    path = typed_path(target)
    ids = catalogue.doc_ids_of(str(path)) or catalogue.doc_ids_of(str(path.resolve()))
    if not ids:
        return 0, None
    on_page = [doc_id for doc_id in (page.doc_ids if page is not None else ()) if doc_id in ids]
    doc_id = on_page[0] if on_page else ids[0]
    rank = page.doc_ids.index(doc_id) + 1 if page is not None and on_page else 0
    return rank, catalogue.documents([doc_id]).get(doc_id)


def _print(row: DocumentRow | None, path: str, how: How, *, opened: Callable[[], object]) -> int:
    """Print the address of a page or mail that the system would open, else the path; it counts as opened."""
    from app.external_programs import address_of

    address = address_of(row.type, row.properties) if row is not None and how == "system" else ""
    print_line(printed_path(address or path))
    opened()
    return 0


def _start(ready: Prepared, page: ShownPage | None, rank: int, *, opened: Callable[[], object]) -> int:
    """Start a program, or leave that to the asking process, which is told the command line that records it."""
    from app.resident.on_behalf import is_on_behalf, leave_to_asker
    from app.search.shown_page import encode_shown

    shown = page if is_on_behalf() and rank else None
    told = ("open", "--opened-on", encode_shown(shown).hex(), str(rank)) if shown is not None else ()
    return 0 if leave_to_asker(ready.command, told) else run_prepared(ready, opened=opened)


def run_prepared(ready: Prepared, *, opened: Callable[[], object]) -> int:
    """Start a program that opens a file; the exit code of the command. `opened` as in external_programs.run."""
    from console.printable import display_path

    code = ready.run(opened=opened)
    if code:
        say(f"{display_path(ready.command.argv[0])} ended with exit code {code}")
    return FAILED if code else 0
