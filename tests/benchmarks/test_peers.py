"""Measuring in turns: the order, the medians, the ratios, and peers that are absent, fail or are late."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import load
from benchmarks.peers import desktop, engine_indexes, engines, letor, published, published_worker
from benchmarks.peers.__main__ import PEERS, chosen
from benchmarks.peers.pairs import AbsentError, Bench, Measure, Sample, ratio_of, shown
from benchmarks.processes import run
from tests.waiting import until


def noted(calls: list[str], name: str, *values: float) -> Measure:
    """A side that writes down when it is asked and gives one value after another."""
    left = iter(values)

    def measure() -> Sample:
        calls.append(name)
        return {"CPU-s": next(left)}

    return measure


def test_sides_take_turns() -> None:
    """Ours, each peer, ours again: nothing is measured alone."""
    calls: list[str] = []
    bench = Bench(runs=3)
    a, b = noted(calls, "a", 1, 1, 1), noted(calls, "b", 1, 1, 1)
    bench.compare("work", noted(calls, "ours", 1, 1, 1), {"a": a, "b": b})
    assert calls == ["ours", "a", "b"] * 3


def test_a_line_has_medians_and_the_median_ratio() -> None:
    """Ours 2, 4, 9 beside 4, 4, 3: the ratios .5, 1 and 3."""
    bench = Bench(runs=3)
    bench.compare("work", noted([], "ours", 2, 4, 9), {"peer": noted([], "peer", 4, 4, 3)})
    assert bench.table.rows == [("work", "CPU-s", "4.00", "peer", "4.00", "1.00")]


def test_the_ratio_is_of_each_turn() -> None:
    """A machine that slows down between turns changes both medians and not the ratio: 1/2, 10/20, 100/25."""
    found = ratio_of([1.0, 10.0, 100.0], [2.0, 20.0, 25.0])
    assert (found.ours, found.theirs, found.ratio) == (10.0, 20.0, 0.5)


def test_nothing_that_can_be_seen_has_no_ratio() -> None:
    """A peer whose time is below what the clock shows is not infinitely fast."""
    assert shown(ratio_of([1.0], [0.0]).ratio) == "-"


@pytest.mark.parametrize(
    ("value", "text"),
    [(186_234.0, "186,000"), (1_010_400.0, "1,010,000"), (82.51, "82.5"), (17.249, "17.2"), (0.4812, ".481"),
     (4.0, "4.00"), (0.0, ".000"), (999.6, "1,000")],
)  # fmt: skip
def test_three_digits_count(value: float, text: str) -> None:
    """No more than was measured."""
    assert shown(value) == text


def test_an_absent_peer_is_one_line() -> None:
    """It says how to get the peer, and the peer is not asked."""

    def find() -> None:
        raise AbsentError("apt-get install peer")

    bench = Bench()
    assert not bench.present("peer", find)
    bench.compare("work", noted([], "ours", 1), {"peer": noted([], "peer")})
    assert (bench.remarks, bench.table.rows) == (["peer: not here: apt-get install peer"], [])


def test_a_failing_peer_is_one_line_and_the_rest_goes_on() -> None:
    """A peer that fails in the second turn has no line; the other one has all its turns; later work leaves it out."""
    calls: list[str] = []
    bench = Bench(runs=2)
    bad = noted(calls, "bad", 1)  # the second value is missing
    bench.compare("work", noted(calls, "ours", 1, 3), {"bad": bad, "good": noted(calls, "good", 2, 2)})
    bench.compare("more", noted(calls, "ours", 1, 1), {"bad": bad, "good": noted(calls, "good", 1, 1)})
    assert [row[3] for row in bench.table.rows] == ["good", "good"]
    assert bench.remarks == ["bad: work: failed: StopIteration: no message"]
    assert calls[-4:] == ["ours", "good"] * 2


def test_a_failing_command_says_what_it_printed_last() -> None:
    """Not the whole output, and not the command line."""

    def fail() -> Sample:
        raise subprocess.CalledProcessError(3, ["peer"], b"one\ncannot open the index\n\n")

    bench = Bench(runs=1)
    bench.compare("work", noted([], "ours", 1), {"peer": fail})
    assert bench.remarks == ["peer: work: failed: CalledProcessError: cannot open the index"]


def test_what_fails_of_ours_ends_one_comparison() -> None:
    """The peers are not to blame and are asked again for the next work."""
    bench = Bench(runs=1)
    bench.compare("work", noted([], "ours"), {"peer": noted([], "peer", 1)})
    bench.compare("more", noted([], "ours", 1), {"peer": noted([], "peer", 1)})
    assert [row[0] for row in bench.table.rows] == ["more"]
    assert bench.remarks == ["ours: work: failed: StopIteration: no message"]


def test_no_turn_begins_after_the_deadline() -> None:
    """What was not measured at all is said; a turn that was measured counts."""
    bench = Bench(runs=9, deadline=time.monotonic() - 1)
    bench.compare("work", noted([], "ours", 1), {"peer": noted([], "peer", 1)})
    assert bench.remarks == ["work: not measured, the time was up"]
    bench = Bench(runs=9, deadline=time.monotonic() + 60)

    def late() -> Sample:
        bench.deadline = 0.0
        return {"CPU-s": 2.0}

    bench.compare("work", noted([], "ours", 1), {"peer": late})
    assert bench.table.rows == [("work", "CPU-s", "1.00", "peer", "2.00", ".500")]


def test_a_subset_is_chosen_by_name() -> None:
    """Unknown names are refused with those there are."""
    assert chosen("letor, recoll") == {"letor", "recoll"}
    with pytest.raises(ArgumentTypeError, match="there are pdgd"):
        chosen("letor,lucene")


def test_nothing_present_is_a_page_of_lines(tmp_path: Path) -> None:
    """The whole command without checkouts and corpus: exit code 0, one line for each peer asked for, no table."""
    command = (sys.executable, "-m", "benchmarks.peers", "--only", "pdgd,fpdgd,foltr-es,recoll,fts5")
    done = subprocess.run((*command, "--repositories", str(tmp_path)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("* ")]
    assert [line.split(":")[0] for line in lines[:3]] == ["* HarrieO's PDGD", "* ielab's FPDGD", "* foltr-es"]
    assert all("git clone https://github.com/" in line for line in lines[:3])
    assert "| work" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith(("quiet: ", "busy: "))


def test_every_family_has_its_names() -> None:
    """What --only takes is what the families know."""
    assert set(published.SHOWN) == set(published.CHECKOUTS) == set(published_worker.PROGRAMS)
    assert {case.method for case in published.CASES} == set(published.CHECKOUTS)
    assert {case.users for case in published.CASES} == {"navigational", "informational", "perfect"}
    assert len(PEERS) == len(set(PEERS))


def test_others_make_the_machine_busy() -> None:
    """Two cores for ten seconds are twenty; of them nine were not ours: 45 %."""
    start, end = load.Moment(0.0, 1.0, 100.0, 0.5), load.Moment(10.0, 6.0, 114.0, 1.5)
    assert load.verdict(start, end, n_cores=2).startswith("busy: other programs took 45 % of the cores")
    own = load.Moment(10.0, 14.0, 114.0, 1.5)
    assert load.verdict(start, own, n_cores=2).startswith("quiet: other programs took 5 %")


def test_a_worker_answers_and_is_kept_alive(tmp_path: Path) -> None:
    """The driver of the published programs, with a program of three lines in the place of one."""
    script = Path(published_worker.__file__).read_text()
    stand_in = 'PROGRAMS["pdgd"] = lambda checkout, wanted: lambda: wanted["local"]\nif __name__ == "__main__":'
    (tmp_path / "worker.py").write_text(script.replace('if __name__ == "__main__":', stand_in))
    questions = ['{"seconds": 0.01}', '{"set up": {"local": 5}}', '{"seconds": 0.01}', '{"set up": {}}']
    done = subprocess.run(
        (sys.executable, tmp_path / "worker.py", "pdgd", tmp_path),
        input="\n".join(questions), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    early, ready, rate, failed = map(json.loads, done.stdout.splitlines())
    assert early == {"error": "RuntimeError: nothing is set up"}
    assert ready == {"ready": True}
    assert rate["done"] % 5 == 0
    assert rate["done"] > 0
    assert rate["cpu"] >= 0.01
    assert failed == {"error": "KeyError: 'local'"}


def test_print_statements_of_python_2_are_passed_over(tmp_path: Path) -> None:
    """The rest of the module is as it was."""
    (tmp_path / "old.py").write_text("def f(x):\n  if x:\n    print 'large', x\n  return x + 1\n")
    published_worker.without_prints("old_module_of_a_test", tmp_path / "old.py")
    assert sys.modules.pop("old_module_of_a_test").f(1) == 2


def test_the_published_programs_read_our_queries(tmp_path: Path) -> None:
    """A line for each document, with the closing # that two of their readers want."""
    from benchmarks.simulation_speed import even_queries

    files = published.Files.write(even_queries(2, n_docs=3, n_features=4), tmp_path / "data")
    lines = files.text.read_text().splitlines()
    assert len(lines) == 6
    assert lines[3].split()[1] == "qid:2"
    assert all(line.endswith(" #") and len(line.split()) == 7 for line in lines)


def test_scikit_learn_reads_the_same_file() -> None:
    """A small file in one turn: a line for processor time and one for the clock."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    bench = Bench(runs=1)
    letor.measure(bench, megabytes=1)
    assert [row[1] for row in bench.table.rows] == ["CPU-s", "wall s"]
    assert not bench.remarks


@pytest.mark.parametrize("engine", list(engines.NAMES))
def test_an_engine_finds_what_it_indexed(engine: str, tmp_path: Path) -> None:
    """Built from files, opened anew, asked for all words and for any, operators of its own in the question."""
    try:
        engines.THERE[engine]()
    except AbsentError as absent:
        pytest.skip(f"{engine} is not here: {absent}")
    (tmp_path / "files").mkdir()
    for i, text in enumerate(("tomatoes want water", "roses want pruning", "nothing of the kind")):
        (tmp_path / "files" / f"{i}.txt").write_text(text)
    (tmp_path / engine).mkdir()
    engine_indexes.BUILD[engine](tmp_path / "files", tmp_path / engine)
    found = {}
    for (_, how), opened in engines.ways(tmp_path, [engine]).items():
        with opened() as ask:
            found[how] = ask('"water (for): roses')
    if engine == "bm25s":  # it gives as many as are asked for, the rest with nothing in common
        assert found == {"any word": 3}
    else:
        assert found == {"all words": 0, "any word": 2}


def test_a_copy_of_the_page_counts_and_rank_two_is_half(tmp_path: Path) -> None:
    """Every second file is taken; twins by content are one answer; MRR of ranks 2 and none is .25."""
    corpus = tmp_path / "corpus"
    (corpus / "a").mkdir(parents=True)
    for i in range(6):
        (corpus / "a" / f"{i}.txt").write_text("twin" if i in (0, 4) else f"page {i}")
    sides = desktop.Sides(Bench(), tmp_path / "work")
    assert desktop.copy_part(corpus, sides.files, 2) == (3, 14)
    (tmp_path / "titles.json").write_text(json.dumps([["T", "a/0.txt"], ["U", "a/1.txt"]]))
    items = sides.known(tmp_path / "titles.json")
    assert [(title, len(pages)) for title, pages in items] == [("T", 2)]
    other, twin = str(sides.files / "a/2.txt"), str(sides.files / "a/4.txt")
    pages = [[{other}, {twin}], [{other}]]
    assert desktop.mrr(pages, [*items, ("V", frozenset())]) == {"MRR@10": 0.25}


def test_paths_in_what_recoll_prints() -> None:
    """Only lines that name a file, percent signs decoded."""
    assert desktop.paths_in("Recoll query: x\nfile:///a/b%20c.html\n2 results\n") == ["/a/b c.html"]


def test_a_late_command_ends_with_its_children() -> None:
    """Nothing goes on that nobody waits for."""
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("no /proc: nobody tells which processes there are")
    marker = f"60.{os.getpid():08}"
    script = f"import subprocess; subprocess.run(['sleep', '{marker}'])"
    with pytest.raises(subprocess.TimeoutExpired):
        run((sys.executable, "-c", script), {}, timeout=2.0)
    wanted = [b"sleep", marker.encode()]
    until(lambda: wanted not in [words[:2] for words in running()])  # a killed process needs a moment to be gone


def running() -> Iterator[list[bytes]]:
    """The command line of every process."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes().split(b"\0")
