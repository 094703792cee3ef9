"""What was deleted is gone: no byte of it is left in the data folder, searched raw, whatever it was kept for."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import time
import zipfile
import zlib
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from app.document_to_open import FOLDER, MAX_AGE
from indexer.extract.media.recognised import FILE, remember
from indexer.meaning.encoder import kind_of
from indexer.meaning.vectors import FILE as VECTORS
from indexer.meaning.vectors import read
from indexer.storage.mail_threads import message_key
from tests import copied
from tests.app.conftest import make_device
from tests.app.resident.conftest import serving
from tests.tiny_encoder import write_encoder

if TYPE_CHECKING:
    from tests.app.conftest import Device

WITHOUT_OVERWRITING = """
import sqlite3
connect = sqlite3.connect
def connect_as_compiled_elsewhere(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.execute("PRAGMA secure_delete = OFF")
    return connection
sqlite3.connect = connect_as_compiled_elsewhere
"""
"""SQLite as it is on most systems: Debian's overwrites deleted rows by itself"""
MAIL = "From: tapir@bettong.example\nTo: b@c\nSubject: bilby\nMessage-ID: <platypus@x>\n\nThe cassowary is late.\n"
SECRETS = (
    b"wombat", b"quokka", b"numbat", b"echidna", b"quoll", b"potoroo", b"kowari", b"possum", b"dunnart", b"tapir",
    b"bettong", b"bilby", b"cassowary", b"takahe", b"kakapo", b"pademelon",
)  # fmt: skip
"""words of names, folders, texts, titles, properties, tags, authors, subjects, failures and recognised pictures"""


@pytest.fixture
def device(tmp_path: Path) -> Device:
    """One with files that say the secrets in every way."""
    made = make_device(tmp_path)
    folder = made.notes / "wombat"
    folder.mkdir()
    (folder / "quokka.txt").write_text("The numbat and the heron meet the echidna.\n")
    (folder / "note.md").write_text("---\ntitle: Quoll\ntags: [potoroo]\nartist: kowari\n---\nOne line.\n")
    (folder / "possum.png").write_bytes(b"\x89PNG\r\n of no use")
    (folder / "kakapo.pdf").write_bytes(b"%PDF-1.4 damaged")
    (folder / "inbox.mbox").write_text("From tapir Mon Jan  1 00:00:00 2024\n" + MAIL)
    (folder / "page.html").write_text("<html><title>Takahe</title><body>pademelon</body></html>")
    return made


def run(device: Device, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    variables = device.environment(FOLTR_OPEN__MAIL="true {path}", **more)
    done = copied.run(arguments, variables=variables, cwd=device.home, code=WITHOUT_OVERWRITING + copied.COMMAND)
    assert done.returncode == 0, done.stderr
    return done


def raw(folder: Path) -> bytes:
    """The names and bytes of all files, and whatever in them can be unpacked, in small letters."""
    parts = [os.fsencode(path) + b"\n" + path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    parts += [unpacked for part in list(parts) for unpacked in _unpacked(part)]
    return b"\n".join(parts).lower()


def _unpacked(content: bytes) -> list[bytes]:
    """Every run of bytes that zlib takes for one of its streams, as far as it goes."""
    found, at = [], content.find(b"\x78")
    while at >= 0:
        with suppress(zlib.error):
            found.append(zlib.decompressobj().decompress(content[at : at + 100_000]))
        at = content.find(b"\x78", at + 1)
    return found


def left(device: Device) -> set[bytes]:
    content = raw(device.data_dir)
    return {word for word in SECRETS if word in content}


def fill(device: Device) -> None:
    """Index the secrets, recognise a picture, and open a mail."""
    run(device, "index", str(device.notes))
    with sqlite3.connect(device.data_dir / "catalogue.sqlite") as catalogue:
        row = catalogue.execute("SELECT digest FROM files WHERE CAST(path AS TEXT) LIKE '%possum.png'").fetchone()
    remember(device.data_dir / FILE, row[0] or b"its digest", engine="any", pages=["a dunnart"])
    run(device, "search", "cassowary")
    run(device, "open", "1")
    assert list((device.data_dir / FOLDER).glob("*.eml"))


@pytest.mark.parametrize("beside", ["alone", "serve"])
def test_no_byte_of_a_deleted_file_is_left(device: Device, beside: str) -> None:
    """After the next `index`, beside a process that keeps index and catalogue open too; what stays is found as ever."""
    with ExitStack() as running:
        if beside == "serve":
            running.enter_context(serving(device, code=WITHOUT_OVERWRITING + copied.COMMAND))
        fill(device)
        assert left(device) == set(SECRETS)
        key = message_key("platypus@x").to_bytes(8, "big")
        assert key in (device.data_dir / "catalogue.sqlite").read_bytes() + _log(device)
        shutil.rmtree(device.notes / "wombat")
        run(device, "index")
        assert left(device) == set()
        assert key not in (device.data_dir / "catalogue.sqlite").read_bytes() + _log(device)
        assert json.loads(run(device, "status", "--json").stdout)["n_unwiped"] == 0
        assert "heron.txt" in run(device, "search", "heron").stdout


def _log(device: Device) -> bytes:
    log = device.data_dir / "catalogue.sqlite-wal"
    return log.read_bytes() if log.exists() else b""


def test_what_leaves_a_file_that_stays_is_gone(device: Device) -> None:
    """A member of an archive, a mail of a mailbox with what was attached: at once where a folder has moved, too."""
    shutil.rmtree(device.notes / "wombat")
    attached = "Content-Disposition: attachment; filename=takahe.txt\n\nA kakapo.\n"
    kept = "From b Mon Jan  1 00:00:00 2024\nFrom: b@c\nSubject: stays\n\nA heron.\n"
    parts = f"Content-Type: multipart/mixed; boundary=B\n\n--B\n\npossum\n--B\n{attached}--B--\n\n"
    (device.notes / "in.mbox").write_text(f"From quokka Mon Jan  1 00:00:00 2024\nSubject: bilby\n{parts}{kept}")
    (device.notes / "tapir").mkdir()
    (device.notes / "tapir" / "x.txt").write_text("A heron.")
    for members in ({"quoll.txt": "A numbat.", "a.txt": "An egret."}, {"a.txt": "An egret."}):
        with zipfile.ZipFile(device.notes / "pack.zip", "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        if len(members) == 1:
            (device.notes / "in.mbox").write_text(kept)
            (device.notes / "tapir").rename(device.notes / "elsewhere")
        run(device, "index", str(device.notes))
        gone = {b"takahe", b"kakapo", b"possum", b"bilby", b"tapir", b"quoll", b"numbat"}
        assert left(device) == (gone if len(members) == 2 else set())


def test_older_versions_of_a_changed_file_are_counted_until_they_go(device: Device) -> None:
    """`status` says so; `index --optimize` wipes at once, and so does an `index` an hour later (indexer tests)."""
    (device.notes / "long.txt").write_text(" ".join(f"word{i}" for i in range(20_000)))  # else all is merged at once
    run(device, "index", "--optimize", str(device.notes))
    (device.notes / "wombat" / "quokka.txt").write_text("Another text.\n")
    run(device, "index")
    assert {b"numbat", b"echidna"} <= left(device)
    assert json.loads(run(device, "status", "--json").stdout)["n_unwiped"] == 1
    assert "1 text still on disk" in run(device, "status").stdout
    run(device, "index", "--optimize")
    assert {b"numbat", b"echidna"}.isdisjoint(left(device))
    assert json.loads(run(device, "status", "--json").stdout)["n_unwiped"] == 0


def test_a_copy_of_an_opened_mail_goes_after_a_day_though_no_other_is_opened(device: Device) -> None:
    """With the next `index`, also one that a kill left unfinished; a stranger's file beside them stays."""
    fill(device)
    folder = device.data_dir / FOLDER
    for name in ("tmpabcd1234.part", "mine.eml"):
        (folder / name).write_text("x")
    run(device, "index")
    assert len(list(folder.iterdir())) == 3
    for path in folder.iterdir():
        os.utime(path, (time.time() - MAX_AGE - 60,) * 2)
    run(device, "index")
    assert [path.name for path in folder.iterdir()] == ["mine.eml"]


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="the extra `meaning` is not installed")
def test_no_vector_of_a_deleted_file_is_left(device: Device) -> None:
    """Its numbers are overwritten by the next `index`, though they are few among many."""
    chosen = {
        "FOLTR_MEANING__ENABLED": "true", "FOLTR_MEANING__MODEL": str(write_encoder(device.home / "encoder"))
    }  # fmt: skip
    secret = device.notes / "secret.txt"
    secret.write_text("A tax, a car, a heron and income.")
    run(device, "index", str(device.notes), **chosen)
    before = read(device.data_dir / "index", kind_of(str(device.home / "encoder")).name)
    with sqlite3.connect(device.data_dir / "catalogue.sqlite") as catalogue:
        (found,) = catalogue.execute(
            "SELECT content_hash FROM documents JOIN files USING (file_id) WHERE CAST(path AS TEXT) LIKE '%secret.txt'"
        ).fetchone()
    content = int.from_bytes(found[:8], "little") >> 1
    assert content in before["content"]
    record = before[before["content"] == content][0].tobytes()
    assert record in (device.data_dir / "index" / VECTORS).read_bytes()
    others = np.array(before[before["content"] != content])
    secret.unlink()
    run(device, "index", **chosen)
    after = read(device.data_dir / "index", kind_of(str(device.home / "encoder")).name)
    assert record[:-3] not in (device.data_dir / "index" / VECTORS).read_bytes()
    assert after[after["content"] != 0].tobytes() == others.tobytes()
