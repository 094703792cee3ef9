"""A folder on a disk whose power can go: what was not synced may then be missing, old, or torn page by page.

power_cut.c keeps what was synced; this rebuilds the folder from it. For each name that differs from the folder's last
sync the old or the new entry is drawn, for each file its old or its new length, for each 4,096 bytes the old or the new
content; what was cut off its end is whole or gone, as on any file system. Without a generator the worst is taken:
nothing but what was synced.

Not simulated: versions that were overwritten again before the power went, syncs by `sync`, `msync` or O_SYNC (nothing
here uses them), and writes through a map (of SQLite's, only its index of the log, which is made anew). A new name is
lost unless its folder was synced, which is more than the usual file systems lose; a new folder that was synced itself
is there, as it is on all of them.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from random import Random

SOURCE = Path(__file__).with_suffix(".c")
PAGE = 4096
COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def compiled(folder: Path) -> Path:
    """The library that processes are started with."""
    assert COMPILER is not None
    library = folder / "power_cut.so"
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    return library


@dataclass(frozen=True, slots=True)
class Disk:
    """`root` is what the product writes to, `kept` where the library keeps what is synced of it."""

    root: Path
    kept: Path
    library: Path

    def environment(self, *, syncs: int | None = None) -> dict[str, str]:
        """For every process that writes to the disk; `syncs`: the power goes after so many."""
        limit = {} if syncs is None else {"POWER_SYNCS": str(syncs)}
        return {"LD_PRELOAD": str(self.library), "POWER_ROOT": str(self.root), "POWER_DISK": str(self.kept), **limit}

    def settle(self) -> None:
        """All that is there now is on the disk, as after a start."""
        shutil.rmtree(self.kept, ignore_errors=True)
        self.kept.mkdir(mode=0o700)
        for folder, _, files in os.walk(self.root):
            for path in (folder, *(os.path.join(folder, name) for name in files)):
                if self._id(path).startswith(("d", "f")):
                    self._keep(path)

    def sync(self, path: Path) -> None:
        """What another program has written and synced, with its name."""
        for one in (path, path.parent):
            self._keep(str(one))

    def _keep(self, path: str) -> None:
        handle = os.open(path, os.O_RDONLY)
        failed = self._loaded().power_keep(handle, os.fsencode(self.kept))
        os.close(handle)
        assert not failed, path

    def cut(self, rng: Random | None = None) -> None:
        """Have the folder as the disk has it; whoever writes to it has been killed."""
        fresh = self.root.with_name(self.root.name + ".fresh")
        self.rebuild(fresh, rng)
        shutil.rmtree(self.root)
        fresh.rename(self.root)
        self.settle()

    def rebuild(self, target: Path, rng: Random | None) -> None:
        """Write what the disk has into a new folder; the present one stays as it is."""
        living = {self._id(os.path.join(folder, name)): Path(folder, name)
                  for folder, _, files in os.walk(self.root) for name in files}  # fmt: skip
        living |= {self._id(folder): Path(folder) for folder, _, _ in os.walk(self.root)}
        self._rebuild_folder(self._id(self.root), target, living, rng)

    def _rebuild_folder(self, folder: str, target: Path, living: dict[str, Path], rng: Random | None) -> None:
        target.mkdir(mode=0o700)
        listing = self.kept / f"{folder}.names"
        entries = [entry.split("/", 1) for entry in os.fsdecode(listing.read_bytes()).split("\0") if entry] if (
            listing.exists()) else []  # fmt: skip
        old = {name: one for one, name in entries}
        new = {
            path.name: one for one, path in living.items() if path.parent == living.get(folder) and path != self.root
        }
        old |= {name: one for name, one in new.items() if (self.kept / f"{one}.names").exists()}
        for name in sorted({*old, *new}):
            chosen = old.get(name) if rng is None or rng.random() < 0.5 else new.get(name)
            if chosen is None or chosen.startswith("o"):
                continue
            if chosen.startswith("d"):
                self._rebuild_folder(chosen, target / name, living, rng)
            else:
                self._rebuild_file(self.kept / chosen, living.get(chosen), target / name, rng)

    @staticmethod
    def _rebuild_file(synced: Path, now: Path | None, target: Path, rng: Random | None) -> None:
        old = synced.read_bytes() if synced.exists() else b""
        new = now.read_bytes() if now is not None and rng is not None else old
        if rng is not None and old != new:
            size = rng.choice((len(old), len(new)))
            new += old[len(new) :]  # to cut a file is one act: what it cut off is there as it was, or not at all
            pages = (rng.choice((old, new))[at : at + PAGE].ljust(PAGE, b"\0") for at in range(0, size, PAGE))
            old = b"".join(pages)[:size]
        target.write_bytes(old)
        like = synced if synced.exists() else now
        if like is not None:
            shutil.copystat(like, target)

    def _loaded(self) -> ctypes.CDLL:
        return ctypes.CDLL(str(self.library), use_errno=True)

    def _id(self, path: str | Path) -> str:
        name = ctypes.create_string_buffer(64)
        if self._loaded().power_id(-100, os.fsencode(path), name):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(path))
        return name.value.decode()
