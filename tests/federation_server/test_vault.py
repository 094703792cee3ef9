"""The key file: private, whole or refused; and columns that only its keys open."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from federation_server.vault import Vault, VaultError, hash_of

MODE = 0o600


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def test_what_is_written_is_read_by_its_owner_alone(path: Path) -> None:
    """The same secrets come back, from a file of mode 0600 beside which no other is left."""
    vault = Vault.generate()
    vault.write(path)
    assert Vault.read(path) == vault
    assert path.stat().st_mode & 0o777 == MODE
    assert [one.name for one in path.parent.iterdir()] == ["keys.json"]
    assert vault.column_keys[0].hex() not in repr(vault)


def test_a_file_that_others_can_read_is_refused(path: Path) -> None:
    """With what to do about it."""
    Vault.generate().write(path)
    path.chmod(0o640)
    with pytest.raises(VaultError, match="chmod 600"):
        Vault.read(path)


@pytest.mark.parametrize("changes", [{"version": 2}, {"identity": b"short"}, {"column_keys": ()}, {"more": 1}])
def test_a_file_that_is_not_whole_is_refused(path: Path, changes: dict[str, object]) -> None:
    """Another version, a key of another length, no column key, a field that is not known; and a file that is absent."""
    with pytest.raises(VaultError, match="cannot be read"):
        Vault.read(path)
    Vault.generate().write(path)
    stored = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode(stored | changes))
    with pytest.raises(VaultError):
        Vault.read(path)


def test_a_new_column_key_opens_what_the_old_one_closed() -> None:
    """The newest key encrypts, all decrypt; a vault with other keys opens nothing, and no box shows its content."""
    old = Vault.generate()
    new = old.with_new_column_key()
    boxes = [vault.encrypt(b"theta") for vault in (old, new, new)]
    assert [new.decrypt(box) for box in boxes] == [b"theta"] * 3
    assert len(set(boxes)) == 3
    assert not any(b"theta" in box for box in boxes)
    for vault, box in ((old, boxes[1]), (Vault.generate(), boxes[0]), (old, b"")):
        with pytest.raises(VaultError, match="does not have"):
            vault.decrypt(box)
    assert new.identity == old.identity


def test_secrets_are_kept_as_hashes() -> None:
    """64 hex digits, the same for the same secret."""
    assert hash_of("token") == hash_of("token") != hash_of("Token")
    assert len(bytes.fromhex(hash_of("token"))) == 256 // 8
