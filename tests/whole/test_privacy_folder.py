"""The privacy page names every file that a month of use leaves in the data folder, and none that is not there."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.assistants.granted import Granted
from app.document_to_open import FOLDER
from app.paths import Paths
from app.resident.local_socket import index_socket_path
from app.settings import MeaningSettings, Settings
from app.tui.remembered_choices import Remembered, keep_remembered
from indexer.extract.media.recognised import FILE, remember
from tests.app.conftest import make_device
from tests.app.resident.conftest import serving
from tests.tiny_encoder import write_encoder
from tests.waiting import until
from tests.whole.test_federation import invite, sealed

__all__ = ["sealed"]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "privacy.md"
BESIDE = re.compile(r"(\.sqlite)-(wal|shm|journal)")
"""what SQLite has beside a file while it is open, of which the page speaks in one sentence"""


def named() -> set[str]:
    """The files and folders of the page's first table, by name."""
    table = PAGE.read_text(encoding="utf-8").partition("| file | holds |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    return {name for cell in cells if "configuration folder" not in cell for name in re.findall(r"`([^`]+)`", cell)}


def there(folder: Path) -> set[str]:
    """Every file that is there, as the page would name it: by itself, or by its folder."""
    pages = named()
    found = {BESIDE.sub(r"\1", path.relative_to(folder).as_posix()) for path in folder.rglob("*") if not path.is_dir()}
    return {name if name in pages else f"{name.partition('/')[0]}/" if "/" in name else name for name in found}


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="the extra `meaning` is not installed")
def test_the_page_names_what_a_month_leaves_and_nothing_else(tmp_path: Path, sealed: Path) -> None:
    """Indexing, mail, watching, answering, an assistant, vectors, the screen, a group, devices, backup, purge."""
    (tmp_path / "device").mkdir()
    device = make_device(tmp_path / "device")
    chosen = {
        "FOLTR_MEANING__ENABLED": "true", "FOLTR_MEANING__MODEL": str(write_encoder(tmp_path / "encoder")),
        "FOLTR_HISTORY__ENABLED": "true", "FOLTR_OPEN__MAIL": "true {path}",
    }  # fmt: skip

    def run(*arguments: str) -> str:
        done = device.run(*arguments, env=chosen)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    (device.notes / "inbox.mbox").write_text("From a Mon Jan  1 00:00:00 2024\nFrom: a@b\nSubject: letter\n\nhello\n")
    (device.notes / "car.txt").write_text("A car is in the garage of the house, and it is old.")
    (device.notes / "auto.txt").write_text("Das Auto ist in der Garage, und es ist für die Stadt.")
    seen: set[str] = set()

    def look() -> None:
        seen.update(there(device.data_dir))

    run("index", str(device.notes))
    run("saved", "add", "fishes", "fish")
    with serving(device, **chosen):
        run("search", "letter")
        run("open", "1")
        look()
    with subprocess.Popen([sys.executable, "-m", "app", "watch", "-q"], env=device.environment(**chosen)) as watch:
        until(lambda: Path(index_socket_path(str(device.data_dir))).exists())
        look()
        watch.terminate()
    assistant = Paths(device.config_file.parent, device.data_dir, assistant="cursor")
    with closing(Granted(Settings(meaning=MeaningSettings(enabled=False)), assistant, [str(device.notes)])) as granted:
        granted.search("fish")
        look()
    remember(device.data_dir / FILE, b"digest", engine="any", pages=["text"])
    keep_remembered(device.data_dir, Remembered(dense=True))
    run("join", invite(sealed), "--yes")
    run("sync")
    look()
    run("forget-me", "--yes")
    (device.notes / "car.txt").unlink()
    run("index")
    device.config_file.write_text("[search]\npage_size = 9\n", encoding="utf-8")
    run("devices", "new", "--folder", str(tmp_path / "cloud"))
    look()
    run("backup", "--to", str(tmp_path / "kept.zip"))
    run("restore", str(tmp_path / "kept.zip"), "--yes")
    look()
    shown = re.findall(r"in one data folder\s+\(`foltr-search (\w+)`\s+shows it\)", PAGE.read_text(encoding="utf-8"))
    assert str(device.data_dir) in run(*shown)
    for command in (("status",), ("stats",), ("doctor",), ("privacy",), ("history",)):
        device.run(*command, env=chosen)
    look()
    assert (device.data_dir / FOLDER).exists()
    assert seen == named()
    run("purge", "--yes")
    assert not device.data_dir.exists()
