"""Several machines searched as one: the page equals that of one index of all, and no machine spoils another's part."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import psutil
import pytest

from app.external_programs import MachineError
from app.machines.remote_messages import MARK
from app.machines.ssh_line import SshLine
from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from tests.app.machines.machines_of_one import MODIFIED, instead, make_machine, searching

WORDS = ["heron", "stork", "crane", "fish", "pond", "river", "moss", "stone", "the", "and", "waits", "waiting", "ducks"]
ODD = {"a/tool.py": "def get_or_create(pond):\n    return pond\n", "b/prose.txt": "get or create a pond and get moss\n"}


def make_files(seed: int, n: int) -> dict[str, str]:
    """Texts of few words, so that nothing ties and everything is found."""
    lots = random.Random(seed)
    return {
        f"{'ab'[i % 2]}/{lots.choice(WORDS)}-{i:03d}.txt": " ".join(lots.choices(WORDS, k=lots.randint(5, 60)))
        for i in range(n)
    } | ODD


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`all` has every file, `here`, `desk` and `nas` a part of them each."""
    base, files = tmp_path_factory.mktemp("machines"), make_files(seed=3, n=70)
    lots = random.Random(5)
    parts: dict[str, dict[str, str]] = {name: {} for name in ("here", "desk", "nas")}
    for name, text in files.items():
        parts[lots.choice(list(parts))][name] = text
    for name, own in (*parts.items(), ("all", files)):
        make_machine(base / name, own)
    return base


@pytest.fixture(scope="module")
def here_and_every(base: Path) -> Iterator[tuple[Search, Search]]:
    """Searches that stay open for all questions, as the screen's do."""
    with searching(base / "here") as here, searching(base / "all") as every:
        yield here, every


def places(page: ResultPage) -> list[tuple[str, float]]:
    """Where each result lies below its root, and its score: best first, equal ones by their places."""
    found = [(hit.path.partition("/notes/")[2], round(hit.score, 9)) for hit in page.hits]
    return sorted(found, key=lambda one: (-one[1], one[0]))


TEXTS = (
    "heron pond", "waiting", '"the pond"', "stork -fish", "get_or_create", "name:moss river", "ext:txt crane", "zebra",
    "stork-and heron", "moss-frog pond",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_the_page_of_three_machines_is_that_of_one_index(here_and_every: tuple[Search, Search], text: str) -> None:
    """The same documents with the same scores, and as many matches."""
    here, every = here_and_every
    page = here.search(SearchRequest(text, on=("desk", "nas")))
    whole = every.search(SearchRequest(text, as_typed=True))
    assert page.unasked == ()
    assert places(page) == places(whole)
    assert (page.n_matches, page.n_all_words, page.n_documents) == (
        whole.n_matches, whole.n_all_words, whole.n_documents,
    )  # fmt: skip
    assert {hit.machine for hit in whole.hits} <= {""}


def test_a_result_is_shown_and_opened_as_those_of_this_machine(base: Path, tmp_path: Path) -> None:
    """With its lines and its text; opened it is a read-only copy, and a pick on its machine."""
    with searching(base / "here") as here:
        page = here.search(SearchRequest("heron pond", on=("desk",)))
        hit = next(hit for hit in page.hits if hit.machine == "desk")
        assert hit.path == f"desk:{base}/desk/notes/{hit.path.partition('/notes/')[2]}"
        assert not hit.missing
        assert "heron" in here.snippet(page, hit).text or "pond" in here.snippet(page, hit).text
        text = here.preview(page, hit).text
        data = tmp_path / "data"
        data.mkdir()
        local, how = here.here(page, hit, "system", data)
        here.opened(page, hit)
        assert (Path(local.path).read_text(encoding="utf-8"), how) == (text, "system")
        assert Path(local.path).stat().st_mode & 0o777 == 0o400
        assert here.picks.count() == 0
        assert here.leave(page) is not None
    with searching(base / "desk") as there:
        assert there.picks.count() == 1
        path = hit.path.removeprefix("desk:")
        assert there.picks.times(["heron", "pond"], path, hit.part, now=MODIFIED) == 1.0


def test_copies_are_one_row_with_that_of_this_machine_in_front(tmp_path: Path) -> None:
    """The row names the other machines, too."""
    text = {"heron.txt": "The heron waits for fish."}
    for name in ("here", "desk"):
        make_machine(tmp_path / name, text)
    with searching(tmp_path / "here") as here:
        (hit,) = here.search(SearchRequest("heron", on=("desk",))).hits
    assert (hit.machine, hit.copies) == ("", (f"desk:{tmp_path}/desk/notes/heron.txt",))


def said(answer: str) -> str:
    """A program that gives this answer."""
    line = MARK + answer.encode() + b"\n"
    return f"import sys; sys.stdout.buffer.write({line!r}); sys.stdout.flush(); input()"


OTHERS = {
    "dead": ("import sys; sys.exit('ssh: connect to host dead port 22: No route to host')", "No route to host"),
    "bare": ("import sys; sys.exit(127)", "foltr-search is not installed there"),
    "old": ("import sys; print('No such command', file=sys.stderr); sys.exit(2)", "an older foltr-search is there"),
    "noisy": ("while True: print('hello')", "sent too much"),
    "lying": (said('{"kind": "Known", "statistics": 7}'), "gave no answer"),
    "huge": ("import sys\nwhile True: sys.stdout.write('x' * 99999)", "sent too much"),
    "negative": (said('{"kind": "Known", "statistics": {"n_documents": -5}}'), "gave no answer"),
    "refusing": (said('{"kind": "NoAnswer", "why": "no\\u001b[2J"}'), "no\ufffd[2J"),
}  # fmt: skip


def test_what_does_not_answer_is_said_in_a_line_and_spoils_nothing(tmp_path: Path) -> None:
    """Machines that are dead, older, lying or endless give one line each; the others make the page."""
    make_machine(tmp_path / "here", {"heron.txt": "The heron waits for fish."})
    for name, (program, _) in OTHERS.items():
        instead(tmp_path / name, program)
    with searching(tmp_path / "here") as here:
        page = here.search(SearchRequest("heron", on=(*OTHERS, "-oProxyCommand=touch")))
        assert [hit.machine for hit in page.hits] == [""]
        lines = dict(line.split(": ", 1) for line in page.unasked)
        assert lines.pop("-oProxyCommand=touch") == "is no name of a machine"
        assert lines.keys() == OTHERS.keys()
        for name, (_, why) in OTHERS.items():
            assert why in lines[name], lines[name]
        assert here.search(SearchRequest("heron", on=("dead",))).unasked[0].startswith("dead: ")


def test_a_machine_that_says_nothing_is_waited_for_so_long(tmp_path: Path) -> None:
    """The same process does not wait for it again for a while."""
    make_machine(tmp_path / "here", {"heron.txt": "The heron waits for fish."})
    instead(tmp_path / "silent", "import time; time.sleep(600)")
    with searching(tmp_path / "here", seconds=0.2) as here:
        for _ in range(2):
            page = here.search(SearchRequest("heron", on=("silent",)))
            assert (len(page.hits), page.unasked) == (1, ("silent: did not answer within 0.2 s",))


def test_what_a_page_cannot_need_is_refused(tmp_path: Path) -> None:
    """A line of 2 MB or more is not read to its end; a file may be longer."""
    make_machine(tmp_path / "here", {"heron.txt": "The heron waits for fish."})
    text = '{"kind": "Known", "statistics": {"n_documents": 9}, "more": "%s"}' % ("x" * 2_000_000)
    instead(tmp_path / "large", said(text))
    with searching(tmp_path / "here") as here:
        page = here.search(SearchRequest("heron", on=("large",)))
    assert (len(page.hits), page.unasked) == (
        1, ("large: sent too much: more than 2 MB, or lines that are no answer",),
    )  # fmt: skip


def test_both_answers_have_one_limit_together(tmp_path: Path) -> None:
    """A machine that is slow twice does not hold the page twice as long."""
    make_machine(tmp_path / "here", {"heron.txt": "The heron waits for fish."})
    known = said('{"kind": "Known", "statistics": {"n_documents": 9}}')
    instead(tmp_path / "slow", f"{known}; {known}; import time; time.sleep(600)")
    with searching(tmp_path / "here", seconds=0.5) as here:
        waits, heard = [], SshLine.hear

        def hear(self: SshLine, kind: object, until: float, seconds: float) -> object:
            waits.append(until)
            return heard(self, kind, until, seconds)

        with mock.patch.object(SshLine, "hear", hear):
            here.search(SearchRequest("heron", on=("slow",)))
    assert len(set(waits)) == 1


def test_hanging_up_ends_the_wait(tmp_path: Path) -> None:
    """Leaving the screen waits for no machine."""
    make_machine(tmp_path / "here", {"heron.txt": "The heron waits for fish."})
    instead(tmp_path / "silent", f"open({str(tmp_path / 'asked')!r}, 'w').close()\nimport time\ntime.sleep(600)")
    with searching(tmp_path / "here", seconds=50.0) as here:
        pages = []
        asking = threading.Thread(target=lambda: pages.append(here.search(SearchRequest("heron", on=("silent",)))))
        asking.start()
        while not (tmp_path / "asked").exists():
            threading.Event().wait(0.01)
        here.machines.close()
        asking.join(40)
        assert [len(page.hits) for page in pages] == [1]


def test_a_machine_that_ends_between_two_answers_costs_only_its_own_part(base: Path) -> None:
    """It reported its collection's statistics, but no results."""
    instead(base / "half", said('{"kind": "Known", "statistics": {"n_documents": 9}}') + "; input()")
    with searching(base / "here") as here:
        page = here.search(SearchRequest("heron", on=("half", "desk")))
        assert {hit.machine for hit in page.hits} == {"", "desk"}
        assert page.unasked == ("half: it ended",)


def test_a_machine_that_went_gives_no_lines_and_says_why_it_opens_nothing(base: Path, tmp_path: Path) -> None:
    """Its rows stay; no local file is opened instead; no process of its connection is left."""
    with searching(base / "here") as here:
        before = set(psutil.Process().children())
        page = here.search(SearchRequest("heron", on=("nas",)))
        hit = next(hit for hit in page.hits if hit.machine)
        line = set(psutil.Process().children()) - before
        here.machines.close()
        assert line
        assert not line & set(psutil.Process().children())
        (base / "nas").rename(base / "gone")
        try:
            assert here.snippet(page, hit).text == ""
            assert here.preview(page, hit).note == "nas: ssh: Could not resolve hostname"
            with pytest.raises(MachineError, match="nas: ssh: Could not resolve hostname"):
                here.here(page, hit, "system", tmp_path)
        finally:
            (base / "gone").rename(base / "nas")


def test_a_file_that_went_there_meanwhile_is_a_sentence(base: Path, tmp_path: Path) -> None:
    """It names the machine and the missing file, without the system's error number."""
    with searching(base / "here") as here:
        page = here.search(SearchRequest("heron", on=("nas",)))
        hit = next(hit for hit in page.hits if hit.machine)
        path = Path(hit.path.removeprefix("nas:"))
        path.rename(path.with_name("gone"))
        try:
            with pytest.raises(MachineError) as refused:
                here.here(page, hit, "system", tmp_path)
        finally:
            path.with_name("gone").rename(path)
        assert str(refused.value) == f"nas: No such file or directory: {path}"


def test_a_machine_without_an_index_says_so(base: Path) -> None:
    """In its line; an empty index here does not keep the others from answering."""
    (base / "fresh").mkdir(exist_ok=True)
    with searching(base / "here") as here:
        assert here.search(SearchRequest("heron", on=("fresh",))).unasked == ("fresh: nothing is indexed there",)
    with searching(base / "fresh") as fresh:
        page = fresh.search(SearchRequest("heron pond", on=("desk",)))
        assert {hit.machine for hit in page.hits} == {"desk"}
