"""`foltr-search status`: what the index holds, what could not be read, and who is writing to it."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import click

from app.commands.command import (
    Command,
    Context,
    error_line,
    load,
    load_numpy,
    print_json,
    print_line,
    printed_path,
    say,
)
from console.wording import count, iso_minute

if TYPE_CHECKING:
    from app.search.index_status import IndexStatus
    from app.settings import OcrSettings, Paths, SpeechSettings
    from indexer.files.why_not_indexed import LeftOut
    from indexer.storage.catalogue import Failure

EXAMPLES = """
foltr-search status
foltr-search status --failures             unreadable files, and why
foltr-search status --left-out             skipped files: how many, which rule, how to include them
foltr-search status --json | jq .n_documents
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.option("--failures", is_flag=True, help="List files that could not be read, and why.")
@click.option("--left-out", "outside", is_flag=True, help="List what was skipped, by which rule, and how many files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (docs/json-output.md).")
def command(failures: bool, outside: bool, as_json: bool) -> int:
    """Show what is in the index."""
    load_numpy()
    from app.resident.on_behalf import search_for_command
    from app.resident.resident_client import standing
    from indexer.errors import IndexDamaged

    context = load()
    resident = standing(str(context.paths.data_dir))
    is_whole = not (failures or outside or as_json)
    with_failures, passed_over = _not_indexed(context.paths, failures=failures or is_whole, outside=outside or is_whole)
    with search_for_command(context.settings, context.paths) as search:
        status = search.status()
        if search.trouble:
            say(error_line(IndexDamaged(search.trouble)))
    if as_json:
        _print_json(status, resident, with_failures if failures else None, passed_over if outside else None)
    elif failures:
        for one in with_failures:
            print_line(f"{printed_path(one.path)}\t{one.kind}\t{_in_one_line(one.reason)}")
    elif outside:
        for folder in passed_over:
            print_line(_in_words(folder, "\t"))
    else:
        _print_status(status, resident, context, len(with_failures), passed_over)
    return 0


def _not_indexed(paths: Paths, *, failures: bool, outside: bool) -> tuple[list[Failure], list[LeftOut]]:
    """What could not be read, and what the rules leave out; neither where it is not asked for."""
    from indexer.files.why_not_indexed import left_out
    from indexer.storage.catalogue import Catalogue

    if not paths.catalogue.exists():
        return [], []
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        unseen = [one for one in catalogue.skipped() if one.kind == "unreadable"] if failures else []
        failed = [*catalogue.failures(), *catalogue.partial_failures(), *unseen] if failures else []
        return failed, left_out(catalogue) if outside else []


def _print_status(status: IndexStatus, resident: str, of: Context, n_listed: int, passed_over: list[LeftOut]) -> None:
    ocr, speech = of.settings.ocr, of.settings.speech
    when = iso_minute(status.last_update) if status.last_update else "never"
    rows = {
        "documents": f"{count(status.n_documents)}; {count(status.n_files, 'file')} read",
        "by name": f"{count(status.n_named, 'file')} without text (pictures, music, programs)",
        "not readable": _unread(status.n_failures, n_listed),
        "left out": _named(passed_over),
        "meaning": status.why_no_meaning
        or f"{status.n_read_for_meaning:,} of {status.n_for_meaning:,} different documents read",
        "pictures": _recognised(
            "text", ocr, status.n_recognised, status.n_to_recognise, status.n_without_text, status.n_unrecognised
        ),
        "recordings": _recognised(
            "speech", speech, status.n_heard, status.n_to_hear, status.n_without_speech, status.n_unheard
        ),
        "folders": "\n".join(map(printed_path, status.roots)) or "none (foltr-search index FOLDER)",
        **({"away": "\n".join(status.away)} if status.away else {}),
        "on disk": f"{status.data_bytes / 1e6:,.1f} MB in {printed_path(str(of.paths.data_dir))}",
        "deleted": f"{count(status.n_unwiped, 'text')} still on disk (`index --optimize` erases them now)"
        if status.n_unwiped
        else "nothing left on disk",
        "last update": when,
        "writer": status.writer or "none",
        "resident": resident or "none (start it with `foltr-search serve`)",
    }
    for name, value in rows.items():
        print_line(f"{name + ':':14}" + value.replace("\n", "\n" + " " * 14))


NAMED = 3
"""of what is left out, in `status` itself"""


def _named(passed_over: list[LeftOut]) -> str:
    """How many files, and the folders that hold most of them."""
    if not passed_over:
        return "nothing"
    more = "" if all(one.exact for one in passed_over) else " or more"
    n_files = sum(one.n_files for one in passed_over)
    lines = [f"{count(n_files, 'file')}{more} (`foltr-search status --left-out` lists them)"]
    return "\n".join([*lines, *(_in_words(one, ", ") for one in passed_over[:NAMED])])


def _in_words(one: LeftOut, between: str) -> str:
    number = count(one.n_files, "file") + ("" if one.exact else " or more")
    return between.join(filter(None, (printed_path(one.path), number, one.rule, one.remedy)))


def _recognised(
    what: str, chosen: OcrSettings | SpeechSettings, n_read: int, n_waiting: int, n_without: int, n_failed: int
) -> str:
    """How far the text of pictures is, or the speech of recordings, and what is missing to recognise it."""
    parts = [f"{what} recognised in {n_read:,}"]
    if n_without:
        parts.append(f"{n_without:,} without {what}")
    if n_failed:
        parts.append(f"{n_failed:,} could not be read")
    if n_waiting:
        from app.following.recognising import engine_for

        why, option = engine_for(chosen)[1], "ocr" if what == "text" else "speech"
        waits = f"{n_waiting:,} wait (`index --{option}`, {option}.background)"
        parts.append(f"not in {n_waiting:,}: {why}" if why else waits)
    return ", ".join(parts)


def _unread(n_failures: int, n_listed: int) -> str:
    """How many files could not be read, and how many places of others."""
    others = f"; {count(n_listed - n_failures, 'place')} in or beside others" if n_listed > n_failures else ""
    return count(n_failures, "file") + others + (" (--failures lists them)" if n_listed else "")


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


def _print_json(
    status: IndexStatus, resident: str, failures: list[Failure] | None, passed_over: list[LeftOut] | None
) -> None:
    from msgspec.structs import asdict

    from app.commands.documents_json import path_fields

    record = {"v": 1, **asdict(status), "roots": [path_fields(root) for root in status.roots], "resident": resident}
    if failures is not None:
        record["failures"] = [{**path_fields(f.path), "kind": f.kind, "reason": f.reason} for f in failures]
    if passed_over is not None:
        record["left_out"] = [{**asdict(one), **path_fields(one.path)} for one in passed_over]
    print_json(record)
