"""`foltr-search open`: open a result of the last search, or a file, and learn from it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from app.commands.command import FAILED, NOTHING_FOUND, Command, Context, load, load_numpy, say

if TYPE_CHECKING:
    from app.opener import Invocation, LooseMail
    from app.search.search import Search
    from app.search.shown_page import ShownPage
    from indexer.storage.catalogue import Catalogue, DocumentRow

EXAMPLES = """
foltr-search open 1                        the first result of the last search
foltr-search open 3 --with editor
foltr-search open 2 --with folder          its folder, in the file manager
foltr-search open ~/notes/todo.md
less "$(foltr-search open 1 --print)"      print its path only; that counts as opening it
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("target", metavar="N|PATH")
@click.option(
    "--with",
    "how",
    type=click.Choice(["system", "editor", "pager", "folder"]),
    help="What to open it with; default: the setting open.enter.",
)
@click.option("--print", "print_only", is_flag=True, help="Print the path instead of opening it.")
def command(target: str, how: Literal["system", "editor", "pager", "folder"] | None, print_only: bool) -> int:
    """Open result N of the last search, or the file PATH, and learn from it.

    A result of the last search counts as a pick at once, and the page as a lesson when something else is searched.
    Write ./3 for a file that is named like a number.
    """
    load_numpy()
    from app.loose_mail import loose_mail
    from app.opener import address_of, can_open, is_plain
    from app.resident.errand import only_alone
    from app.search.description import headed
    from app.search.kept import asked
    from app.search.shown_page import load_shown
    from indexer.storage.catalogue import Catalogue

    context = load()
    how = how or context.settings.open.enter
    with (
        asked(context.settings, context.paths) as search,
        closing(Catalogue.open(context.paths.catalogue)) as catalogue,
    ):
        last = load_shown(search.store)
        rank, row = _find(search, catalogue, last, target)
        path = row.path if row is not None else str(Path(target).expanduser())
        if rank and row is None:
            say(f"result {rank} of the last search is no longer indexed; search again")
            return NOTHING_FOUND
        mail = (
            loose_mail(row, context.paths.data_dir) if row is not None and how == "system" and not print_only else None
        )
        if row is not None and mail is not None and not can_open(mail, context.settings):
            how, mail = "pager", None
        text = None
        if row is not None and not print_only and how == "pager" and not is_plain(row.type, row.part):
            text = headed(row, catalogue.text(row.doc_id))
            only_alone()  # the copy of the text must stay as long as it is read
        line, page = _place(last, rank)
        if text is None and (row is None or not is_plain(row.type, row.part)):
            line = 0  # a line of the extracted text, and not of the file
        address = address_of(row.type, row.properties) if row is not None and how == "system" else ""
        return _open(
            context, search, rank=rank, path=path, how=how, text=text, line=line, page=page, print_only=print_only,
            mail=mail, address=address,
        )  # fmt: skip


def _find(search: Search, catalogue: Catalogue, page: ShownPage | None, target: str) -> tuple[int, DocumentRow | None]:
    """The rank on the last page that `target` names or is found at (0: none), and its document where it has one."""
    if target.isascii() and target.isdigit():
        rank = int(target)
        if page is None or not page.n_shown:
            why = "there is no last search" if page is None else "the last search found nothing"
            raise click.UsageError(f"{why}; run foltr-search search QUERY, or name a file")
        if not 1 <= rank <= page.n_shown:
            raise click.UsageError(f"the last search has results 1 to {page.n_shown}, not {rank}")
        search.keep_places(page.places)  # where this fails, the last search could not be kept either: it was another
        if search.unkept:
            raise click.UsageError("the data folder cannot be written: the last search was not kept; name a file")
        doc_id = page.doc_ids[rank - 1]
        return rank, catalogue.documents([doc_id]).get(doc_id)
    path = Path(target).expanduser().absolute()
    ids = catalogue.doc_ids_of(str(path)) or catalogue.doc_ids_of(str(path.resolve()))
    if not ids:
        return 0, None
    on_page = [doc_id for doc_id in (page.doc_ids if page is not None else ()) if doc_id in ids]
    doc_id = on_page[0] if on_page else ids[0]
    rank = page.doc_ids.index(doc_id) + 1 if page is not None and on_page else 0
    return rank, catalogue.documents([doc_id]).get(doc_id)


def _place(page: ShownPage | None, rank: int) -> tuple[int, int]:
    """Where (line, page) the passage is that was printed of this result of the last page; 0 where unknown."""
    return page.places[rank - 1] if page is not None and 0 < rank <= len(page.places) else (0, 0)


def _open(
    context: Context, search: Search, *, rank: int, path: str, how: Literal["system", "editor", "pager", "folder"],
    text: str | None, line: int, page: int, print_only: bool, mail: LooseMail | None, address: str,
) -> int:  # fmt: skip
    from app.commands.printed import print_line, printed_path
    from app.opener import plan
    from app.resident.errand import left

    if print_only:
        print_line(address or printed_path(path))
        if rank:
            search.open_kept(rank)
        return 0
    with _readable(text, context.paths.data_dir) as copy:
        planned = plan(copy or path, how, settings=context.settings, line=line, page=page, mail=mail, address=address)
        if rank:
            search.open_kept(rank)  # before a program that may keep this terminal for hours
        return 0 if left(planned) else run_planned(planned)


def run_planned(planned: Invocation) -> int:
    """Start a program that opens a file; the exit code of the command."""
    from app.opener import run
    from indexer.text.printable import display_path

    code = run(planned)
    if code:
        say(f"{display_path(planned.argv[0])} ended with exit code {code}")
    return FAILED if code else 0


@contextmanager
def _readable(text: str | None, folder: Path) -> Iterator[str]:
    """The extracted text in a file that only its owner can read and that goes when the block ends; "" for none."""
    if text is None:
        yield ""
        return
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".txt", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        yield file.name
