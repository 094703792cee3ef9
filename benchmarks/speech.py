"""Speech: recordings of sentences, each searched for by three of its words, and what recognition costs.

    python -m benchmarks speech [--sentences 200] [--words 3] [--long 60]

A synthesiser (Debian's espeak-ng; four voices, 150 words a minute) speaks sentences of 9 to 18 words of the English
articles of xquad (Artetxe et al., ACL 2020), each into a separate recording. Each is searched for by random words
of five letters and more of the written sentence, in their order. For comparison the same sentences as text.
The long recording is the first of them (`--long`), half a second between two.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import tempfile
import wave
from pathlib import Path
from threading import Event

import numpy as np

from app.following.indexing import recognise, update_index
from app.paths import Paths
from app.search.results import SearchRequest
from app.settings import MeaningSettings, Settings
from benchmarks.collections import shared_folder
from benchmarks.devices import device, indexed
from benchmarks.running import arguments
from benchmarks.tables import Table, machine, verdict
from indexer.extract.media.recognised import FILE, seconds_since

AIM = 0.85
VOICES = ("en-us", "en-gb", "en-us+f3", "en-gb+m3")
PAUSE = 0.5
"""seconds between two sentences of the long recording"""


def sentences(limit: int, rng: np.random.Generator) -> list[str]:
    """Of plain words, at random."""
    found = []
    for line in (shared_folder() / "data/text/xquad-9-languages/documents.jsonl").read_text().splitlines():
        document = json.loads(line)
        if document["id"].startswith("en-"):
            found += re.split(r"(?<=[.!?])\s+", document["text"])
    plain = [one for one in found if 9 <= len(one.split()) <= 18 and re.fullmatch(r"[A-Za-z ,'-]+\.", one)]
    return [plain[i] for i in rng.permutation(len(plain))[:limit]]


def speak(texts: list[str], folder: Path, n_joined: int) -> tuple[float, float]:
    """Recordings 000.wav and on, the first of them joined in the folder beside; the seconds of both."""
    folder.mkdir(parents=True)
    (folder.parent / "long").mkdir()
    seconds = long = 0.0
    with wave.open(str(folder.parent / "long/all.wav"), "wb") as joined:
        for i, text in enumerate(texts):
            path = folder / f"{i:03}.wav"
            subprocess.run(["espeak-ng", "-v", VOICES[i % 4], "-s", "150", "-w", str(path), text], check=True)
            with wave.open(str(path)) as one:
                if not i:
                    joined.setparams(one.getparams())
                seconds += one.getnframes() / one.getframerate()
                if i < n_joined:
                    joined.writeframes(one.readframes(one.getnframes()) + bytes(int(one.getframerate() * PAUSE) * 2))
                    long = seconds + PAUSE * (i + 1)
    return seconds, long


def listened(paths: Paths, settings: Settings, files: Path) -> float:
    """Processor seconds of listening to what is new in `files`, which is indexed then."""
    before = seconds_since(paths.data_dir / FILE, 0.0, "whisper-base")
    recognise(settings.speech, paths, on_progress=lambda _: None, stop=Event())
    update_index(settings, paths, roots=(str(files),), holder="benchmark")
    return seconds_since(paths.data_dir / FILE, 0.0, "whisper-base") - before


def reciprocal_ranks(paths: Paths, settings: Settings, asked: list[str]) -> list[float]:
    """Of the document whose number each query has, among the first ten."""
    with device(paths, settings) as search:
        pages = [search.search(SearchRequest(text)).hits[:10] for text in asked]
    return [
        next((1 / hit.rank for hit in hits if Path(hit.path).stem == f"{i:03}"), 0.0) for i, hits in enumerate(pages)
    ]


def main() -> None:
    """Print the tables."""
    asked = arguments(__doc__, sentences=200, words=3, long=60)
    settings, rng = Settings(meaning=MeaningSettings(enabled=False)), np.random.default_rng(1)
    texts = sentences(asked.sentences, rng)
    queries = []
    for text in texts:
        words = re.findall(r"[A-Za-z'-]{5,}", text)
        kept = sorted(rng.permutation(len(words))[: asked.words])
        queries.append(" ".join(words[i] for i in kept))
    with tempfile.TemporaryDirectory(prefix="foltr-speech-") as name:
        folder = Path(name)
        seconds, long_seconds = speak(texts, folder / "spoken", asked.long)
        (folder / "written").mkdir()
        for i, text in enumerate(texts):
            (folder / "written" / f"{i:03}.txt").write_text(text)
        written = reciprocal_ranks(indexed(folder / "written", folder / "a", settings), settings, queries)
        paths = indexed(folder / "spoken", folder / "b", settings)
        short = listened(paths, settings, folder / "spoken")
        spoken = reciprocal_ranks(paths, settings, queries)
        joined = indexed(folder / "long", folder / "c", settings)
        long = listened(joined, settings, folder / "long")
        found = Table(("sentences", "found by", "MRR", "first", "in ten", "aim", "verdict"))
        for label, ranks in (("written", written), ("spoken", spoken)):
            mrr = float(np.mean(ranks))
            aim = (f">= {AIM}", verdict(mrr >= AIM)) if label == "spoken" else ("", "")
            first, ten = (f"{np.mean(np.array(ranks) >= least):.3f}" for least in (1.0, 0.1))
            found.add(f"{len(texts)} {label}", f"{asked.words} words", mrr, first, ten, *aim)
        print(found, "", sep="\n")
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
        cost = Table(("recordings", "minutes", "CPU s", "of real time", "most memory"))
        cost.add(len(texts), f"{seconds / 60:.1f}", f"{short:.0f}", short / seconds, f"{memory:.0f} MB")
        cost.add(1, f"{long_seconds / 60:.1f}", f"{long:.0f}", long / long_seconds, "the same process")
        print(cost, "", machine(), sep="\n")
