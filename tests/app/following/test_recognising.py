"""Text recognised in pictures, as a user runs it: engines, worker process and index are real."""

from __future__ import annotations

import json
import multiprocessing
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import psutil
import pytest

from app.following.following import follow_changes
from app.following.indexing import update_index
from app.following.recognising import Recognising
from app.settings import IndexSettings, OcrSettings, Paths, Settings
from indexer.documents import ExtractedDocument
from indexer.errors import ExtractionError, IndexerError
from indexer.extract.media import speech
from indexer.extract.media.recognised import (
    PICTURES,
    Attempt,
    Unrecognised,
    recall_pages,
    remember,
    seconds_since,
    tried,
    with_recognised,
)
from indexer.extract.media.recognition import choose
from indexer.extract.source import Limits
from indexer.progress import Progress
from indexer.storage.catalogue import Catalogue
from tests.tiny_recogniser import TinyRecogniser
from tests.waiting import until

if TYPE_CHECKING:
    from tests.app.conftest import Device

pytest.importorskip("PIL")
ENGINES = [
    pytest.param(name, marks=pytest.mark.skipif(choose(name, ["eng"])[0] is None, reason=choose(name, ["eng"])[1]))
    for name in ("rapidocr", "tesseract")
]
ANY = next((name for name in ("tesseract", "rapidocr") if choose(name, ["eng"])[0]), "")
needs_engine = pytest.mark.skipif(not ANY, reason="no engine is installed")
PATIENCE = 600.0


def picture(path: Path, text: str) -> None:
    """White, with one line of black text; as PNG, or as a PDF that is a picture.

    Its short side is as long as engines want it: a strip is enlarged first, and takes four times as long.
    """
    from PIL import Image, ImageDraw, ImageFont

    drawn = Image.new("RGB", (736, 226) if path.suffix == ".pdf" else (736, 736), "white")
    ImageDraw.Draw(drawn).text((30, 70), text, font=ImageFont.load_default(size=44), fill="black")
    drawn.save(path)
    if path.suffix == ".png":
        path.write_bytes(path.read_bytes() + text.encode())  # for the tiny recogniser


def found(device: Device, query: str) -> list[str]:
    return sorted(Path(line).name for line in device.run("search", query, "--format", "{path}").stdout.splitlines())


@pytest.mark.parametrize("engine", ENGINES)
def test_the_text_of_pictures_is_found_once_it_is_asked_for(device: Device, engine: str) -> None:
    """Not before; a damaged picture is skipped; a rebuilt index has the texts without reading them again."""
    picture(device.notes / "screenshot.png", "The bittern booms tonight")
    picture(device.notes / "scan.pdf", "Receipt of the bittern club")
    (device.notes / "broken.png").write_bytes(b"\x89PNG\r\n and no more")
    chosen = {"FOLTR_OCR__ENGINE": engine}
    device.index()
    assert found(device, "bittern") == []
    assert "text recognised in 0, 3 wait (`index --ocr`, ocr.background)" in device.run("status").stdout
    done = device.run("index", "--ocr", env=chosen)
    assert done.returncode == 0, done.stderr
    assert "text in pictures recognised: 2 files" in done.stderr
    assert found(device, "bittern") == ["scan.pdf", "screenshot.png"]
    assert f"text recognised in a picture by {engine}" in device.run("search", "bittern booms", "--json").stdout
    status = json.loads(device.run("status", "--json").stdout)
    counts = ("n_recognised", "n_to_recognise", "n_without_text", "n_unrecognised")
    assert [status[name] for name in counts] == [2, 0, 0, 1]
    device.run("index", "--rebuild")
    assert found(device, "bittern") == ["scan.pdf", "screenshot.png"]
    assert "text in pictures recognised: 0 files" in device.run("index", "--ocr", env=chosen).stderr


def test_an_engine_that_is_not_there_is_named(device: Device) -> None:
    """If it is set but lacks its data, one line says so, and nothing is indexed."""
    done = device.run("index", "--ocr", str(device.notes), env={
        "FOLTR_OCR__ENGINE": "tesseract", "FOLTR_OCR__LANGUAGES": '["klingon"]'
    })  # fmt: skip
    assert done.returncode == 2
    assert "text in pictures cannot be recognised: tesseract" in done.stderr


@pytest.mark.skipif(find_spec("rapidocr") is None, reason="rapidocr is not installed")
def test_the_engine_cannot_reach_a_network() -> None:
    """In the process that recognises, a connection is refused before it leaves, and the engine works all the same."""
    code = """
import socket, numpy
from indexer.extract.media.recognition import TextEngine
assert TextEngine("rapidocr").load()(numpy.full((736, 736, 3), 255, dtype=numpy.uint8), 60.0) == ""
try:
    socket.create_connection(("127.0.0.1", 9))
except PermissionError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "recognising text needs no network\n", done.stderr


def test_only_a_picture_without_a_text_of_its_own_is_given_one(tmp_path: Path) -> None:
    """Neither a member of an archive nor another kind of document with the same bytes gets one."""
    store, digest, kind = tmp_path / "ocr.sqlite", b"7" * 32, min(PICTURES.types)
    remember(store, digest, engine="tesseract", pages=["read"], reason="")
    limits = Limits(recognised=str(store))
    assert with_recognised(ExtractedDocument(text=" ", type=kind), digest, limits).text == "read"
    for own in ({"text": "own"}, {"part": "page 2"}, {"type": "text"}):
        document = ExtractedDocument(**{"text": "", "type": kind} | own)
        assert with_recognised(document, digest, limits) is document


def test_a_store_that_is_damaged_is_begun_anew(tmp_path: Path) -> None:
    """New texts are stored all the same; else following changes would end."""
    store = tmp_path / "ocr.sqlite"
    store.write_text("no database")
    assert tried(store) == {}
    remember(store, b"1", engine="a", pages=["x"])
    assert recall_pages(store, b"1") == ("a", ["x"], "")


def test_a_store_that_cannot_grow_says_so_in_one_line(tmp_path: Path) -> None:
    """Its present contents stay."""
    remember(tmp_path / "ocr.sqlite", b"kept", engine="one", pages=["text"])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(IndexerError, match=r"ocr\.sqlite cannot be written \(.*\)$"):
            remember(tmp_path / "ocr.sqlite", b"lost", engine="one", pages=["text" * 50_000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tried(tmp_path / "ocr.sqlite")) == [b"kept"]


def test_a_text_is_kept_by_the_content_it_was_made_of(tmp_path: Path) -> None:
    """Another content has none; a second text replaces the first; deleted files lose theirs; a day's time is summed."""
    store = tmp_path / "ocr.sqlite"
    assert recall_pages(store, b"1") is None
    assert (tried(store), seconds_since(store, 0.0, "a")) == ({}, 0.0)
    remember(store, b"1", engine="a", pages=["x"], seconds=2.0)
    remember(store, b"1", engine="b", pages=["x", "y"], reason="first 2 of 9 pages", seconds=3.0)
    assert recall_pages(store, b"1") == ("b", ["x", "y"], "first 2 of 9 pages")
    assert recall_pages(store, b"2") is None
    remember(store, b"3", engine="a", pages=[""], reason="no text", seconds=4.0)
    assert tried(store) == {b"1": Attempt("b", True, "first 2 of 9 pages"), b"3": Attempt("a", False, "no text")}
    ago, later = time.time() - 600, time.time() + 600
    assert [seconds_since(store, ago, engine) for engine in "ab"] == [4.0, 2.0 + 3.0]
    assert seconds_since(store, later, "a") == 0.0
    assert store.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "config", tmp_path / "data")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


SETTINGS = Settings(index=IndexSettings(workers=1), ocr=OcrSettings(engine=ANY or "auto", background=True))  # type: ignore[arg-type]


@pytest.fixture
def recognising(paths: Paths, notes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recognising]:
    """Over one picture that waits for an engine of no weight."""
    monkeypatch.setattr("app.following.recognising.engine_for", lambda chosen: (TinyRecogniser(), ""))
    picture(notes / "sign.png", "Mind the okapi")
    update_index(SETTINGS, paths, roots=(str(notes),))
    with (
        closing(Catalogue.open(paths.catalogue)) as catalogue,
        closing(Recognising(SETTINGS.ocr, paths, catalogue, lambda _: None)) as one,
    ):
        yield one


def digest_of(paths: Paths, path: Path) -> bytes:
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        return catalogue.known(str(path))[str(path)].digest


def test_a_day_has_so_much_processor_time_and_no_more(paths: Paths, notes: Path, recognising: Recognising) -> None:
    """When it is used up nothing is begun, and the reason is given; without a limit there is no reason."""
    reports: list[Progress] = []
    label = recognising._label
    remember(paths.data_dir / "ocr.sqlite", b"other", engine=label, pages=[], seconds=3_600.0)
    remember(paths.data_dir / "ocr.sqlite", b"speech", engine="whisper-base", pages=[], seconds=3_600.0)
    why = recognising.spent_today()
    assert why == "60 minutes of processor time were used today (ocr.minutes_per_day)"
    with closing(sqlite3.connect(paths.data_dir / "ocr.sqlite")) as store, store:
        store.execute("UPDATE recognised SET made = made + 31536000")  # the clock was a year ahead then
    assert recognising.spent_today() == ""
    with closing(Catalogue.open(paths.catalogue)) as catalogue:
        unbound = msgspec.structs.replace(SETTINGS.ocr, minutes_per_day=0.0)
        assert Recognising(unbound, paths, catalogue, reports.append).spent_today() == ""
        late = Recognising(SETTINGS.ocr, paths, catalogue, reports.append, may_work=lambda: why)
        assert not late.step()
    assert reports[-1].note == f"recognising text in pictures waits: {why}"
    assert digest_of(paths, notes / "sign.png") not in tried(paths.data_dir / "ocr.sqlite")


SPOKEN = Path(__file__).parents[2] / "indexer/extract/media/spoken.ogg"
needs_speech = pytest.mark.skipif(speech.choose()[0] is None, reason=speech.choose()[1])


@needs_speech
def test_what_was_said_is_found_with_its_moment_and_opened_there(device: Device) -> None:
    """Only once requested; a capable player begins at that moment; a rebuilt index keeps the texts."""
    shutil.copy(SPOKEN, device.notes / "memo.ogg")
    (device.notes / "broken.mp4").write_bytes(bytes(range(256)) * 10)
    device.index()
    assert found(device, "cherry trees") == []
    assert "speech recognised in 0, 2 wait (`index --speech`, speech.background)" in device.run("status").stdout
    done = device.run("index", "--speech")
    assert "speech in recordings recognised: 1 file" in done.stderr, done.stderr
    assert "memo.ogg:2:31:[0:10] Tomorrow" in device.run("search", "trees", "--vimgrep").stdout
    (hit,) = map(json.loads, device.run("search", "cherry trees", "--json").stdout.splitlines())
    assert (hit["name"], hit["snippet"]["heading"], hit["snippet"]["page"]) == ("memo.ogg", "at 0:10", 3)
    played = device.home / "played"
    player = device.home / "player"
    player.write_text(f'#!/bin/sh\necho "$@" > {played}\n')
    player.chmod(0o755)
    device.run("open", "1", env={"FOLTR_OPEN__PLAYER": f"{player} --start={{seconds}} {{path}}"})
    until(lambda: played.exists() and played.read_text() == f"--start=10 {device.notes / 'memo.ogg'}\n")
    assert "speech recognised in 1, 1 could not be read" in device.run("status").stdout
    device.run("index", "--rebuild")
    assert found(device, "cherry trees") == ["memo.ogg"]


@pytest.fixture
def listening(paths: Paths, notes: Path) -> Iterator[Recognising]:
    """Over one recording that waits."""
    shutil.copy(SPOKEN, notes / "memo.ogg")
    update_index(SETTINGS, paths, roots=(str(notes),))
    with (
        closing(Catalogue.open(paths.catalogue)) as catalogue,
        closing(Recognising(SETTINGS.speech, paths, catalogue, lambda _: None)) as one,
    ):
        yield one


@needs_speech
def test_a_recording_that_was_begun_goes_on_and_is_found_when_it_is_done(
    paths: Paths, notes: Path, listening: Recognising
) -> None:
    """What was stored before a kill is not recognised again, and unfinished text is in no index."""
    store, digest = paths.data_dir / "ocr.sqlite", digest_of(paths, notes / "memo.ogg")
    remember(store, digest, engine="whisper-base", pages=["kept", ""], reason="so far first 0 minutes")
    document = ExtractedDocument(text="", type="audio")
    assert with_recognised(document, digest, Limits(recognised=str(store))) is document
    while listening.step():
        pass
    _, pages, reason = recall_pages(store, digest) or ("", [], "")
    assert (pages[0], "cherry trees" in pages[2], reason) == ("kept", True, "")
    found = with_recognised(document, digest, Limits(recognised=str(store)))
    assert (found.text.startswith("keptTomorrow"), found.pages) == (True, (0, 4, 4, len(found.text)))
    assert listening.n_texts == 1


@needs_speech
def test_what_was_heard_of_a_recording_stays_when_the_rest_cannot_be(
    paths: Paths, notes: Path, listening: Recognising
) -> None:
    """The text says how far it reaches, and why no further."""
    store, digest = paths.data_dir / "ocr.sqlite", digest_of(paths, notes / "memo.ogg")
    remember(store, digest, engine="whisper-base", pages=["kept"], reason="so far first 10 minutes")
    listening._now = Unrecognised(str(notes / "memo.ogg"), digest)
    listening._keep(ExtractionError("crashed", "the reader crashed (SIGSEGV)"))
    assert recall_pages(store, digest) == ("whisper-base", ["kept"], "first 10 minutes: the reader crashed (SIGSEGV)")
    assert listening.n_texts == 1


def test_what_one_engine_could_not_read_another_one_tries(paths: Paths, notes: Path, recognising: Recognising) -> None:
    """A content with a text is left alone, whichever engine made it; one without is tried by another engine."""
    store, digest = paths.data_dir / "ocr.sqlite", digest_of(paths, notes / "sign.png")
    remember(store, digest, engine="another", pages=[], reason="too dark")
    while recognising.step():
        pass
    assert recall_pages(store, digest) == ("tiny", ["Mind the okapi"], "")
    assert recognising.n_texts == 1


def test_a_text_belongs_to_the_content_that_was_read(paths: Paths, notes: Path, recognising: Recognising) -> None:
    """If the picture changes before it is read, the text is stored for the new content only."""
    store, before = paths.data_dir / "ocr.sqlite", digest_of(paths, notes / "sign.png")
    picture(notes / "sign.png", "Mind the zebra")
    while recognising.step():
        pass
    assert before not in tried(store)
    update_index(SETTINGS, paths, roots=(str(notes),))
    assert recall_pages(store, digest_of(paths, notes / "sign.png")) == ("tiny", ["Mind the zebra"], "")


def test_a_picture_that_is_gone_is_no_failure(paths: Paths, notes: Path, recognising: Recognising) -> None:
    (notes / "sign.png").unlink()
    while recognising.step():
        pass
    assert tried(paths.data_dir / "ocr.sqlite") == {}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a stopped process with its parent")
def test_a_file_in_hand_stands_still_as_soon_as_it_must_wait(paths: Paths, recognising: Recognising) -> None:
    """On battery, for example, the reader pauses at once with a reason, and on mains continues the same file."""
    before, reports, why = set(multiprocessing.active_children()), list[Progress](), [""]
    with (
        closing(Catalogue.open(paths.catalogue)) as catalogue,
        closing(Recognising(
            SETTINGS.ocr, paths, catalogue, reports.append, may_work=lambda: why[0], may_be_suspended=True
        )) as one,
    ):  # fmt: skip
        assert one.step()
        (reader,) = {*multiprocessing.active_children()} - before
        why[0] = "on battery"
        assert not one.step()
        until(lambda: psutil.Process(reader.pid).status() == "stopped")
        assert reports[-1].note == "recognising text in pictures waits: on battery"
        why[0] = ""
        assert one.step()
        assert psutil.Process(reader.pid).status() != "stopped"
        while one.step():
            pass
        assert one.n_texts == 1


@needs_engine
def test_no_reader_is_left_behind(paths: Paths, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the follower of changes is stopped while it recognises, it ends the reading process."""
    monkeypatch.setattr("app.following.following.give_way", lambda: None)  # there is no way back for this process
    picture(notes / "sign.png", "Mind the okapi")
    before, stop = multiprocessing.active_children(), threading.Event()
    chosen = msgspec.structs.replace(SETTINGS.ocr, pause_on_battery=False)
    settings = msgspec.structs.replace(SETTINGS, ocr=chosen, index=IndexSettings(workers=1, roots=[str(notes)]))

    def stop_once_it_recognises(progress: Progress) -> None:
        if progress.phase == "recognising":
            stop.set()

    follow_changes(settings, paths, on_progress=stop_once_it_recognises, stop=stop, pause_on_battery=False)
    assert stop.is_set()
    assert multiprocessing.active_children() == before


WORDS = ("okapi", "zebra", "otter")


@needs_engine
def test_following_changes_recognises_once_that_is_switched_on(device: Device) -> None:
    """After a kill it continues: no text is lost, made twice or incomplete. Switched off, it makes none."""
    for word in WORDS:
        picture(device.notes / f"{word}.png", f"Please feed the {word}")
    device.index()
    off = {"FOLTR_OCR__ENGINE": ANY}
    with watching(device, off) as reports:
        until(lambda: any(report.phase == "watching" for report in reports))
    assert not (device.data_dir / "ocr.sqlite").exists()
    on = {**off, "FOLTR_OCR__BACKGROUND": "true", "FOLTR_OCR__PAUSE_ON_BATTERY": "false"}
    with watching(device, on, kill=True):
        until(lambda: len(rows(device)) >= 1)
    before = rows(device)
    with watching(device, on):
        until(lambda: len(rows(device)) == len(WORDS))  # a search a moment would take the processor from it
        until(lambda: found_in_index(device, "feed") == {f"{word}.png" for word in WORDS})
    after = rows(device)
    assert {digest: after[digest] for digest in before} == before
    assert len(after) == len(WORDS)
    assert sorted(text.split()[-1].lower() for _, text in after.values()) == sorted(WORDS)


@contextmanager
def watching(device: Device, env: dict[str, str], *, kill: bool = False) -> Iterator[list[Progress]]:
    """`watch --events` in a process of its own: its reports as they come. It is killed at the end, or stopped."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app.cli", "watch", "--events"], env=device.environment(**env),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=device.home,
    )  # fmt: skip
    reports: list[Progress] = []

    def read() -> None:
        for line in process.stdout or ():
            reports.append(msgspec.json.decode(line, type=Progress))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield reports
    finally:
        if kill:
            process.kill()
        if process.stdin:
            process.stdin.close()
        process.wait(PATIENCE)
        reader.join(PATIENCE)


def rows(device: Device) -> dict[bytes, tuple[float, str]]:
    """What is kept: when it was made, and the text, by digest."""
    path = device.data_dir / "ocr.sqlite"
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as store:
        try:
            found = store.execute("SELECT digest, made, pages FROM recognised").fetchall()
        except sqlite3.OperationalError:  # the table is being made
            return {}
    return {bytes(digest): (made, " ".join(json.loads(pages))) for digest, made, pages in found}


def found_in_index(device: Device, query: str) -> set[str]:
    return {name for name in found(device, query) if name.endswith(".png")}
