"""In which column of the feature matrix each feature stands."""

from __future__ import annotations

from indexer.retrieval.features import NAMES

INDEX = {name: i for i, name in enumerate(NAMES)}
