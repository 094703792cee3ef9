"""`foltr-search index`: bring the index up to date with the folders it covers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.command import FAILED, INTERRUPTED, Command, Context, TypedPath, load, say, setting_option
from app.commands.completion import remembered_folders
from console.wording import count

if TYPE_CHECKING:
    import threading

    from app.settings import OcrSettings, SpeechSettings

EXAMPLES = """
foltr-search index ~/Documents ~/notes     add these folders, and index everything
foltr-search index --suggest               list what you could index: folders, mail, notes, browsers, chats
foltr-search index                         update: new, changed, moved and deleted files
foltr-search index --retry-failures        read failed files again
foltr-search index --forget ~/Downloads    remove a folder from the index
foltr-search index --source firefox        add bookmarks and visited pages (docs/privacy.md)
foltr-search index --ocr --speech          recognise text in pictures, speech in recordings and films
foltr-search index --rebuild               build the index again; keeps what was learned
foltr-search index --optimize              merge the parts of the index, drop deleted words
"""


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("folders", nargs=-1, metavar="[FOLDER]...", type=TypedPath(exists=True, file_okay=False))
@click.option("--source", "sources", multiple=True, metavar="NAME",
              help="Also index another program's data from now on: firefox, chromium, thunderbird, maildir, imessage, "
              "whatsapp, telegram, slack, discord.")  # fmt: skip
@click.option(
    "--suggest", is_flag=True, help="List folders and data of other programs that could be indexed; read nothing."
)
@click.option("--forget", multiple=True, metavar="FOLDER", type=click.Path(), shell_complete=remembered_folders,
              help="Stop indexing a remembered folder, or a source.")  # fmt: skip
@click.option("--rebuild", is_flag=True, help="Delete the index and build it again.")
@click.option("--optimize", is_flag=True, help="Merge all parts of the index; takes a while.")
@click.option("--retry-failures", is_flag=True, help="Try again to read the files that could not be read.")
@click.option("--ocr", is_flag=True, help="Also recognise text in pictures and scanned PDFs, at the end; slow.")
@click.option("--speech", is_flag=True, help="Also recognise speech in recordings and films, at the end; slower.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress, only the result.")
@setting_option("--workers", key="index.workers", type=int, metavar="N", help="Number of processes that read files.")
@setting_option("--hidden/--no-hidden", key="index.hidden", help="Index files and folders named with a dot in front.")
def command(
    folders: tuple[str, ...], sources: tuple[str, ...], suggest: bool, forget: tuple[str, ...], rebuild: bool,
    optimize: bool, retry_failures: bool, ocr: bool, speech: bool, quiet: bool,
) -> int:  # fmt: skip
    """Index your folders; FOLDER is added to them and remembered.

    Only new and changed files are read. With the extra `meaning`, texts are then read for search by meaning, which
    takes longer; you can search by words meanwhile. Ctrl-C keeps what is done, and the next run continues.
    """
    import gc

    from app.commands.command import load_numpy, stop_on_interrupt
    from app.following.progress_lines import ProgressWriter, summarise

    if suggest:
        return _suggest()
    load_numpy()
    from app.chosen_folders import chosen_to_index
    from app.following.indexing import update_index
    from app.following.recognising import engine_for, medium_of

    context = load()
    gc.freeze()  # what was imported until now is not looked at again
    gc.enable()
    to_recognise = [context.settings.ocr] * ocr + [context.settings.speech] * speech
    for chosen in to_recognise:
        if why := engine_for(chosen)[1]:
            raise click.UsageError(f"{medium_of(chosen).what} cannot be recognised: {why}")
    roots = _choose(context, folders, sources, forget)
    if not forget and not chosen_to_index(context.settings, context.paths):
        say("no folders to index yet; name some: foltr-search index ~/Documents (`index --suggest` lists what is here)")
        return FAILED
    with stop_on_interrupt() as stop:
        with ProgressWriter(quiet=quiet) as line:
            summary = update_index(
                context.settings, context.paths, roots=roots, rebuild=rebuild, optimize=optimize,
                retry_failures=retry_failures, holder="foltr-search index", on_progress=line.show, stop=stop,
            )  # fmt: skip
        for said in summarise(summary):
            say(said)
        for chosen in to_recognise:
            if not stop.is_set():
                _recognise(context, chosen, quiet, stop)
        if not stop.is_set():
            _read_for_meaning(context, quiet, stop)
    return INTERRUPTED if stop.is_set() else 0


def _suggest() -> int:
    """One line for each: what names it on the command line, how much it is, what it is."""
    from app.chosen_folders import chosen_to_index
    from app.commands.command import NOTHING_FOUND, print_line, printed_path
    from app.suggested_folders import suggest_roots

    context = load()
    found = suggest_roots(searched=chosen_to_index(context.settings, context.paths))
    for one in found:
        print_line("\t".join(filter(None, (printed_path(one.choice), one.counted, one.name))))
    if not found:
        say("found nothing more in your home folder; name a folder: foltr-search index FOLDER")
        return NOTHING_FOUND
    say("nothing was read; to index some of these: foltr-search index FOLDER... --source NAME ...")
    return 0


def _read_for_meaning(context: Context, quiet: bool, stop: threading.Event) -> None:
    from app.following.indexing import make_vectors
    from app.following.progress_lines import ProgressWriter
    from indexer.confined.reading_process import give_way

    give_way()
    with ProgressWriter(quiet=quiet) as line:
        made = make_vectors(context.settings, context.paths, on_progress=line.show, stop=stop)
    if made:
        say(made)


def _recognise(context: Context, chosen: OcrSettings | SpeechSettings, quiet: bool, stop: threading.Event) -> None:
    """Recognise what waits, and index it."""
    from app.following.indexing import recognise, update_index
    from app.following.progress_lines import ProgressWriter
    from app.following.recognising import medium_of

    with ProgressWriter(quiet=quiet) as line:
        n_read = recognise(chosen, context.paths, on_progress=line.show, stop=stop)
        if n_read:
            update_index(context.settings, context.paths, on_progress=line.show)
    say(f"{medium_of(chosen).what} recognised: {count(n_read, 'file')}")


def _choose(
    context: Context, folders: tuple[str, ...], sources: tuple[str, ...], forget: tuple[str, ...]
) -> tuple[str, ...]:
    """Remember and forget folders and sources, and give the folders that are indexed now."""
    from app.chosen_folders import forget_chosen, index_roots, index_sources, remember_root, remember_source
    from indexer.extract.sources.known import SOURCES, places

    for name in sources:
        if name not in SOURCES:
            raise click.UsageError(f"wanted a source of {', '.join(SOURCES)}, got {name!r}")
        remember_source(context.paths, name)
        usual = SOURCES[name].places
        if usual and not any(places([name], Path(os.path.expanduser("~")))):
            shown = ", ".join(f"~/{place}" for place in usual[:3])
            say(f"{name}: nothing in its usual places ({shown}, ...); it is read only in folders that you index")
    for folder in forget:
        if not forget_chosen(context.paths, folder):
            chosen = (*index_roots(context.settings, context.paths), *index_sources(context.settings, context.paths))
            known = ", ".join(chosen) or "none"
            raise click.UsageError(f"{folder} is not a remembered folder or source; indexed are: {known}")
    for folder in folders:
        remember_root(context.paths, folder)
    return index_roots(context.settings, context.paths)
