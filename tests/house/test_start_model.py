"""The server's copy of the device's shipped ranker."""

from benchmarks.start_model import start_model
from federation_server import setup


def test_groups_begin_with_the_devices_ranker() -> None:
    """start.json holds the present prior, features and manifest; `python -m benchmarks start_model` writes it."""
    assert setup.shipped_start() == start_model()
