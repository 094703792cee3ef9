"""`index`, `watch`, `why` and `status` as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from tests.tiny_encoder import write_encoder

if TYPE_CHECKING:
    from tests.app.conftest import Device


def start(device: Device, *arguments: str, env: Mapping[str, str] = MappingProxyType({})) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "app", *arguments],
        env={**device.environment(), **env}, cwd=device.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def found(device: Device, query: str) -> set[str]:
    lines = device.run("search", query, "--format", "{path}", "-n", "100").stdout.splitlines()
    return {str(Path(line).relative_to(device.notes)) for line in lines}


def test_indexing_says_on_stderr_what_it_did(device: Device) -> None:
    """stdout stays empty; the summary counts files, and a second run has nothing to do."""
    first = device.run("index", str(device.notes))
    assert (first.returncode, first.stdout) == (0, "")
    assert "foltr-search: files: 6 new" in first.stderr
    assert "6 unchanged" in device.run("index").stderr


def test_folders_are_remembered_until_they_are_forgotten(device: Device) -> None:
    """`index` without a folder covers those named before; --forget removes one, with its documents."""
    birds, tax = device.notes / "birds", device.notes / "tax"
    device.run("index", str(birds))
    device.run("index", str(tax))
    assert found(device, "heron") == {"birds/heron.txt", "birds/list.txt", "tax/return 2024.txt"}
    assert device.run("index", "--forget", str(birds)).returncode == 0
    assert found(device, "heron") == {"tax/return 2024.txt"}
    refused = device.run("index", "--forget", str(birds))
    assert refused.returncode == 2
    assert str(tax) in refused.stderr


def test_without_any_folder_it_asks_for_one(device: Device) -> None:
    """Nothing to index is an error that shows how to choose."""
    for command in ("index", "watch"):
        done = device.run(command)
        assert done.returncode == 2
        assert "foltr-search index ~/Documents" in done.stderr


def test_roots_of_the_settings_are_indexed_too(device: Device) -> None:
    """index.roots and remembered folders together are what is indexed."""
    device.config_file.write_text(f'[index]\nroots = ["{device.notes / "birds"}"]\n', encoding="utf-8")
    assert device.run("index", str(device.notes / "tax")).returncode == 0
    assert {"birds/heron.txt", "tax/return 2024.txt"} <= found(device, "heron")


def test_changes_are_noticed_and_rebuild_finds_the_same(device: Device) -> None:
    """New, changed, moved and deleted files are counted; --rebuild and --optimize change nothing that is found."""
    device.index()
    (device.notes / "new.txt").write_text("a bittern", encoding="ascii")
    (device.notes / "birds" / "list.txt").write_text("bittern and crane", encoding="ascii")
    (device.notes / "birds" / "kingfisher.md").unlink()
    (device.notes / "tax" / "invoice.html").rename(device.notes / "invoice.html")
    done = device.run("index")
    assert "1 new, 1 changed, 1 moved, 1 removed" in done.stderr
    assert found(device, "bittern") == {"new.txt", "birds/list.txt"}
    assert found(device, "kingfisher") == set()
    assert found(device, "boat") == {"invoice.html"}
    for option in ("--rebuild", "--optimize"):
        assert device.run("index", option).returncode == 0
        assert found(device, "bittern") == {"new.txt", "birds/list.txt"}


@pytest.mark.skipif(os.name == "nt", reason="no such signals there")
def test_interrupted_it_keeps_what_is_done(device: Device) -> None:
    """Ctrl-C ends with exit code 130 and one line; the next run continues and finds everything."""
    for number in range(300):
        (device.notes / f"{number}.txt").write_text(f"osprey {number} " * 2000, encoding="ascii")
    process = start(device, "index", str(device.notes), "--workers", "1")
    assert process.stderr is not None
    first_line = process.stderr.readline()
    assert first_line
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=300)
    assert "Traceback" not in rest
    if process.returncode == 130:
        assert "stopped early; what was done is kept" in rest
    else:
        assert process.returncode == 0  # it was quicker than the signal
    assert device.run("index").returncode == 0
    assert json.loads(device.run("status", "--json").stdout)["n_documents"] == 306


@pytest.mark.skipif(os.name == "nt", reason="no such signals there")
def test_interrupted_while_it_reads_for_meaning_all_can_be_searched(device: Device) -> None:
    """It says that words can be searched already; Ctrl-C ends it with one line, and the next run goes on from there."""
    pytest.importorskip("onnxruntime")
    for number in range(300):
        (device.notes / f"{number}.txt").write_text(f"osprey {number} " * 150, encoding="ascii")
    env = {
        "FOLTR_MEANING__ENABLED": "true", "FOLTR_MEANING__MODEL": str(write_encoder(device.home / "encoder")),
        "FOLTR_MEANING__PAUSE_ON_BATTERY": "false",
    }  # fmt: skip
    process = start(device, "index", str(device.notes), env=env)
    assert process.stderr is not None
    assert any(line.startswith("words can be searched; reading for meaning") for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=300)
    assert "Traceback" not in rest
    assert len(found(device, "osprey")) == 100  # as many as are asked for
    if "read for meaning: 306 documents" in rest:
        assert process.returncode in (0, 130)  # it was quicker than the signal
    else:
        assert process.returncode == 130
        assert "of 306 documents; the next run goes on from there" in rest
    done = device.run("index", env=env)
    assert "read for meaning: 306 documents" in done.stderr


def test_watch_follows_changes_and_prints_events(device: Device) -> None:
    """`watch --events` writes one JSON object per line, a new file becomes findable, SIGTERM ends it in order."""
    device.index()
    process = start(device, "watch", "--events")
    assert process.stdout is not None
    try:
        seen = []
        for line in process.stdout:
            seen.append(json.loads(line))
            if seen[-1]["phase"] in ("watching", "polling"):
                break
        before = seen[-1]["generation"]
        (device.notes / "late.txt").write_text("a spoonbill", encoding="ascii")
        for line in process.stdout:
            seen.append(json.loads(line))
            if seen[-1]["generation"] > before:
                break
        assert found(device, "spoonbill") == {"late.txt"}
        assert {"phase", "n_done", "n_total", "rate_mb_s", "eta_seconds", "current", "last_error"} <= seen[-1].keys()
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors


def test_watch_may_first_read_again_what_failed(device: Device) -> None:
    """Only with --retry-failures; otherwise a file that failed once is not read again."""
    device.index()
    with closing(connect(device.data_dir / "catalogue.sqlite")) as db, db:
        failed = device.notes / "birds" / "heron.txt"
        db.execute("UPDATE files SET state = 'failed', kind = 'malformed' WHERE path = ?", (os.fsencode(failed),))
        db.execute("DELETE FROM settled")
    for options, n_failed in (((), 1), (("--retry-failures",), 0)):
        process = start(device, "watch", "--events", *options)
        try:
            assert process.stdout is not None
            assert any(json.loads(line)["phase"] in ("watching", "polling") for line in process.stdout)
        finally:
            process.terminate()
            process.communicate(timeout=300)
        assert len(json.loads(device.run("status", "--failures", "--json").stdout)["failures"]) == n_failed


def test_a_second_writer_is_told_who_is_writing(device: Device) -> None:
    """While another process holds the index's lock, `index` ends with one line that names it."""
    device.index()
    (device.notes / "more.txt").write_text("egret", encoding="ascii")
    holder = subprocess.Popen(
        [sys.executable, "-c", "import sys; from pathlib import Path; from indexer.storage.index import Index\n"
         "with Index.open(Path(sys.argv[1])).writer('a patient holder'): print('held', flush=True); sys.stdin.read()",
         str(device.data_dir / "index")],
        env=device.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        done = device.run("index")
        status = device.run("status")
    finally:
        holder.communicate(timeout=300)
    assert done.returncode == 2
    assert "a patient holder" in done.stderr
    assert str(holder.pid) in done.stderr
    assert "Traceback" not in done.stderr
    assert "a patient holder" in status.stdout


def test_why_names_what_keeps_a_file_out(device: Device) -> None:
    """Indexed, ignored by a pattern, too large, outside: each is reported, with exit code 0 only for indexed."""
    (device.notes / ".gitignore").write_text("*.log\n", encoding="ascii")
    (device.notes / "app.log").write_text("x", encoding="ascii")
    device.index()
    indexed = device.run("why", str(device.notes / "birds" / "heron.txt"))
    assert indexed.returncode == 0
    assert "indexed on" in indexed.stdout
    ignored = device.run("why", str(device.notes / "app.log"))
    assert ignored.returncode == 1
    assert "*.log" in ignored.stdout
    assert ".gitignore" in ignored.stdout
    closed = device.notes / "closed.txt"
    closed.write_text("x")
    closed.chmod(0)
    assert device.run("why", str(closed)).stdout.startswith(f"{closed}: ")  # of what nobody may read, too
    outside = device.run("why", str(device.home / "elsewhere.txt"))
    assert outside.returncode == 1
    assert "outside the folders" in outside.stdout
