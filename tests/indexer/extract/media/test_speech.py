"""What speech.py promises: the real model, on a recording of two sentences (spoken.ogg) that espeak-ng has spoken.

"The old lighthouse keeper painted seven yellow boats." begins at 0:00.5, "Tomorrow we will plant cherry trees behind
the school." at 0:12; the rest of its 17 s is silence.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import wave
from functools import partial
from pathlib import Path

import pytest

from indexer.confined.pool import WorkerPool
from indexer.documents import SPAN, FileEntry
from indexer.errors import ExtractionError
from indexer.extract.media import speech
from indexer.extract.media.recognised import remember
from indexer.extract.media.recognition import Recognised, RecognitionOrder, recognise_file
from indexer.extract.media.speech import PIECE, RATE, SpeechEngine, choose
from indexer.extract.source import Limits

np = pytest.importorskip("numpy")
pytestmark = pytest.mark.skipif(choose()[0] is None, reason=choose()[1])
SPOKEN = Path(__file__).with_name("spoken.ogg")
ORDER = RecognitionOrder(SpeechEngine(), 600.0, 240)


def sound_of(path: Path, begin: int = 0) -> np.ndarray:
    return np.concatenate([*speech._sound(str(path), begin), np.zeros(0, np.int16)])


def record(path: Path, samples: np.ndarray, rate: int = RATE) -> None:
    with wave.open(str(path), "wb") as out:
        out.setparams((1, 2, rate, 0, "NONE", ""))
        out.writeframes(samples.astype("<i2").tobytes())


def heard(*paths: Path) -> list[Recognised | ExtractionError]:
    """What a reading process hears in each."""
    function = partial(recognise_file, order=ORDER)
    with WorkerPool(function, n_workers=1, seconds=600.0, memory_mb=4_096) as pool:
        found = dict(pool.run(FileEntry(str(path), 1, 0, 0, 0) for path in paths))
    return [next(one for entry, one in found.items() if entry.path == str(path)) for path in paths]


def test_each_sentence_stands_on_the_page_of_its_moment() -> None:
    """Pages are five seconds long; what lies between is silent, and nothing is guessed there.

    (The keeper of the lighthouse is heard as one only by some processors.)
    """
    (found,) = heard(SPOKEN)
    assert isinstance(found, Recognised), found
    assert [bool(page) for page in found.pages] == [True, False, True, False]
    assert "yellow boats" in found.pages[0]
    assert "cherry trees behind the school" in found.pages[2]
    assert (found.left_out, found.seconds > 0) == ("", True)


def test_silence_and_noise_hold_no_speech(tmp_path: Path) -> None:
    """Nothing is made of them, nor of a recording that is empty; a damaged file is that file's failure."""
    times = np.arange(4 * RATE) / RATE
    sounds = {
        "silence": 0 * times, "noise": np.random.default_rng(1).integers(-3_000, 3_000, 4 * RATE),
        "tone": 8_000 * np.sin(times * 440 * 2 * np.pi), "empty": times[:0],
    }  # fmt: skip
    for name, samples in sounds.items():
        record(tmp_path / name, samples)
    (tmp_path / "damaged").write_bytes(b"ID3 and no more")
    *found, damaged = heard(*(tmp_path / name for name in (*sounds, "damaged")))
    assert [isinstance(one, Recognised) and not any(one.pages) for one in found] == [True] * 4
    assert str(damaged).startswith("cannot be read by whisper-base")


def test_a_long_recording_is_read_by_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each says how far it came, and the next goes on behind what the store has; no second is lost or read twice."""
    monkeypatch.setattr(speech, "PIECE", 70)
    monkeypatch.setattr(speech, "STRETCH", 120)
    monkeypatch.setattr(speech, "_said", lambda sound: [(0.0, str(len(sound)))])
    record(tmp_path / "a.wav", np.zeros(300 * RATE))
    limits, ends = Limits(recognised=str(tmp_path / "ocr.sqlite")), []
    while not ends or ends[-1].startswith("so far "):
        found = recognise_file(str(tmp_path / "a.wav"), limits, order=ORDER)
        remember(Path(limits.recognised), found.digest, engine="", pages=found.pages, reason=found.left_out)
        ends.append(found.left_out)
    assert ends == ["so far first 2 minutes", "so far first 4 minutes", ""]
    assert (len(found.pages), sum(map(int, "".join(found.pages).split()))) == (300 // SPAN, 300 * RATE)
    short = RecognitionOrder(SpeechEngine(), 600.0, 2)
    assert recognise_file(str(tmp_path / "a.wav"), Limits(), order=short).left_out == "first 2 minutes"


def test_a_file_is_entered_where_it_was_left(tmp_path: Path) -> None:
    """What is heard from a second on is what is heard there from the beginning, in every kind of file."""
    rate = 44_100
    clicks = np.zeros(40 * rate)
    clicks[31 * rate] = 20_000
    record(tmp_path / "a.wav", clicks, rate)
    whole, part = sound_of(tmp_path / "a.wav"), sound_of(tmp_path / "a.wav", 25)
    assert abs(len(whole) - 40 * RATE) < RATE // 10
    assert int(np.argmax(np.abs(whole))) == pytest.approx(31 * RATE, abs=RATE // 100)
    assert int(np.argmax(np.abs(part))) == pytest.approx(6 * RATE, abs=RATE // 100)
    from_twelve = sound_of(SPOKEN, 10)
    assert len(sound_of(SPOKEN)) - len(from_twelve) == pytest.approx(10 * RATE, abs=RATE // 10)
    assert len(sound_of(SPOKEN, 100)) == 0


def test_a_piece_ends_between_two_pages_where_it_is_quiet() -> None:
    """The quietest of the last borders; no more than a piece is held at once."""
    loud = np.full(PIECE * RATE, 9_000, np.int16)
    loud[100 * RATE - RATE // 5 : 100 * RATE + RATE // 5] = 0
    loud[10 * RATE - RATE // 5 : 10 * RATE + RATE // 5] = 0  # too early
    assert speech._quietest(loud) == 100 * RATE


def test_an_album_is_not_listened_to(tmp_path: Path) -> None:
    """Unless its genre is one that is spoken; a recording that somebody made has no album."""

    def tagged(**tags: str) -> str:
        items = b"".join(
            name.encode() + struct.pack("<I", len(value) + len(value) % 2) + value.encode() + b"\0" * (len(value) % 2)
            for name, value in tags.items()
        )
        info = b"LIST" + struct.pack("<I", len(items) + 4) + b"INFO" + items
        record(tmp_path / "a.wav", np.zeros(RATE))
        data = (tmp_path / "a.wav").read_bytes() + info
        (tmp_path / "a.wav").write_bytes(data[:4] + struct.pack("<I", len(data) - 8) + data[8:])
        return str(tmp_path / "a.wav")

    assert speech._is_music(tagged(IART="Nina", IPRD="Blues"))
    assert not speech._is_music(tagged(IART="Nina", IPRD="Blues", IGNR="Podcast"))
    assert not speech._is_music(tagged(IART="Nina"))
    assert not speech._is_music(str(tmp_path / "film.mkv"))


def test_the_model_is_read_where_it_lies_and_no_network_is_reached() -> None:
    """In the process that listens no socket is opened while the model is loaded and asked; a connection is refused."""
    code = f"""
import sys
opened = []
sys.addaudithook(lambda event, _: opened.append(event) if event.startswith("socket.") else None)
from indexer.extract.media.recognition import RecognitionOrder
from indexer.extract.media.speech import SpeechEngine
pages = []
SpeechEngine().read({str(SPOKEN)!r}, pages, RecognitionOrder(SpeechEngine(), 600.0, 240))
print(len(pages), [event for event in opened if event != "socket.__new__"])
import socket
try:
    socket.create_connection(("127.0.0.1", 9))
except PermissionError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "4 []\nrecognising text needs no network\n", done.stderr
