"""kill -9 at any moment: nothing acknowledged is lost, nothing dead stays, and the next run goes on."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index

ROOT = Path(__file__).resolve().parents[2]
N_FILES = 300
N_KILLS = 6
SEED = 20

CHILD = """
import sys
from pathlib import Path
from indexer.files.crawl import CrawlRules
from indexer.confined.pool import WorkerPool
from indexer.prepare import prepare_file
from indexer.update import Updater, open_catalogue
from indexer.update import CommitPolicy, Job

base = Path(sys.argv[1])
catalogue, note = open_catalogue(base / "index", base / "catalogue.sqlite")
assert not note, note
job = Job(
    base / "index", catalogue, (str(base / "files"),), CrawlRules(), "the test", "1", CommitPolicy(max_postings=40)
)
acknowledged = catalogue.generation

def report(progress):
    global acknowledged
    if progress.generation != acknowledged:
        acknowledged = progress.generation
        print(progress.n_done, flush=True)

print("ready", flush=True)
with WorkerPool(prepare_file, n_workers=1, seconds=300, memory_mb=1024) as pool:
    Updater(job, pool, report).scan()
print("done", flush=True)
"""


def start(base: Path) -> subprocess.Popen[str]:
    """An indexing process that commits every few files and prints how many files each commit acknowledges."""
    with open(base / "stderr.txt", "ab") as errors:  # a worker that loses its parent while it starts says so
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(base)], cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def write(path: Path, word: str) -> None:
    """A file with its own word; every tenth is a mailbox of two messages."""
    if path.suffix == ".mbox":
        message = "From a@b Mon Jan  1 00:00:00 2024\nFrom: a@b\nSubject: s\n\n{}\n\n"
        path.write_text(message.format(word) + message.format("second"))
    else:
        path.write_text(f"{word} heron")


def ids_in_index(base: Path) -> list[int]:
    snapshot = Index.open(base / "index").snapshot()
    return snapshot.documents["doc_id"][snapshot.alive].tolist()


def check_after_kill(base: Path, acknowledged: int) -> None:
    """Both sides open; the catalogue has all that was acknowledged, and the index all that the catalogue has."""
    catalogue = Catalogue.open(base / "catalogue.sqlite")
    assert catalogue.counts().n_files >= acknowledged
    known = catalogue.doc_ids()
    in_index = ids_in_index(base)
    assert len(in_index) == len(set(in_index))
    # Killed between the two commits, the index may already lack what the catalogue is about to forget.
    if Index.open(base / "index").generation == catalogue.generation:
        assert set(in_index) == known
    catalogue.close()


def check_complete(base: Path, words: dict[str, str]) -> None:
    """Every file is found by its own word exactly once, and nothing else is."""
    catalogue = Catalogue.open(base / "catalogue.sqlite")
    assert catalogue.failures() == []
    assert set(catalogue.known("/")) == {str(base / "files" / name) for name in words}
    snapshot = Index.open(base / "index").snapshot()
    ids = snapshot.documents["doc_id"]
    assert set(ids[snapshot.alive].tolist()) == catalogue.doc_ids()
    id_of = dict(enumerate(ids.tolist()))
    for name, word in words.items():
        (number,) = snapshot.postings("body", word).docs.tolist()
        assert catalogue.documents([id_of[number]])[id_of[number]].path == str(base / "files" / name)


def test_killed_again_and_again_the_index_loses_nothing_and_keeps_nothing_dead(tmp_path: Path) -> None:
    """Six kills at random moments, with files changed, moved and deleted in between; then one run to the end."""
    rng = random.Random(SEED)
    files = tmp_path / "files"
    files.mkdir()
    words = {f"{i}.{'mbox' if i % 10 == 0 else 'txt'}": f"word{i}x" for i in range(N_FILES)}
    for name, word in words.items():
        write(files / name, word)
    n_killed = 0
    for turn in range(N_KILLS):
        child = start(tmp_path)
        assert child.stdout is not None
        first = child.stdout.readline()  # from here on, a commit every few milliseconds
        time.sleep(rng.uniform(0.0, 0.15))
        child.send_signal(signal.SIGKILL)
        lines = [first.strip(), *child.communicate()[0].split()]
        n_killed += "done" not in lines
        check_after_kill(tmp_path, max((int(line) for line in lines if line.isdigit()), default=0))
        for name in rng.sample(sorted(words), 40):
            if name.startswith("new"):
                continue
            word = words.pop(name)
            match rng.randrange(3):
                case 0:
                    (files / name).unlink()
                case 1:
                    words[name] = f"{word.partition('again')[0]}again{turn}y"
                    write(files / name, words[name])
                case _:
                    words[f"new{turn}{name}"] = word
                    (files / name).rename(files / f"new{turn}{name}")
    child = start(tmp_path)
    assert child.communicate()[0].endswith("done\n")
    assert n_killed > N_KILLS // 2
    check_complete(tmp_path, words)
    check_no_stray_files(tmp_path)


def check_no_stray_files(base: Path) -> None:
    """Merged into one segment, the folder holds that segment, its table of contents and the lock: no dead files."""
    with Index.open(base / "index").writer("the test") as writer:
        writer.optimize()
    endings = sorted(path.suffix for path in (base / "index").iterdir())
    assert endings == [".doc", ".lock", ".pst", ".toc", ".trm"]


def test_an_index_deleted_under_a_killed_run_is_filled_again(tmp_path: Path) -> None:
    """Somebody removes the index folder after a kill: the next run reads everything again."""
    (tmp_path / "files").mkdir()
    words = {f"{i}.txt": f"word{i}x" for i in range(20)}
    for name, word in words.items():
        write(tmp_path / "files" / name, word)
    child = start(tmp_path)
    assert child.stdout is not None
    assert child.stdout.readline()  # a first commit
    child.kill()
    child.communicate()
    shutil.rmtree(tmp_path / "index")
    assert start(tmp_path).communicate()[0].endswith("done\n")
    check_complete(tmp_path, words)
