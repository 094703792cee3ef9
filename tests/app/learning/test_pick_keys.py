"""The key that hides what was picked: private, random, kept."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.learning.pick_keys import KEY_BYTES, PART_BYTES, Hasher, bring_key, load_key
from app.store import StateError, Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "state.sqlite") as opened:
        yield opened


def test_the_key_is_private_random_and_kept(tmp_path: Path, store: Store) -> None:
    """32 bytes, 0600, different on each device, the same at each start."""
    one, other = load_key(tmp_path / "key", store), load_key(tmp_path / "key2", store)
    assert len(one) == 32
    assert one != other
    assert load_key(tmp_path / "key", store) == one
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_damaged_key_is_an_error_that_says_what_to_do(tmp_path: Path, store: Store, content: bytes) -> None:
    """An empty one, or one of another length, is refused and stays as it is."""
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(StateError, match=rf"{len(content)} bytes, not 32: .* backup.* delete it"):
        load_key(tmp_path / "key", store)
    assert (tmp_path / "key").read_bytes() == content


MAKING = """
import sys
from pathlib import Path
from app.learning.pick_keys import load_key
from app.store import Store
with Store(Path(sys.argv[1], "state.sqlite")) as store:
    sys.stdin.readline()
    print(load_key(Path(sys.argv[1], "key"), store).hex())
"""


def test_processes_that_make_it_at_once_agree(tmp_path: Path) -> None:
    """Six of them use the same key, and it is the one that is kept; nothing else is left."""
    making = [
        subprocess.Popen(
            [sys.executable, "-c", MAKING, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(6)
    ]
    for process in making:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    keys = {process.communicate()[0].strip() for process in making}
    assert keys == {(tmp_path / "key").read_bytes().hex()}
    assert [path.name for path in tmp_path.glob("key*")] == ["key"]


def test_a_key_that_came_with_a_state_is_put_into_its_place(tmp_path: Path, store: Store) -> None:
    """Over the former one, and then it is in the state no more; a copy that keeps nothing uses it all the same."""
    load_key(tmp_path / "key", store)
    bring_key(store, b"b" * 32)
    with Store(store.path, writable=False) as copy:
        assert load_key(tmp_path / "key", copy) == b"b" * 32
    assert (tmp_path / "key").read_bytes() != b"b" * 32
    for _ in range(2):
        assert load_key(tmp_path / "key", store) == b"b" * 32
        assert (tmp_path / "key").read_bytes() == b"b" * 32
    store.close()
    assert b"b" * 32 not in store.path.read_bytes()


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/", ["/"]),
        ("/plan.md", ["/", "plan.md"]),
        ("/home/ada/./tax//2024.pdf", ["/", "home", "ada", "tax", "2024.pdf"]),
        ("~/tax/2024.pdf", ["~", "tax", "2024.pdf"]),
        ("notes", ["notes"]),
    ],
)
def test_a_path_is_named_by_its_parts(path: str, parts: list[str]) -> None:
    """Eight bytes each, the root first."""
    hasher = Hasher(bytes(KEY_BYTES))
    names = b"".join(hasher.name("path", part.encode(), PART_BYTES) for part in parts)
    assert hasher.path(path) == names


def test_a_path_may_be_as_deep_as_a_system_has_them() -> None:
    """Of two thousand folders, each has its hash, and no call waits for another's end."""
    hasher, parts = Hasher(bytes(32)), ["d"] * 2_000
    assert hasher.path("/" + "/".join(parts)) == hasher.path("/") + hasher.path("d") * 2_000
