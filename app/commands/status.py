"""`foltr-search status`: what the index holds, what could not be read, and who is writing to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from app.commands.command import Command, load, load_numpy
from console.wording import count, iso_minute

if TYPE_CHECKING:
    from app.search.results import IndexStatus
    from app.settings import Paths
    from indexer.storage.catalogue import Failure

EXAMPLES = """
foltr-search status
foltr-search status --failures             every file that could not be read, and why
foltr-search status --json | jq .n_documents
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--failures", is_flag=True, help="List the files that could not be read, with the reason.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/json-output.md).")
def command(failures: bool, as_json: bool) -> int:
    """Show what the index holds."""
    load_numpy()
    from app.resident.asking import standing
    from app.resident.on_behalf import search_for_command

    context = load()
    resident = standing(str(context.paths.data_dir))
    with_failures = _failures(context.paths) if failures else []
    with search_for_command(context.settings, context.paths) as search:
        status = search.status()
    if as_json:
        _print_json(status, resident, with_failures if failures else None)
    elif failures:
        _print_failures(with_failures)
    else:
        _print_status(status, resident, context.paths)
    return 0


def _failures(paths: Paths) -> list[Failure]:
    from indexer.storage.catalogue import Catalogue

    if not paths.catalogue.exists():
        return []
    catalogue = Catalogue.open(paths.catalogue)
    try:
        unseen = [one for one in catalogue.skipped() if one.kind == "unreadable"]
        return [*catalogue.failures(), *catalogue.partial_failures(), *unseen]
    finally:
        catalogue.close()


def _print_status(status: IndexStatus, resident: str, paths: Paths) -> None:
    from app.commands.command import print_line, printed_path

    when = iso_minute(status.last_update) if status.last_update else "never"
    rows = {
        "documents": f"{count(status.n_documents)}; {count(status.n_files, 'file')} read",
        "by name": f"{count(status.n_named, 'file')} without text (pictures, music, programs)",
        "not readable": count(status.n_failures, "file") + (" (--failures lists them)" if status.n_failures else ""),
        "passed over": f"{count(status.n_skipped)} files and folders (`foltr-search why PATH` tells the rule)",
        "meaning": status.why_no_meaning
        or f"{status.n_read_for_meaning:,} of {status.n_for_meaning:,} different documents read",
        "pictures": _recognised(status),
        "folders": "\n".join(map(printed_path, status.roots)) or "none (foltr-search index FOLDER)",
        **({"away": "\n".join(status.away)} if status.away else {}),
        "on disk": f"{status.index_bytes / 1e6:,.1f} MB in {printed_path(str(paths.data_dir))}",
        "deleted": _unwiped(status),
        "last update": when,
        "writer": status.writer or "none",
        "resident": resident or "none (`foltr-search serve` starts the process that answers at once)",
    }
    for name, value in rows.items():
        print_line(f"{name + ':':14}" + value.replace("\n", "\n" + " " * 14))


def _unwiped(status: IndexStatus) -> str:
    """What was deleted and is still on the disk."""
    if not status.n_unwiped:
        return "nothing of it is left on the disk"
    return f"{count(status.n_unwiped, 'text')} still on the disk (`index --optimize` wipes them at once)"


def _recognised(status: IndexStatus) -> str:
    """How far the text of pictures is."""
    parts = [f"text recognised in {status.n_recognised:,}, {status.n_to_recognise:,} wait"]
    if status.n_without_text:
        parts.append(f"{status.n_without_text:,} without text")
    if status.n_unrecognised:
        parts.append(f"{status.n_unrecognised:,} could not be read")
    return ", ".join(parts) + (" (`index --ocr`, ocr.background)" if status.n_to_recognise else "")


def _print_failures(failures: list[Failure]) -> None:
    from app.commands.command import print_line, printed_path

    for failure in failures:
        print_line(f"{printed_path(failure.path)}\t{failure.kind}\t{_in_one_line(failure.reason)}")


SHOWN_PARTS = 3
_MORE = re.compile(r"and (\d+) more")


def _in_one_line(reason: str) -> str:
    """Of a file of many parts that could not be read the first ones, and how many more there are."""
    parts = reason.splitlines()
    if len(parts) <= SHOWN_PARTS:
        return "; ".join(parts)
    n_more = len(parts) - SHOWN_PARTS
    if (counted := _MORE.fullmatch(parts[-1])) is not None:
        n_more += int(counted[1]) - 1
    return f"{'; '.join(parts[:SHOWN_PARTS])}; and {n_more:,} more"


def _print_json(status: IndexStatus, resident: str, failures: list[Failure] | None) -> None:
    import json

    from msgspec.structs import asdict

    from app.commands.documents_json import path_fields

    record = {"v": 1, **asdict(status), "roots": [path_fields(root) for root in status.roots], "resident": resident}
    if failures is not None:
        record["failures"] = [{**path_fields(f.path), "kind": f.kind, "reason": f.reason} for f in failures]
    click.echo(json.dumps(record, ensure_ascii=False))
