"""`privacy` from the outside, with and without a group."""

from __future__ import annotations

from pathlib import Path

from app.store import Store
from indexer.retrieval.features import MANIFEST_HASH
from tests.app.conftest import Device
from tests.app.federation.groups import OPEN, pages, serving


def see_pages(device: Device, n: int) -> None:
    with Store(device.data_dir / "state.sqlite") as store:
        for page in pages(n):
            store.add_interaction(page, manifest_hash=MANIFEST_HASH, cap=1000)


def test_what_left_without_noise_is_not_called_protected(device: Device, tmp_path: Path) -> None:
    """join says what the server can work out, and afterwards privacy claims no guarantee."""
    see_pages(device, 30)
    with serving(tmp_path / "open", privacy=OPEN) as bare:
        joined = device.run("join", bare.link(), "--yes")
        assert "can work out from an update which results you opened" in joined.stderr
        assert "noise" not in joined.stderr.partition("as they leave this device.")[0]
        device.run("sync", "--set", "federation.allow_unprotected=true")
    shown = device.run("privacy").stdout
    assert "epsilon is infinite after 1 round" in shown
    assert "Nothing is guaranteed" in shown
    assert "This holds" not in shown


def test_privacy_without_a_group(device: Device) -> None:
    """Without a group nothing leaves, and the command says so before it lists what would."""
    done = device.run("privacy")
    assert done.stdout.startswith("Nothing leaves this device.")
    assert "nothing was ever sent" in done.stdout
