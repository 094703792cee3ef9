"""Recognising the text of pictures with the user's settings, after everything else, one file after another.

Each text is kept by the content of its file before the file is read again with it, so that a kill costs one file and a
rebuilt index finds the texts that were made.
"""

from __future__ import annotations

import os
import threading
from contextlib import closing

from app.paths import Paths
from indexer.documents import FileEntry
from indexer.errors import ExtractionError
from indexer.extract.pool import WorkerPool
from indexer.extract.recognised import FILE, TYPES_WITH_PICTURES, remember, tried
from indexer.extract.recognition import ENGINE, Recognised, recognise_file
from indexer.extract.source import Limits
from indexer.progress import OnProgress, Progress
from indexer.storage.catalogue import Catalogue, read_anew

SECONDS = 60.0
"""of processor time for one file; what was read by then is kept"""
MEMORY_MB = 4_096
"""of address space; about 600 MB of it are used"""

Waiting = list[tuple[str, bytes]]
"""(path, digest)"""


def without_text(catalogue: Catalogue) -> Waiting:
    """The PDFs and pictures that hold no text, the newest first."""
    marks = ", ".join("?" * len(TYPES_WITH_PICTURES))
    rows = catalogue.connection.execute(
        "SELECT f.path, f.digest FROM documents d JOIN files f USING (file_id)"
        f" WHERE d.n_words = 0 AND d.part = '' AND d.type IN ({marks}) AND f.state = 'indexed' AND f.digest != x''"
        " ORDER BY f.modified_ns DESC",
        TYPES_WITH_PICTURES,
    ).fetchall()
    return [(os.fsdecode(path), bytes(digest)) for path, digest in rows]


def recognise(paths: Paths, *, on_progress: OnProgress, stop: threading.Event) -> int:
    """Read what nobody has tried yet; how many files have a text now and will be read again by the next scan."""
    store = paths.data_dir / FILE
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        waiting = without_text(catalogue)
    before = tried(store)
    new = {path: digest for path, digest in waiting if digest not in before}
    entries = [FileEntry(path, 0, 0, 0, 0) for path in new]
    with WorkerPool(recognise_file, n_workers=1, seconds=SECONDS, memory_mb=MEMORY_MB, limits=Limits()) as pool:
        for n_done, (entry, outcome) in enumerate(pool.run(entries, stop), 1):
            found: Recognised | ExtractionError = outcome
            is_failure = isinstance(found, ExtractionError)
            pages = [] if isinstance(found, ExtractionError) else found.pages
            remember(store, new[entry.path], engine=ENGINE, pages=pages, reason=str(found) if is_failure else "")
            on_progress(Progress(phase="indexing", n_done=n_done, n_total=len(new), current=entry.path))
    now = tried(store)
    found_now = [path for path, digest in waiting if now.get(digest)]
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        read_anew(catalogue, found_now)
    return len(found_now)
