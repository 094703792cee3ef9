"""The account of a review, for the person who answers for it: what was asked, searched, read, judged, not readable.

Markdown for people, CSV for tables, JSON for programs; each document with a hash of what was read of it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.commands.documents_json import iso, path_fields
from app.review.estimate import SURE
from app.review.judgements import Judgement, ReviewError
from app.review.review import Review, progress_line
from console.durable import replace_durably
from console.printable import safe_line
from indexer.storage.catalogue import DocumentRow

METHOD = (
    "Documents were read in the order of a learner (logistic regression over words, after AutoTAR) that began with the "
    "query. How much is left is estimated by how what matters thinned out along the reading (a Poisson process along "
    f"the ranks, {SURE:.0%}); an estimate, no guarantee."
)
_FORMULA = tuple("=+-@＝＋－＠\t\r\n")
"""what a formula may begin with, in spreadsheets of the east of Asia, too"""
COLUMNS = ("what", "answer", "time", "path", "part", "title", "blake2b_128", "state")


def account_of(review: Review, *, now: float) -> dict[str, Any]:
    """All of it, as JSON holds it."""
    catalogue, found, query = review.search.catalogue, review.progress, review.about.query
    return {
        "v": 1,
        "asked": {
            "query": query, "written_out": review.search.written_out(query), "begun": iso(review.about.started),
            "reported": iso(now),
        },
        "searched": {
            "folders": [path_fields(root) for root in catalogue.roots], "index_updated": iso(catalogue.last_update),
            "n_documents": review.population.docs.size, "passed_over_by_rule": catalogue.skipped_by_rule(),
            "n_documents_in_index": review.search.reading.snapshot.n_documents,
        },
        "found": {
            "n_read": found.n_read, "n_found": found.n_found, "about": found.n_found + found.n_left,
            "surely_more_than": found.sure_share, "in_words": progress_line(found), "method": METHOD,
        },
        "judged": [_judged(review, one) for one in review.judgements],
        "not_readable": [
            {**path_fields(failure.path), "kind": failure.kind, "reason": failure.reason}
            for failure in (*catalogue.failures(), *catalogue.partial_failures(), *catalogue.away())
        ],
    }  # fmt: skip


def _judged(review: Review, one: Judgement) -> dict[str, Any]:
    rows = review.rows_of(one)
    there = next((row for row in rows if (row.path, row.part) == (one.path, one.part)), None)
    return {
        "answer": one.answer, "time": iso(one.time), **path_fields(one.path), "part": one.part, "title": one.title,
        "blake2b_128": one.identity.hex(), "state": _state(review, one, rows, there),
        "also_at": [path_fields(row.path) for row in rows if row is not there],
    }  # fmt: skip


def _state(review: Review, one: Judgement, rows: list[DocumentRow], there: DocumentRow | None) -> str:
    if there is not None:
        known = review.search.catalogue.known_of([one.path]).get(one.path)
        try:
            status = os.stat(one.path)
        except OSError:
            return "gone since it was indexed"
        is_same = known is not None and (known.size, known.modified_ns) == (status.st_size, status.st_mtime_ns)
        return "as judged" if is_same else "changed since it was indexed"
    if rows:
        return "moved"
    return "changed since" if review.search.catalogue.doc_ids_of(one.path) else "gone"


def as_json(account: Mapping[str, Any]) -> str:
    return json.dumps(account, ensure_ascii=False, indent=1) + "\n"


def as_csv(account: Mapping[str, Any]) -> str:
    """A row for each document and each file that could not be read; above them what was asked and found."""
    written = io.StringIO()
    rows = csv.DictWriter(written, COLUMNS, restval="", extrasaction="ignore")
    rows.writeheader()
    for what, text in _head(account).items():
        rows.writerow({"what": what, "title": _plain(text)})
    for one in account["judged"]:
        rows.writerow({"what": "judged", **{name: _plain(one.get(name, "")) for name in COLUMNS[1:]}})
    for one in account["not_readable"]:
        rows.writerow({"what": "not readable", "path": _plain(one["path"]), "state": _plain(one["reason"])})
    return written.getvalue()


def _plain(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def as_markdown(account: Mapping[str, Any]) -> str:
    """A page with a table of what was judged, and of what could not be read."""
    lines = [f"# Review: {_cell(account['asked']['query'])}", ""]
    lines += [f"* {what}: {_cell(text)}" for what, text in _head(account).items()]
    lines += ["", "## Judged", "", "| answer | document | time (UTC) | state | BLAKE2b-128 |", "|---|---|---|---|---|"]
    for one in account["judged"]:
        name = _cell(f"{one['path']} {one['part']}".strip())
        lines.append(f"| {one['answer']} | {name} | {one['time']} | {one['state']} | `{one['blake2b_128']}` |")
    lines += ["", "## Not readable", "", "| file | why |", "|---|---|"]
    lines += [f"| {_cell(one['path'])} | {_cell(one['reason'])} |" for one in account["not_readable"]]
    return "\n".join(lines) + "\n"


def _head(account: Mapping[str, Any]) -> dict[str, str]:
    asked, searched, found = account["asked"], account["searched"], account["found"]
    passed_over = ", ".join(f"{n:,} by {rule}" for rule, n in searched["passed_over_by_rule"].items())
    return {
        "query": asked["query"], "written out": asked["written_out"], "begun": asked["begun"],
        "reported": asked["reported"],
        "folders": ", ".join(root["path"] for root in searched["folders"]),
        "index updated": searched["index_updated"],
        "documents": f"{searched['n_documents']:,} of {searched['n_documents_in_index']:,} in the index",
        "passed over": passed_over or "nothing", "read": f"{found['n_read']:,}", "how far": found["in_words"],
        "not readable": f"{len(account['not_readable']):,}", "method": found["method"],
    }  # fmt: skip


def _cell(text: str) -> str:
    """Text of a file's on a page: nothing in it is a link, a mark or HTML."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", safe_line(text))


FORMS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {".md": as_markdown, ".csv": as_csv, ".json": as_json}


def write_account(review: Review, file: Path, *, now: float) -> None:
    """Write it in the form that the ending of the file names; ReviewError for another ending."""
    if (form := FORMS.get(file.suffix.lower())) is None:
        raise ReviewError(f"{file}: wanted a name that ends in {', '.join(FORMS)}, got {file.suffix or 'no ending'}")
    replace_durably(file, form(account_of(review, now=now)).encode("utf-8", "replace"))
