"""The manifest: what the features are called, how they are scaled, and the page that documents them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from indexer.retrieval.feature_values import Usage
from indexer.retrieval.features import FEATURES, MANIFEST_HASH, MEANING, NAMES, SCALES, USAGE_NAMES, Feature
from tests.columns import INDEX

PAGE = Path(__file__).resolve().parents[3] / "docs" / "features.md"


def test_forty_features_and_more_with_names_of_their_own() -> None:
    """Each has one name in the style of a column, a known scale, and words for a person."""
    assert len(FEATURES) >= 40
    assert len(set(NAMES)) == len(FEATURES)
    for feature in FEATURES:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", feature.name)
        assert feature.scale in SCALES
        assert feature.description
        assert not feature.description.endswith(".")


def test_features_of_the_users_picks_are_those_of_the_usage_record() -> None:
    """Every number of the record is a feature, under the same name, and already between 0 and 1."""
    assert Usage.__struct_fields__ == USAGE_NAMES
    assert all(FEATURES[INDEX[name]].scale == "absolute" for name in USAGE_NAMES)


def hash_of(manifest: tuple[Feature, ...], meaning: int) -> str:
    lines = [str(meaning), *(f"{feature.name} {feature.scale}" for feature in manifest)]
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def test_the_hash_names_order_scale_and_meaning() -> None:
    """Whatever gives a weight another meaning gives another hash; the words for a person do not."""
    assert hash_of(FEATURES, MEANING) == MANIFEST_HASH
    rescaled = (replace(FEATURES[0], scale="range"), *FEATURES[1:])
    reworded = (replace(FEATURES[0], description="..."), *FEATURES[1:])
    renamed = (replace(FEATURES[0], name="x"), *FEATURES[1:])
    swapped = (FEATURES[1], FEATURES[0], *FEATURES[2:])
    others = {hash_of(manifest, MEANING) for manifest in (rescaled, renamed, swapped, FEATURES[:-1])}
    assert len({MANIFEST_HASH, hash_of(FEATURES, MEANING + 1), *others}) == 1 + 1 + 4
    assert hash_of(reworded, MEANING) == MANIFEST_HASH


def documented() -> list[tuple[str, str]]:
    """Name and scale of every feature that the page lists, in its order."""
    return re.findall(r"^\| `(\w+)` \| (\w+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_page_documents_exactly_these_features() -> None:
    """Each one by one, in the order of the manifest, with its scale."""
    assert documented() == [(feature.name, feature.scale) for feature in FEATURES]


@pytest.mark.parametrize("scale", SCALES)
def test_the_page_explains_each_scale(scale: str) -> None:
    """In the words of the code."""
    assert f"| {scale} | {SCALES[scale]} |" in PAGE.read_text(encoding="utf-8")
