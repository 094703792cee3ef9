"""`status` from the outside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.app.conftest import Device


def test_status_counts_and_lists_failures(device: Device) -> None:
    """A file that cannot be read is counted, listed with its reason and found by its name; the others are indexed."""
    (device.notes / "broken.pdf").write_bytes(b"%PDF-1.7\nthis is no PDF")
    device.index()
    status = json.loads(device.run("status", "--json", "--failures").stdout)
    assert (status["v"], status["n_documents"], status["n_failures"]) == (1, 6 + 1, 1)
    assert status["roots"] == [{"path": str(device.notes)}]
    (failure,) = status["failures"]
    assert failure["path"] == str(device.notes / "broken.pdf")
    assert failure["reason"]
    assert device.run("status", "--failures").stdout.startswith(f"{device.notes / 'broken.pdf'}\t{failure['kind']}\t")
    assert "7; 6 files read" in device.run("status").stdout
