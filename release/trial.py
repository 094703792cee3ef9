"""What was built is tried as its user would: installed into a folder, used, upgraded, purged."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from release import run
from release.deb import HOME


def try_package(package: Path, newer: Path) -> None:
    """Install a package of Debian into a folder that stands for a system, use it, upgrade it, purge it."""
    with tempfile.TemporaryDirectory() as scratch:
        root, user = Path(scratch, "root"), Path(scratch, "user")
        for name in ("info", "updates", "triggers"):
            (root / "var/lib/dpkg" / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        _dpkg(root, "--install", package)
        try_program(user, root / HOME / "bin" / "python", "-P", "-m", "app")
        _dpkg(root, "--install", newer)
        _expect(newer.name.split("_")[1] in _dpkg(root, "--status", "foltr-search"), "the newer version is installed")
        answer = _ask(user, root / HOME / "bin" / "python", "-P", "-m", "app")
        _expect("heron.html" in answer, "the index is still there")
        shebang = (root / "usr/bin/foltr-search").readlink().as_posix(), (root / HOME / "bin/foltr-search").read_text()
        _expect(shebang[0] == f"/{HOME}/bin/foltr-search", "the command is a link into the package")
        _expect(shebang[1].startswith(f"#!/{HOME}/bin/python"), "the command runs in the package's environment")
        _dpkg(root, "--purge", "foltr-search")
        left = [path for path in root.rglob("*") if path.is_file() and "var" not in path.relative_to(root).parts]
        _expect(not left, f"nothing is left after a purge, but {left[:3]}")


def try_program(user: Path, *command: str | Path) -> None:
    """Index a folder with it, and find a file."""
    (user / "papers").mkdir(parents=True)
    page = "<title>Birds</title><p>a grey heron waits for fish"  # whose reader is loaded by a process without rights
    (user / "papers" / "heron.html").write_text(page, encoding="utf-8")
    run(*command, "index", "--quiet", user / "papers", env=_environment(user), cwd=user)
    _expect("heron.html" in _ask(user, *command), "the file is found")
    _expect("\tBirds\t" in _ask(user, *command), "the file was read")


def _ask(user: Path, *command: str | Path) -> str:
    return run(*command, "search", "heron", env=_environment(user), cwd=user)


def _environment(user: Path) -> dict[str, str]:
    return {"HOME": str(user), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


def _dpkg(root: Path, *words: str | Path) -> str:
    options = (
        "--force-script-chrootless",
        "--force-depends",
        "--force-not-root",
        "--force-unsafe-io",
        f"--log={root}/var/dpkg.log",
    )
    return run("dpkg", f"--root={root}", *options, *words)


def _expect(holds: bool, promise: str) -> None:
    if not holds:
        raise click.ClickException(f"wanted: {promise}; it is not so")
