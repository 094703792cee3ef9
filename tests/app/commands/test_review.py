"""`review` as a user runs it: a dialogue in lines, JSON for programs, and uses of the judgements."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.app.conftest import DOCUMENTS, Device


def started(device: Device, *arguments: str) -> subprocess.Popen[str]:
    """The command in a process of its own, with pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "app", "review", *arguments], env=device.environment(), cwd=device.home,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def answered(device: Device, *arguments: str, answers: str) -> subprocess.CompletedProcess[str]:
    """The command with answers typed ahead."""
    return device.run("review", *arguments, typed=answers)


def test_a_dialogue_in_lines(device: Device) -> None:
    """Shows each document with its place and passage, takes answers, words and mistakes, and says how far it is."""
    device.index()
    done = answered(device, "kingfisher", "fish", answers="what\nt\nyes\nn\nu\nl\nq\n")
    assert done.returncode == 0, done.stderr
    assert "[1 of 6] 0 found, too few to estimate how many there are" in done.stdout
    assert str(device.notes / "birds" / "kingfisher.md") in done.stdout
    assert "It nests in river banks." in done.stdout
    assert done.stdout.count("[2 of 6]") == 3  # the second one answered, taken back, and put off
    assert done.stdout.endswith("1 found, too few to estimate how many there are\n")
    listed = device.run("review", "--list").stdout
    assert listed.startswith("1\t")
    assert listed.endswith("\t1 found, 1 read\tkingfisher fish\n")


def test_without_an_index_nothing_is_begun(device: Device) -> None:
    """It says what to do, as a search does, and leaves no review behind."""
    done = answered(device, "fish", answers="")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "foltr-search: nothing is indexed yet; to begin: `foltr-search index FOLDER`\n"
    assert device.run("review", "--list").stdout == ""


def test_programs_get_a_line_of_json_a_document(device: Device) -> None:
    """All documents, then the end; a second run has nothing left to ask."""
    device.index()
    done = answered(device, "--json", "fish", answers="y\n" * 3 + "n\n" * 10)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {Path(line["path"]).name for line in lines[:-1]} == {Path(name).name for name in DOCUMENTS}
    assert [line["progress"]["n_read"] for line in lines] == [0, 1, 2, 3, 4, 5, 6]
    assert lines[-1]["end"]
    assert lines[-1]["progress"]["in_words"] == "3 found, all 6 documents read"
    again = answered(device, "--resume", "1", "--json", answers="")
    assert [json.loads(line)["end"] for line in again.stdout.splitlines()] == [True]
    assert json.loads(device.run("review", "--list", "--json").stdout)["n_found"] == 3


def test_no_answer_is_lost_by_a_kill(device: Device) -> None:
    """After a kill at any shown document, each earlier answer is stored, and that document comes again."""
    device.index()
    shown: list[dict[str, Any]] = []
    for n_answered in range(4):
        process = started(device, "--json", "fish")
        assert process.stdin is not None
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert first["progress"]["n_read"] == n_answered
        assert not shown or first == shown[-1]
        process.stdin.write("y\n")
        process.stdin.flush()
        shown.append(json.loads(process.stdout.readline()))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert [one["progress"]["n_found"] for one in shown] == [1, 2, 3, 4]


def test_what_is_done_with_what_was_judged(device: Device, tmp_path: Path) -> None:
    """A report, a saved search, picks, and forgetting; none of them asks anything."""
    device.index()
    answered(device, "river", answers="y\ny\nn\nn\nn\nn\n")
    report = tmp_path / "found.md"
    done = device.run("review", "river", "--report", str(report), "--save", "rivers", "--teach")
    assert done.returncode == 0, done.stderr
    assert "2 found, all 6 documents read" in report.read_text()
    saved = device.run("saved").stdout
    assert saved.startswith("@rivers\triver ")
    assert f"saved as {saved.strip()}".replace("\t", ": ") in done.stderr
    assert "2 newly counted as opened" in done.stderr
    report.unlink()
    done = device.run("review", "--resume", "1", "--report", str(report), "--forget")
    assert done.stderr.endswith("review 1 is forgotten\n")
    assert report.exists()  # before it was forgotten
    assert device.run("review", "--list").returncode == 1


def test_a_report_of_no_named_review_is_of_the_newest(device: Device, tmp_path: Path) -> None:
    """It says which one, or that there is none. --teach and --forget need a named review."""
    report = tmp_path / "found.md"
    device.index()
    none = device.run("review", "--report", str(report))
    assert (none.returncode, none.stderr.count("\n")) == (2, 1)
    assert "no review was begun" in none.stderr
    for query in ("river", "fish"):
        answered(device, query, answers="y\n")
    done = device.run("review", "--report", str(report), "--save", "mine")
    assert done.returncode == 0
    assert done.stderr.startswith(f"foltr-search: review 2: fish\nfoltr-search: wrote {report}\n")
    assert device.run("saved").stdout.startswith("@mine\tfish")
    for deed in ("--teach", "--forget"):
        assert device.run("review", deed).returncode == 2


def test_mistakes_are_one_line(device: Device) -> None:
    """Neither query nor number, both, a number that is not there, a report of no known form, an empty index."""
    assert device.run("review", "--list").returncode == 1
    assert not device.data_dir.exists()
    for wrong in ([], ["fish", "--resume", "1"], ["--resume", "7"], ["fish", "--report", "x.md"], ["fish", "--nope"]):
        done = device.run("review", *wrong)
        assert done.returncode == 2, wrong
        assert done.stderr.strip().splitlines()[-1].startswith(("foltr-search: ", "Error: ")), wrong
    assert answered(device, "fish", answers="").returncode == 1
    assert device.run("review", "fish", "--report", "x.doc").stderr.count("\n") == 1
    assert device.run("review", b"f\xffsh").returncode == 1
