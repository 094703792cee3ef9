"""A package of Debian: an environment of its own below /opt, with the system's Python, and the two commands in PATH."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from release import run

PYTHON = Path("/usr/bin/python3")
HOME = "opt/foltr-search"
COMMANDS = ("foltr-search", "foltr-server")
_CONTROL = """\
Package: foltr-search
Version: {version}
Architecture: {architecture}
Maintainer: The foltr-search project
Depends: python3 (>= {python}), python3 (<< {next_python})
Installed-Size: {kilobytes}
Section: utils
Priority: optional
Description: private search engine for your own files
 It runs in the terminal, finds things in PDF, Office, mail, HTML, Markdown and
 source, and learns to rank from what you open. Nothing leaves the device.
"""
_AFTER_REMOVAL = f"""\
#!/bin/sh
set -e
if [ "$1" = purge ]; then rm -rf "${{DPKG_ROOT:-}}/{HOME}"; fi
"""


def build(requirements: Path, version: str, out: Path, *, moment: str) -> Path:
    """The package; everything in it is as the lock `requirements` says."""
    with tempfile.TemporaryDirectory() as scratch:
        stage = Path(scratch, "stage")
        home = stage / HOME
        run(PYTHON, "-m", "venv", home)
        install = ("install", "--quiet", "--no-compile", "--require-hashes", "-r", requirements.name)
        run(home / "bin" / "python", "-m", "pip", *install, cwd=requirements.parent)
        _forget_the_stage(home, stage)
        compiled = ("-q", "-x", "olefile2", "--invalidation-mode", "unchecked-hash")  # which is for Python 2
        run(PYTHON, "-m", "compileall", *compiled, "-s", stage, "-p", "/", home)
        _link(stage)
        _write_control(stage, version)
        name = out / f"foltr-search_{version}_{_architecture()}.deb"
        env = {**os.environ, "SOURCE_DATE_EPOCH": moment}
        run("dpkg-deb", "--root-owner-group", "-Zzstd", "-z6", "--build", stage, name, env=env)
        return name


def as_version(package: Path, version: str, out: Path) -> Path:
    """The same package under another version, to try an upgrade with."""
    with tempfile.TemporaryDirectory() as scratch:
        run("dpkg-deb", "--raw-extract", package, scratch)
        control = Path(scratch, "DEBIAN", "control")
        control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", control.read_text(encoding="utf-8")))
        name = out / f"foltr-search_{version}_{_architecture()}.deb"
        run("dpkg-deb", "--root-owner-group", "-Znone", "--build", scratch, name)
        return name


def _forget_the_stage(home: Path, stage: Path) -> None:
    """Take out of the environment where it was made."""
    for path in home.rglob("__pycache__"):
        shutil.rmtree(path)
    for path in (home / "bin").glob("[Aa]ctivate*"):
        path.unlink()
    for path in home.rglob("direct_url.json"):
        path.unlink()
        record = path.with_name("RECORD")
        lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
        record.write_text("".join(line for line in lines if "/direct_url.json," not in line), encoding="utf-8")
    for path in (home / "bin").iterdir():
        if not path.is_symlink():
            path.write_bytes(path.read_bytes().replace(bytes(stage), b""))
    settings = home / "pyvenv.cfg"
    settings.write_text(re.sub(r"(?m)^command = .*\n", "", settings.read_text(encoding="utf-8")), encoding="utf-8")


def _link(stage: Path) -> None:
    for folder, names in (("bin", COMMANDS), ("share/man/man1", [f"{name}.1" for name in COMMANDS])):
        there = stage / "usr" / folder
        there.mkdir(parents=True)
        for name in names:
            (there / name).symlink_to(f"/{HOME}/{folder}/{name}")


def _write_control(stage: Path, version: str) -> None:
    python = run(PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    major, minor = map(int, python.split("."))
    folder = stage / "DEBIAN"
    folder.mkdir()
    kilobytes = sum(path.lstat().st_size for path in stage.rglob("*")) // 1024
    control = _CONTROL.format(version=version, architecture=_architecture(), python=python, kilobytes=kilobytes,
                              next_python=f"{major}.{minor + 1}")  # fmt: skip
    (folder / "control").write_text(control, encoding="utf-8")
    (folder / "postrm").write_text(_AFTER_REMOVAL, encoding="utf-8")
    (folder / "postrm").chmod(0o755)


def _architecture() -> str:
    return run("dpkg", "--print-architecture").strip()
