"""Codes and sealed files."""

from __future__ import annotations

import pytest

from app.devices.device_keys import from_code, new_secret, to_code
from app.devices.sealing import (
    LEAST_SIZE,
    DevicesError,
    handed_on,
    key_of,
    new_private_key,
    public_key,
    sealed,
    taken_over,
    unsealed,
)


def test_a_code_is_read_as_people_write_it() -> None:
    """In small letters, without dashes, with 0 for O and 1 for I."""
    secret = new_secret()
    code = to_code(secret)
    assert len(code.split("-")) == 8
    for written in (code, code.lower(), code.replace("-", " "), code.replace("O", "0").replace("I", "1")):
        assert from_code(written) == secret


@pytest.mark.parametrize("place", [0, 12, 38])
def test_a_code_with_one_wrong_letter_is_refused(place: int) -> None:
    """Its last letters are a hash of the others."""
    code = to_code(bytes(range(16)))
    with pytest.raises(DevicesError, match="eight groups"):
        from_code(code[:place] + ("A" if code[place] != "A" else "B") + code[place + 1 :])


@pytest.mark.parametrize("n_bytes", [0, 1, LEAST_SIZE - 44, LEAST_SIZE - 43, 10_000])
def test_a_file_is_as_long_as_many_others(n_bytes: int) -> None:
    """4,096 bytes times a power of two, and only its key opens it."""
    key, content = key_of(new_secret()), b"x" * n_bytes
    file = sealed(content, key)
    assert unsealed(file, key) == content
    assert len(file) == LEAST_SIZE * 2 ** (0 if n_bytes <= LEAST_SIZE - 44 else 1 if n_bytes < 5_000 else 2)
    assert unsealed(file, key_of(new_secret())) is None
    assert unsealed(file[:-1] + bytes([file[-1] ^ 1]), key) is None
    assert unsealed(file[:100], key) is None


def test_a_key_is_handed_on_to_one_device_alone() -> None:
    """By a device that it knows; nobody else can read it, or write one in its name."""
    sender, private = new_private_key(), new_private_key()
    file = handed_on(b"the new key", sender, public_key(private))
    assert len(file) == LEAST_SIZE
    known = [public_key(new_private_key()), public_key(sender)]
    assert taken_over(file, private, known) == b"the new key"
    assert taken_over(file, new_private_key(), known) is None
    assert taken_over(file, private, known[:1]) is None
