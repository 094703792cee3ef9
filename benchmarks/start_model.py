"""Write federation_server/start.json: the device's shipped ranker and its features, for groups to begin with.

    python -m benchmarks start_model

The server may not import the device's packages, so it has a copy; tests/house/test_start_model.py compares the two.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

import federation_server
from app.learning.prior import theta_prior
from federation_server.setup import Start
from indexer.retrieval.features import MANIFEST_HASH, NAMES


def start_model() -> Start:
    """What start.json must hold."""
    return Start(1, MANIFEST_HASH, tuple(NAMES), tuple(theta_prior().tolist()))


def main() -> None:
    path = Path(federation_server.__file__).with_name("start.json")
    path.write_bytes(msgspec.json.format(msgspec.json.encode(start_model()), indent=1) + b"\n")
