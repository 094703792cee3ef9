"""Results as JSON, one document per line: the schema of docs/json-output.md, version 1.

Fields may be added within a version; none changes its meaning or goes without a new one.
"""

from __future__ import annotations

import base64
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from app.search.results import Explanation, Hit, Snippet
from indexer.properties import shown

VERSION = 1


def document_fields(
    hit: Hit, snippet: Snippet | None, explanation: Explanation | None, *, why: str, searched: str = ""
) -> dict[str, Any]:
    """One document; `searched` is the correction that was searched for in place of the query."""
    path = Path(hit.path)
    record: dict[str, Any] = {
        "v": VERSION,
        "rank": hit.rank,
        **path_fields(hit.path),
        "part": hit.part,
        "title": hit.title,
        "type": hit.type,
        "author": hit.author,
        "modified": iso(hit.modified),
        "size": hit.size,
        "folder": path_fields(str(path.parent))["path"],
        "name": path_fields(path.name)["path"],
        "score": hit.score,
        "bm25_rank": hit.bm25_rank,
        "why": why,
        "truncated": hit.truncated,
        "missing": hit.missing,
        "machine": hit.machine,
        "by_meaning": hit.by_meaning,
        "missing_words": list(hit.missing_words),
        "properties": shown(hit.properties),
        "thread": hit.thread,
        "n_in_thread": hit.n_in_thread,
        "copies": [path_fields(copy) for copy in hit.copies],
        "also_as": [path_fields(twin) for twin in hit.twins],
    }
    if snippet is not None:
        record["snippet"] = {
            "text": snippet.text,
            "spans": [list(span) for span in snippet.spans],
            "line": snippet.line,
            "column": snippet.column,
            "page": snippet.page,
            "heading": snippet.heading,
        }
    if explanation is not None:
        record["explanation"] = explanation_fields(explanation)
    if searched:
        record["searched"] = searched
    return record


def explanation_fields(explanation: Explanation) -> dict[str, Any]:
    """Why a document ranks where it does, the strongest feature first."""
    contrast = explanation.contrast
    return {
        "summary": explanation.summary,
        "score": explanation.score,
        "ranked_as": explanation.ranked_as,
        "against": contrast.other.rank if contrast else None,
        "parts": [
            {"part": part.name, "description": part.description, "points": part.points, "ahead": part.ahead}
            for part in (contrast.parts if contrast else ())
        ],
        "contributions": [asdict(one) for one in explanation.contributions],
    }


def path_fields(path: str) -> dict[str, str]:
    """A path as text; beside it its very bytes where they are not UTF-8, which JSON cannot hold."""
    fields = {"path": path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")}
    if fields["path"] != path:
        fields["path_base64"] = base64.b64encode(os.fsencode(path)).decode("ascii")
    return fields


def iso(seconds: float) -> str:
    """A moment in UTC as ISO 8601: "2024-05-17T08:30:00Z"; "" for one that no calendar has."""
    try:
        return datetime.fromtimestamp(int(seconds), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, OSError, ValueError):
        return ""
