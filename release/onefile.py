"""The program as one file: a zip that Python runs, unpacked into the user's cache at its first start."""

from __future__ import annotations

import hashlib
import tempfile
import zipapp
import zipfile
from pathlib import Path

from release import run

_MAIN = '''\
"""Unpacks what lies beside it once, and runs it there; processes that it starts find it by PYTHONPATH."""
import os, pathlib, shutil, sys, tempfile, zipfile

cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "foltr-search"
place = cache / "{digest}"
if sys.version_info[:2] != {python}:
    sys.exit("foltr-search: wanted Python %d.%d for this file, got %d.%d" % ({python} + sys.version_info[:2]))
unfinished = None
try:
    if not place.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = tempfile.mkdtemp(dir=cache, prefix="{digest}.")  # a killed one's number may come again
        with zipfile.ZipFile(os.path.dirname(os.path.abspath(__file__))) as archive:
            archive.extractall(unfinished, [one for one in archive.namelist() if one.startswith("lib/")])
        os.rename(unfinished, place)
except OSError as error:
    if not place.exists():  # else another one was faster
        sys.exit("foltr-search: cannot be unpacked into %s: %s; set XDG_CACHE_HOME" % (cache, error.strerror or error))
finally:
    if unfinished:
        shutil.rmtree(unfinished, ignore_errors=True)
paths = [str(place / "lib"), str(place / "lib" / "foltr-search"), os.environ.get("PYTHONPATH", "")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
start = "import sys; from foltr_search import search; sys.exit(search())"
os.execv(sys.executable, [sys.executable, "-P", "-c", start, *sys.argv[1:]])
'''


def build(python: Path, requirements: Path, out: Path) -> Path:
    """The file, with everything in it that the lock `requirements` names."""
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch, "content", "lib")
        install = ("install", "--quiet", "--no-compile", "--require-hashes", "--target", library)
        run(python, "-m", "pip", *install, "-r", requirements.name, cwd=requirements.parent)
        version = run(python, "-c", "import sys; print(tuple(sys.version_info[:2]))").strip()
        digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
        main = _MAIN.format(digest=digest, python=version)
        plain = Path(scratch, "plain.pyz")
        _zip(library.parent, main, plain)
        zipapp.create_archive(plain, out, interpreter="/usr/bin/env python3")
        out.chmod(0o755)
        return out


def _zip(content: Path, main: str, target: Path) -> None:
    """In order, without dates and records of where it was made."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), main)
        for path in sorted(content.rglob("*")):
            if path.is_file() and path.name not in ("direct_url.json", "RECORD") and "bin" not in path.parts[-2:-1]:
                one = zipfile.ZipInfo(path.relative_to(content).as_posix())
                one.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(one, path.read_bytes())
