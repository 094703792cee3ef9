"""Texts of documents as results show them: excerpts, the whole with its matches, and the line where a match stands.

One more letter of a query mostly brings back the same documents, so their texts are kept in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from app.search.headings import heading_among, heading_over
from app.search.results import Hit, Preview, Snippet
from app.search.snippets import matches, passage, passage_snippet, snippet, without_marks
from indexer.documents import HEARD, page_name
from indexer.storage.catalogue import Catalogue, DocumentRow
from indexer.storage.snapshot import RecentlyUsed

MARKED = ("markdown", "text")
"""types whose excerpts leave out rules and heading marks: plain text mostly underlines its headings, too"""
MOST_KEPT = 2_000_000
"""characters kept in all; a single text is kept however long it is"""


class RecentTexts:
    """Unpacked texts by document, with or without the marks of their lines; safe to call from several threads."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._kept = -1, RecentlyUsed(MOST_KEPT)
        """the commit, and texts of it"""

    def of(self, doc_id: int, generation: int, *, unmarked: bool = False) -> str:
        """The text of a document, "" when it was removed meanwhile; `unmarked`: see `without_marks`.

        Texts are kept for one commit, `generation`, and dropped when another is asked for.
        """
        kept, key = self._kept, (doc_id, unmarked)
        if kept[0] != generation:
            kept = self._kept = generation, RecentlyUsed(MOST_KEPT)
        text: str | None = kept[1].get(key)
        if text is None:
            text = without_marks(self.of(doc_id, generation)) if unmarked else self._catalogue.text(doc_id)
            kept[1].put(key, text, len(text))
        return text

    def snippet(self, hit: Hit, row: DocumentRow | None, words: Sequence[str], width: int, generation: int) -> Snippet:
        text, pages = self.of(hit.doc_id, generation), row.pages if row else ()
        if hit.passage:
            found = passage_snippet(text, hit.passage, width=width, pages=pages)
        else:
            plain = self.of(hit.doc_id, generation, unmarked=True) if hit.type in MARKED else text
            found = snippet(plain, words, width=width, pages=pages, title=hit.title)
        if hit.type in HEARD and found.page:
            return structs.replace(found, heading=f"at {page_name(hit.type, found.page)}")
        if hit.type == "markdown" and found.line:
            return structs.replace(found, heading=heading_over(text, found.line, hit.part or hit.path, title=hit.title))
        if row and row.headings and found.line:
            return structs.replace(found, heading=heading_among(text, found.line, row.headings, title=hit.title))
        return found


def preview(text: str, hit: Hit, words: Sequence[str], width: int, *, pages: tuple[int, ...], note: str) -> Preview:
    """A whole text with the matches of one result, and where the snippet of that width is in it."""
    if hit.passage:
        return Preview(text, (hit.passage,) if any(hit.passage) else (), pages, note)
    shown, spans = passage(text, words, width=width, title=hit.title), matches(text, words)
    if shown and shown[0] not in spans:
        spans = tuple(sorted({*spans, *shown}))
    return Preview(text, spans, pages, note, spans.index(shown[0]) if shown else 0)
