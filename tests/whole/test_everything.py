"""Everything a person has is found, or named as left out: a home of many kinds, with all choices of the first start."""

from __future__ import annotations

import json
import os
from pathlib import Path

from app.chosen_folders import remember_choices
from app.paths import Paths
from app.suggested_folders import suggest_roots
from tests.app.conftest import Device, make_device

MAIL = "From: anna@example.org\nDate: Wed, 01 May 2024 10:00:00 +0000\nSubject: Letter {n}\n\nquince {n}\n"
FILES = {
    "Documents": ("tax.txt", "bills/2024.md", "thesis/build/a.log", "thesis/setup.py", "a.pyc", ".hidden.txt"),
    "Projects": ("x/.git/config", "x/.git/objects/aa", "x/node_modules/m/i.js", "x/main.py", "x/.gitignore", "x/b.tmp"),
    "vault": (".obsidian/app.json", "Daily.md", "People/Anna.md"),
    "Nextcloud": ("shared.csv", ".sync.db"),
    "Downloads": ("photo.jpg", "film.mkv", "WhatsApp Chat with Anna.txt", "font.ttf"),
}


def make_home(home: Path) -> None:
    for folder, names in FILES.items():
        for name in names:
            (home / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (home / folder / name).write_text("*.tmp\n" if name.endswith(".gitignore") else "x")
    for n, folder in enumerate(("", ".Archive", ".Work", ".Work.2024")):
        for name in ("cur", "new"):
            (home / "Mail" / folder / name).mkdir(parents=True)
        for k in range(3):
            (home / "Mail" / folder / "cur" / f"17145576{n}{k}.M1.host:2,S").write_text(MAIL.format(n=3 * n + k))


def test_every_file_is_known_or_named_as_left_out(tmp_path: Path) -> None:
    """Each file below what was offered, and taken, is in the index or below a line of `status --left-out`."""
    device: Device = make_device(tmp_path)
    make_home(device.home)
    offered = suggest_roots(device.home)
    remember_choices(Paths(device.home / "config", device.data_dir), [one.choice for one in offered])
    assert device.run("index", "-q").returncode == 0
    assert len(device.run("search", "quince", "-n", "50", "--paths0").stdout.split("\0")) == 12 + 1
    left = json.loads(device.run("status", "--json", "--left-out").stdout)["left_out"]
    folders = [one["path"] for one in left if one["rule"] != "type"]
    every = [str(path) for folder in (*FILES, "Mail") for path in (device.home / folder).rglob("*") if path.is_file()]
    named = [path for path in every if any(path == one or path.startswith(one + os.sep) for one in folders)]
    rest = sorted(set(every) - set(named))
    answers = device.run("why", *rest).stdout
    unknown = [path for path in rest if not any(f"{path}: {known}" in answers for known in ("indexed", "named"))]
    assert [Path(path).name for path in unknown] == ["a.pyc"]  # of a type that nobody looks for: its folder says so
    assert sum(one["n_files"] for one in left) == len(named) + len(unknown)
