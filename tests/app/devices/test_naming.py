"""Places that are the same on each computer."""

from __future__ import annotations

import pytest

from app.devices.naming import Places


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/home/anna/tax/2024.pdf", "~/tax/2024.pdf"),
        ("/home/anna", "~"),
        ("/home/annabel/tax.pdf", "/home/annabel/tax.pdf"),
        ("/mnt/disk/photos/a.jpg", "photos/a.jpg"),
        ("/mnt/disk/photos/raw/a.nef", "raw/a.nef"),
        ("/home/anna/notes/../tax/2024.pdf", "~/tax/2024.pdf"),
        ("/etc/hosts", "/etc/hosts"),
        ("/home/anna/O\u0308re.txt", "~/\u00d6re.txt"),
    ],
)
def test_a_place_is_told_below_the_home_or_the_root(monkeypatch: pytest.MonkeyPatch, path: str, place: str) -> None:
    """The home goes before roots in it, the inner root before the outer; what is nowhere of these stays.

    Letters are composed.
    """
    roots = ["/home/anna/notes", "/mnt/disk/photos", "/mnt/disk/photos/raw"]
    monkeypatch.setenv("HOME", "/home/anna")
    assert Places(roots).of(path) == place
