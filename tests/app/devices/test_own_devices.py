"""Several computers as one: real indexes, real state files, one folder between them, or one server."""

from __future__ import annotations

import errno
import os
import shutil
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from app.commands.model import forget_everything
from app.devices import exchange, shared_folder
from app.devices.device_keys import DeviceKeys, Generation, to_code
from app.devices.meeting_place import Delivery, delivered, received
from app.devices.merged_state import FEW
from app.devices.own_devices import meet_quietly
from app.devices.records import DeviceCard, DeviceRecord, Lesson, Opened, Removed, SavedSearch, SharedSetting
from app.devices.sealing import LEAST_SIZE, DevicesError, new_private_key, public_key, sealed
from app.devices.shared_folder import SharedFolder
from app.learning.votes import Vote
from app.search.saved import SavedSearches
from app.settings import LearningSettings, Settings
from app.store import Store
from console.durable import UNFINISHED
from tests.app.devices.computers import NOTES, Computer
from tests.federation_server.client import Running, make_server, running

Place = Path | Running


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return tmp_path / "cloud"


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that each test's first computer joins as a member of its own."""
    with running(make_server(tmp_path_factory.mktemp("server"), quorum=1000)) as made:
        yield made


@pytest.fixture(params=["folder", "server"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where computers may meet."""
    return request.getfixturevalue("group") if request.param == "server" else tmp_path / "cloud"


def two(tmp_path: Path, shared: Place) -> tuple[Computer, Computer]:
    """That have met, each with the same files in another home."""
    laptop, desk = Computer(tmp_path / "laptop", shared), Computer(tmp_path / "desk", shared)
    desk.join(laptop.begin())
    laptop.meet()
    return laptop, desk


def test_a_file_that_could_not_be_read_is_tried_again(
    tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a stick that was pulled out during reading: an unchanged file is not skipped for good."""
    laptop, desk = two(tmp_path, shared)
    laptop.open("fish", "crane.txt")
    laptop.meet()
    with monkeypatch.context() as away:
        away.setattr(shared_folder, "open", _pulled_out, raising=False)
        desk.meet()
    desk.meet()
    assert desk.picks() == laptop.picks()


def _pulled_out(*_: object, **__: object) -> None:
    raise OSError(errno.EIO, "Input/output error")


def test_names_of_other_normal_forms_are_the_same_place(tmp_path: Path, shared: Path) -> None:
    """A pick leads where the name of the file is written otherwise, whatever the file holds by now."""
    composed, apart = unicodedata.normalize("NFC", "Öre.txt"), unicodedata.normalize("NFD", "Öre.txt")
    other = {"b.txt": "trout trout"}
    laptop = Computer(tmp_path / "laptop", shared, notes={composed: "perch, pike and a trout", **other})
    desk = Computer(tmp_path / "desk", shared, notes={apart: "perch, pike and a trout, written later", **other})
    desk.join(laptop.begin())
    assert desk.ask("trout")[0] == "b.txt"
    for _ in range(2):
        laptop.open("trout", composed)
    laptop.meet()
    desk.meet()
    assert desk.ask("trout")[0] == apart


def one_more(tmp_path: Path, shared: Place, *others: Computer) -> Computer:
    """Called lost, joined by the code of the first of the others, who have met it."""
    lost = Computer(tmp_path / "lost", shared)
    lost.join(others[0].devices().code)
    for computer in others:
        computer.meet()
    return lost


def test_a_pick_on_one_leads_on_the_other(tmp_path: Path, anywhere: Place) -> None:
    """Two picks put it first, though the home has another name; the other results keep their order."""
    laptop, desk = two(tmp_path, anywhere)
    before = desk.ask("fish")
    last = before[-1]
    for _ in range(2):
        laptop.open("fish", last)
    laptop.meet()
    desk.meet()
    assert desk.ask("fish") == [last, *before[:-1]]
    assert laptop.ask("fish") == desk.ask("fish")


def test_a_pick_follows_the_content_to_another_place(tmp_path: Path, shared: Path) -> None:
    """If the other computer has the same document under another name in another folder."""
    laptop = Computer(tmp_path / "laptop", shared)
    notes = {name.replace("birds", "fauna").replace(".txt", "-copy.txt"): text for name, text in laptop.notes.items()}
    desk = Computer(tmp_path / "desk", shared, root="papers", notes=notes)
    desk.join(laptop.begin())
    last = desk.ask("fish")[-1]
    for _ in range(2):
        laptop.open("fish", last.replace("-copy", ""))
    laptop.meet()
    desk.meet()
    assert desk.ask("fish")[0] == last


@pytest.mark.parametrize(("copies", "is_here"), [(2, True), (FEW, False), (FEW + 1, False)])
def test_of_copies_the_one_is_meant_that_was_opened(tmp_path: Path, shared: Path, copies: int, is_here: bool) -> None:
    """If its place exists on both, each keeps its picks; else one of few copies has them, and none of many."""
    text = NOTES["birds/crane.txt"]
    laptop = Computer(tmp_path / "laptop", shared, notes={f"{i}/crane.txt": text for i in range(2)})
    on_desk = {f"{i if is_here else i + 2}/crane.txt": text for i in range(copies)}
    desk = Computer(tmp_path / "desk", shared, notes=on_desk)
    desk.join(laptop.begin())
    with laptop.searching() as search:
        for path in search.catalogue.paths():
            search.picks.record(["bog"], path, "", type="text", now=time.time())
    opened = {row[1] for row in laptop.picks()[b"picked_documents"]}
    laptop.meet()
    desk.meet()
    met = {row[1] for row in desk.picks()[b"picked_documents"]}
    assert (len(met), met == opened) == ((1, False) if copies == FEW else (2, True))


def test_devices_that_met_have_the_same_weights(tmp_path: Path, anywhere: Place) -> None:
    """Bit for bit, whichever learned what in which order; and the same page for the same files."""
    laptop, desk = two(tmp_path, anywhere)
    for number in range(6):
        laptop.open(f"fish {['heron', 'stork', 'water'][number % 3]}", "heron.txt")
        desk.open("fish meadow" if number % 2 else "fish", "stork.txt")
        if number == 3:
            desk.meet()
            laptop.meet()
    for computer in (laptop, desk, laptop):
        computer.meet()
    assert laptop.weights() == desk.weights()
    assert laptop.picks() == desk.picks()
    assert laptop.ask("fish") == desk.ask("fish")


def test_a_meeting_without_news_merges_nothing(tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cost does not grow with the records of years."""
    computers = two(tmp_path, shared)
    for computer in (*computers, *computers):
        computer.meet()
    monkeypatch.setattr(exchange, "merge_records", lambda *what: pytest.fail("merged anew"))
    for computer in computers:
        computer.meet()


def test_who_joins_brings_along_what_it_has_learned(tmp_path: Path, anywhere: Place) -> None:
    """It still finds its own picks, though everything is named anew."""
    laptop, desk = Computer(tmp_path / "laptop", anywhere), Computer(tmp_path / "desk", anywhere)
    last = desk.ask("fish")[-1]
    for _ in range(3):
        desk.open("fish", last)
    habits = said_in(desk)
    desk.join(laptop.begin())
    laptop.meet()
    assert desk.ask("fish")[0] == laptop.ask("fish")[0] == last
    assert said_in(desk) == said_in(laptop) == habits
    assert laptop.weights() == desk.weights()


def said_in(computer: Computer) -> tuple[object, ...]:
    """How much was learned, and what each query says of types, ages and folders, without names of the latter."""
    with computer.searching() as search:
        model = search.learner.model
        votes = [sorted(vote.said.values()) for vote in model.votes.votes]
        return model.n_pages, model.n_picks, votes


def test_what_was_forgotten_is_so_everywhere(tmp_path: Path, shared: Path) -> None:
    """Even after an old state is put back on the other one, with what that one learned meanwhile."""
    laptop, desk = two(tmp_path, shared)
    for _ in range(2):
        laptop.open("fish", "crane.txt")
    laptop.meet()
    desk.meet()
    desk.open("fish", "crane.txt")
    shutil.copytree(desk.paths.data_dir, tmp_path / "old copy")
    with laptop.searching() as search:
        forget_everything(search)
    laptop.meet()
    with Store(desk.paths.state):  # while it is open, closing another does not empty its log
        desk.meet()
        assert (desk.paths.data_dir / "state.sqlite-wal").stat().st_size == 0
    for path in ("state.sqlite", "state.sqlite-wal", "state.sqlite-shm"):
        (desk.paths.data_dir / path).unlink(missing_ok=True)
        if (tmp_path / "old copy" / path).exists():
            shutil.copy(tmp_path / "old copy" / path, desk.paths.data_dir / path)
    for computer in (desk, laptop, desk):
        computer.meet()
    for computer in (laptop, desk):
        assert computer.picks() == {b"picks": [], b"picked_documents": []}
        with computer.searching() as search:
            assert search.learner.model.n_pages == search.store.count_interactions() == 0
    assert laptop.weights() == desk.weights()


def test_what_a_net_learned_is_forgotten_everywhere(tmp_path: Path, shared: Path) -> None:
    """Its weights stay on each computer, but go where the person forgets what was learned on any."""
    laptop, desk = two(tmp_path, shared)
    desk = desk.with_settings(learning=LearningSettings(exploration=0.0, ranker="neural"))
    desk.open("fish", "crane.txt")
    with laptop.searching() as search:
        forget_everything(search)
    n_pages = []
    for computer in (desk, laptop, desk):
        with desk.searching() as search:
            n_pages.append(search.learner.model.n_pages)
        computer.meet()
    with desk.searching() as search:
        n_pages.append(search.learner.model.n_pages)
    assert (n_pages[0], n_pages[-1]) == (1, 0)


def test_a_device_that_was_removed_reads_nothing_new(tmp_path: Path, shared: Path) -> None:
    """None of its keys opens a file written from then on; the others continue together."""
    laptop, desk = two(tmp_path, shared)
    lost = one_more(tmp_path, shared, laptop, desk)
    keys = lost.keys
    laptop.devices().remove("lost")
    before = set(os.listdir(shared))
    for computer in (desk, laptop):
        computer.open("fish", "stork.txt")
        computer.meet()
        computer.meet()
    written = set(os.listdir(shared)) - before
    assert written
    members = [one.value[1] for one in desk.devices().known()]
    for name in written:
        file = (shared / name).read_bytes()
        assert delivered(file, keys) is received(file, keys, members) is None
    assert "nothing of the others can be read" in lost.devices().meet().words()
    takes_over(lost, desk)
    desk.meet()
    desk.meet()
    assert laptop.weights() == desk.weights()
    assert [one.called for one in desk.devices().known()] == ["desk", "laptop"]
    with pytest.raises(DevicesError, match="opens with this code"):
        Computer(tmp_path / "fourth", shared).join(to_code(keys.newest.secret))
    assert lost.devices().meet().n_received == 0


def takes_over(lost: Computer, desk: Computer) -> None:
    """The removed device hands a key of its own to another one, by all that it has."""
    keys = lost.keys
    (public,) = [one.value[1] for one in desk.devices().known() if one.called == "desk"]
    stolen = Generation(keys.newest.number + 7, bytes(16))
    SharedFolder(keys.folder).hand_on(keys.with_generation(stolen), public)


def test_two_that_remove_at_the_same_time_end_with_one_key(tmp_path: Path, shared: Path) -> None:
    """Each removed another one before it knew of the other's: both are gone, and the rest agree."""
    laptop, desk = two(tmp_path, shared)
    code = laptop.devices().code
    for name in ("first", "second"):
        Computer(tmp_path / name, shared).join(code)
    for computer in (laptop, desk):
        computer.meet()
    aside = tmp_path / "aside"
    shutil.copytree(shared, aside)
    laptop.devices().remove("first")
    theirs = set(os.listdir(shared)) - set(os.listdir(aside))
    held = {name: (shared / name).read_bytes() for name in theirs}
    for name in theirs:
        (shared / name).unlink()
    for name in set(os.listdir(aside)) - set(os.listdir(shared)):
        shutil.copy(aside / name, shared / name)
    desk.devices().remove("second")
    for name, content in held.items():
        (shared / name).write_bytes(content)
    for computer in (laptop, desk, laptop, desk, laptop, desk):
        computer.meet()
    assert laptop.devices().code == desk.devices().code != code
    for computer in (laptop, desk):
        assert [one.called for one in computer.devices().known()] == ["desk", "laptop"]


def test_the_folder_tells_sizes_and_times_alone(tmp_path: Path, shared: Path) -> None:
    """Names are random, sizes few, and no word, path, name or key is in any file."""
    laptop, desk = two(tmp_path, shared)
    laptop.open("fish heron", "heron.txt")
    SavedSearches(laptop.paths.saved).save("tax", "type:pdf heron")
    laptop.meet()
    desk.meet()
    keys = laptop.keys
    secrets = [keys.newest.secret, keys.newest.key, keys.names, keys.private, keys.device]
    for path in shared.iterdir():
        content = path.read_bytes()
        assert len(path.name) == 32
        assert len(content) % LEAST_SIZE == 0
        assert (len(content) // LEAST_SIZE).bit_count() == 1
        for known in (b"heron", b"laptop", b"desk", b"notes", b"records", *secrets):
            assert known not in content
        assert len(set(content)) > 250  # as random bytes have it


def test_saved_searches_and_settings_travel(tmp_path: Path, shared: Path) -> None:
    """A change on one reaches the other; the later change counts; config.toml wins where it was written."""
    laptop, desk = Computer(tmp_path / "laptop", shared), Computer(tmp_path / "desk", shared)
    mine, theirs = SavedSearches(laptop.paths.saved), SavedSearches(desk.paths.saved)
    mine.save("tax", "type:pdf tax")
    theirs.save("tax", "steuer")
    theirs.save("boat", "boat rental")
    desk.join(laptop.begin())
    laptop.meet()
    desk.meet()
    both = {"tax": "type:pdf tax", "tax-desk": "steuer", "boat": "boat rental"}
    assert dict(mine.all()) == dict(theirs.all()) == both
    mine.remove("boat")
    theirs.save("tax", "tax OR steuer")
    laptop.paths.config_file.write_text("[search]\npage_size = 7\n[screen]\ntheme = 'nord'\n", encoding="utf-8")
    for computer in (desk, laptop, desk):
        computer.meet()
    assert dict(mine.all()) == dict(theirs.all()) == {"tax": "tax OR steuer", "tax-desk": "steuer"}
    assert Settings.load(desk.paths, {}).search.page_size == 7
    assert Settings.load(desk.paths, {}).screen.theme == "auto"
    desk.paths.config_file.write_text("[search]\npage_size = 9\n", encoding="utf-8")
    for computer in (desk, laptop):
        computer.meet()
    assert [Settings.load(one.paths, {}).search.page_size for one in (laptop, desk)] == [7, 9]


def test_a_folder_that_is_away_is_said_and_costs_nothing(tmp_path: Path, shared: Path) -> None:
    """For a missing stick, or one mounted empty, nothing is written now and everything later."""
    laptop, desk = two(tmp_path, shared)
    laptop.open("fish", "crane.txt")
    shared.rename(tmp_path / "pulled out")
    assert "cannot be read" in meet_quietly(laptop.paths, laptop.settings)
    shared.mkdir()
    assert "is empty and was not" in meet_quietly(laptop.paths, laptop.settings)
    assert os.listdir(shared) == []
    shared.rmdir()
    (tmp_path / "pulled out").rename(shared)
    for computer in (laptop, desk):
        assert meet_quietly(computer.paths, computer.settings) == ""
    assert laptop.weights() == desk.weights() != b""


def test_foreign_and_damaged_files_are_passed_over(tmp_path: Path, shared: Path) -> None:
    """Other files in the folder stay as they are, and a file with a changed byte is not believed."""
    laptop, desk = two(tmp_path, shared)
    laptop.open("fish", "crane.txt")
    before = set(os.listdir(shared))
    laptop.meet()
    (written,) = set(os.listdir(shared)) - before
    whole = (shared / written).read_bytes()
    (shared / written).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    (shared / "holiday.jpg").write_bytes(b"a picture")
    (shared / ("f" * 32)).write_bytes(os.urandom(LEAST_SIZE))
    assert desk.devices().meet().n_unread == 2
    (shared / written).write_bytes(whole)  # now it has come whole
    os.utime(shared / written, (time.time() + 5, time.time() + 5))
    assert desk.devices().meet().n_received > 0
    assert laptop.weights() == desk.weights()
    assert (shared / "holiday.jpg").read_bytes() == b"a picture"


@pytest.mark.parametrize("half", [100, LEAST_SIZE])
def test_a_file_that_is_finished_while_it_is_read_is_read_again(
    tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch, half: int
) -> None:
    """Whatever puts the folder's files there, and if it makes them as long at once, and as old, as they will be."""
    laptop, desk = two(tmp_path, shared)
    laptop.open("fish", "crane.txt")
    before = set(os.listdir(shared))
    laptop.meet()
    (name,) = set(os.listdir(shared)) - before
    whole, moment = (shared / name).read_bytes(), time.time_ns() - 10**10
    (shared / name).write_bytes(whole[: half // 2].ljust(half, b"\0"))
    os.utime(shared / name, ns=(moment, moment))
    reading = SharedFolder._read

    def read(folder: SharedFolder, wanted: str) -> bytes:
        content = reading(folder, wanted)
        if wanted == name:
            (shared / name).write_bytes(whole)
            os.utime(shared / name, ns=(moment, moment))
        return content

    with monkeypatch.context() as patched:
        patched.setattr(SharedFolder, "_read", read)
        desk.meet()
    desk.meet()
    assert laptop.weights() == desk.weights()


def test_files_of_one_device_become_one_when_there_are_many(tmp_path: Path, shared: Path) -> None:
    """Neither the folder nor a device's notes about its files grow with the years."""
    laptop, desk = two(tmp_path, shared)
    for number in range(36):
        laptop.open("fish", "crane.txt")
        laptop.meet()
        if number % 4 == 0:
            odd = shared / f"{number:032x}"
            odd.write_bytes(os.urandom(LEAST_SIZE))
            desk.meet()
            odd.unlink()
    assert len(os.listdir(shared)) < 36
    desk.meet()
    assert laptop.weights() == desk.weights()
    with Store(desk.paths.state) as store:
        assert {name for (name,) in store.rows("SELECT name FROM device_files")} == set(os.listdir(shared))


def test_who_leaves_keeps_what_it_knows(tmp_path: Path, anywhere: Place) -> None:
    """It goes on learning alone, the others get nothing of that, and it may join again."""
    laptop, desk = two(tmp_path, anywhere)
    for _ in range(2):
        laptop.open("fish", "crane.txt")
    laptop.meet()
    desk.meet()
    desk.devices().leave()
    laptop.meet()
    assert desk.ask("fish")[0] == "crane.txt"
    for _ in range(4):
        desk.open("heron", "2024.txt")
    assert desk.ask("heron")[0] == "2024.txt"
    assert meet_quietly(desk.paths, desk.settings) == ""
    assert [one.called for one in laptop.devices().known()] == ["laptop"]
    desk.join(laptop.devices().code)
    laptop.meet()
    assert laptop.ask("heron")[0] == "2024.txt"
    assert laptop.weights() == desk.weights()


def test_an_old_file_that_is_put_back_does_not_hide_that_a_device_is_shut_out(tmp_path: Path, shared: Path) -> None:
    """As by a service that restores what was deleted; who joins again is told nothing."""
    laptop, desk = two(tmp_path, shared)
    laptop.open("heron", "2024.txt")
    laptop.meet()
    desk.meet()
    old = {path: path.read_bytes() for path in shared.iterdir()}
    laptop.devices().remove("desk")
    laptop.meet()
    assert "nothing of the others can be read" in meet_quietly(desk.paths, desk.settings)
    for path in set(old) - set(shared.iterdir()):
        path.write_bytes(old[path])
        assert "nothing of the others can be read" in meet_quietly(desk.paths, desk.settings)
    desk.devices().leave()
    desk.join(laptop.devices().code)
    for computer in (desk, laptop, desk):
        assert meet_quietly(computer.paths, computer.settings) == ""


def test_nobody_is_told_of_files_for_others(tmp_path: Path, anywhere: Place) -> None:
    """A computer that removes another is not shut out, neither while the rest are off nor after they came and had
    nothing to say that it has not written itself. Keys that were handed to others, and files under former keys, are no
    trouble for those that read the newest."""
    laptop, desk = two(tmp_path, anywhere)
    one_more(tmp_path, anywhere, laptop, desk)
    laptop.devices().remove("lost")
    for computer in (laptop, laptop, desk, laptop, desk, laptop):
        assert meet_quietly(computer.paths, computer.settings) == ""
    late = Computer(tmp_path / "late", anywhere)
    late.join(laptop.devices().code)
    for computer in (desk, late, laptop, late):
        assert meet_quietly(computer.paths, computer.settings) == ""
    assert late.weights() == desk.weights()


def test_a_key_comes_by_way_of_a_device_that_is_known(tmp_path: Path, anywhere: Place) -> None:
    """Who removed another one joined while this one was away, so it takes the key from the one that it knows."""
    laptop, desk = two(tmp_path, anywhere)
    lost, late = (Computer(tmp_path / name, anywhere) for name in ("lost", "late"))
    for computer in (lost, late):
        computer.join(laptop.devices().code)
    laptop.meet()
    late.meet()
    late.devices().remove("lost")
    late.meet()
    desk.meet()
    assert desk.devices().code != late.devices().code
    laptop.meet()
    for computer in (laptop, desk, late, laptop, desk):
        computer.meet()
    assert desk.devices().code == late.devices().code == laptop.devices().code
    assert [one.called for one in desk.devices().known()] == ["desk", "laptop", "late"]


def test_two_processes_of_one_device_take_turns(tmp_path: Path, shared: Path) -> None:
    """A new key made by one is not overwritten by the other, which began before."""
    laptop, _ = two(tmp_path, shared)
    begun = laptop.devices()
    laptop.devices().remove("desk")
    code = laptop.devices().code
    begun.meet()
    assert laptop.devices().code == begun.code == code


UNUSABLE = [
    SavedSearch("two words\n", "fish"),
    SavedSearch("nested", "@other fish"),
    SharedSetting("search.page_size", "{not JSON"),
    SharedSetting("search.page_size", '"many"'),
    Lesson(Vote(b"", 738_000, {"pdf": (float("nan"), 1.0)}), 1),
    Lesson(Vote(b"", 738_000, {"pdf": (1.0, -1.0)}), 1),
    Opened(b"q" * 8, b"p" * 8, b"a" * 8, b"t" * 8, b"", n_opened=float("inf")),
    Opened(b"q" * 8, b"p" * 8, b"a" * 8, b"t" * 8, b""),
]


def test_what_cannot_be_used_here_stops_nothing(tmp_path: Path, shared: Path) -> None:
    """Records of a newer version or of a malicious device: the rest is exchanged and searched, and one can leave."""
    laptop, desk = two(tmp_path, shared)
    keys = desk.keys
    for body in UNUSABLE:
        when = float("nan") if body == UNUSABLE[-1] else time.time()
        record = DeviceRecord(keys.device, 1 << 60, when, (), False, body)
        SharedFolder(keys.folder).deliver(keys, [record])
    desk.open("fish", "crane.txt")
    desk.meet()
    assert meet_quietly(laptop.paths, laptop.settings) == ""
    assert laptop.weights() == desk.weights()
    assert len(laptop.ask("fish")) == 4
    assert laptop.devices().leave() == ""


def test_no_device_gets_the_keys_of_another(tmp_path: Path, shared: Path) -> None:
    """A card that puts a key of its own under another's name, or one that none can seal for, is not read."""
    laptop, desk = two(tmp_path, shared)
    keys = desk.keys
    cards = {one.called: one for one in laptop.devices().known()}
    for public in (public_key(new_private_key()), bytes(32), b"short"):
        with pytest.raises(ValueError, match="key"):
            msgspec.structs.replace(cards["laptop"], value=("laptop", public))
        forged = DeviceRecord(keys.device, 1 << 60, time.time(), (), False, Removed(b"place of the card"))
        content = msgspec.msgpack.decode(msgspec.msgpack.encode(Delivery(1, keys.device, keys.names, [forged], 0, ())))
        content["records"][0][-1] = ["device", cards["laptop"].name, ["laptop", public]]
        (shared / os.urandom(16).hex()).write_bytes(sealed(msgspec.msgpack.encode(content), keys.newest.key))
    assert laptop.devices().meet().n_unread == 3
    assert {one.called: one for one in laptop.devices().known()} == cards
    laptop.devices().remove("desk")


def test_a_key_beyond_all_numbers_is_not_taken(tmp_path: Path, shared: Path) -> None:
    """No newer key could follow it, so nobody could be removed any more."""
    laptop, desk = two(tmp_path, shared)
    keys = desk.keys
    (public,) = [one.value[1] for one in desk.devices().known() if one.called == "laptop"]
    SharedFolder(keys.folder).hand_on(keys.with_generation(Generation(2**64 - 1, bytes(16))), public)
    code = laptop.devices().code
    laptop.meet()
    assert laptop.devices().code == code
    laptop.devices().remove("desk")
    assert laptop.devices().code != code


def test_nothing_in_the_folder_is_waited_for(tmp_path: Path, shared: Path) -> None:
    """Pipes, endless and huge files, folders and dangling links with the names of sealed or unfinished files are
    skipped."""
    laptop, desk = two(tmp_path, shared)
    names = iter(f"{number:032x}" for number in range(9))
    os.mkfifo(shared / next(names))
    (shared / next(names)).symlink_to("/dev/zero")
    (shared / next(names)).mkdir()
    with open(shared / next(names), "wb") as file:
        file.truncate(1 << 30)
    for name in (next(names), f"{next(names)}{UNFINISHED}00000000"):
        (shared / name).symlink_to("/nowhere")
    desk.open("fish", "crane.txt")
    desk.meet()
    assert laptop.devices().meet().n_received > 0
    assert laptop.weights() == desk.weights()


def test_of_two_with_one_name_each_can_be_removed(tmp_path: Path, shared: Path) -> None:
    """As after a computer lost its data folder and joined again: each name gets extra letters."""
    laptop, desk = two(tmp_path, shared)
    shutil.rmtree(desk.paths.data_dir)
    desk.index()
    desk.join(laptop.devices().code)
    laptop.meet()
    first, second, _ = [one.called for one in laptop.devices().known()]
    assert first != second
    assert first.startswith("desk ")
    assert second.startswith("desk ")
    keys = desk.keys
    (former,) = {first, second} - {one.called for one in desk.devices().known() if one.name == keys.device}
    laptop.devices().remove(former)
    desk.meet()
    assert [one.called for one in desk.devices().known()] == ["desk", "laptop"]


def test_one_that_has_just_joined_can_be_removed(tmp_path: Path, anywhere: Place) -> None:
    """By one that had not heard of it; what it wrote afterwards troubles nobody who is alone by then."""
    laptop, desk = Computer(tmp_path / "laptop", anywhere), Computer(tmp_path / "desk", anywhere)
    desk.join(laptop.begin())
    laptop.devices().remove("desk")
    for _ in range(3):
        desk.open("fish", "crane.txt")
        desk.meet()
        assert meet_quietly(laptop.paths, laptop.settings) == ""


def test_who_leaves_unheard_says_so(tmp_path: Path, shared: Path) -> None:
    """It can leave even if the folder is away, and another one can still remove it."""
    laptop, desk = two(tmp_path, shared)
    shared.rename(tmp_path / "pulled out")
    assert "cannot be read" in desk.devices().leave()
    (tmp_path / "pulled out").rename(shared)
    laptop.devices().remove("desk")
    assert [one.called for one in laptop.devices().known()] == ["laptop"]


def test_what_a_removed_device_wrote_since_brings_nobody_in(tmp_path: Path, shared: Path) -> None:
    """Under the former key it names an accomplice, to whom one that was off until then does not hand on the new one."""
    laptop, desk = two(tmp_path, shared)
    lost = one_more(tmp_path, shared, laptop, desk)
    laptop.devices().remove("lost")
    keys = lost.keys
    accomplice = DeviceKeys.begun("printer", str(shared), keys.newest, keys.names, None)
    card = DeviceCard(accomplice.device, ("printer", public_key(accomplice.private)))
    SharedFolder(keys.folder).deliver(keys, [DeviceRecord(keys.device, 1 << 60, time.time(), (), False, card)])
    members = [one.value[1] for one in laptop.devices().known()]
    for computer in (desk, laptop, desk):
        computer.meet()
    assert [one.called for one in desk.devices().known()] == ["desk", "laptop"]
    for path in shared.iterdir():
        assert received(path.read_bytes(), accomplice, members) is None


@pytest.mark.parametrize("put_back", ["state.sqlite", "devices.key"])
def test_a_state_or_a_key_put_back_alone_hears_the_rest_again(tmp_path: Path, shared: Path, put_back: str) -> None:
    """What could not be read with the former key is tried again with the newer one, and the other way round."""
    laptop, desk = two(tmp_path, shared)
    one_more(tmp_path, shared, laptop, desk)
    laptop.devices().remove("lost")
    laptop.open("fish", "crane.txt")
    laptop.meet()
    keys = laptop.keys
    handed_on = {name: (shared / name).read_bytes() for name in os.listdir(shared)
                 if delivered((shared / name).read_bytes(), keys) is None}  # fmt: skip
    for name in handed_on:
        (shared / name).unlink()
    desk.meet()
    kept = {path.name: path.read_bytes() for path in desk.paths.data_dir.glob(f"{put_back}*")}
    for name, content in handed_on.items():
        (shared / name).write_bytes(content)
    desk.meet()
    assert laptop.weights() == desk.weights()
    for path in desk.paths.data_dir.glob(f"{put_back}*"):
        path.unlink()
    for name, content in kept.items():
        (desk.paths.data_dir / name).write_bytes(content)
    for computer in (desk, laptop, desk):
        computer.meet()
    assert desk.devices().code == laptop.devices().code
    assert laptop.weights() == desk.weights()
