"""`python -m release VERSION --out DIR`: build, try and sign a release; nothing is uploaded (docs/releasing.md).

python -m release 0.2.0 --out DIR --key foltr-search.key     the release
python -m release 0.2.0 --out DIR --rehearsal                the same with a key and an address made up for it
python -m release keys DIR                                   make a pair of keys
python -m release verify DIR --key foltr-search.pub          check what was downloaded
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import tempfile
import tomllib
from pathlib import Path

import click

from release import CHECKOUT, deb, manifests, onefile, run, signing, trial
from release.packages import build_twice, commit_time
from release.resolution import bill_of_materials, lock, resolve
from release.tidy import address, refuse_untidy

NOWHERE = "https://foltr-search.invalid"
"""the address of a rehearsal: nobody can have it (RFC 6761)"""


@click.command()
@click.argument("version")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="An empty folder for the release.")
@click.option(
    "--key", type=click.Path(exists=True, path_type=Path), help="The secret key; the public one for `verify`."
)
@click.option("--rehearsal", is_flag=True, help="With a key and an address of no worth.")
def command(version: str, folder: Path | None, out: Path | None, key: Path | None, rehearsal: bool) -> None:
    """Make the release VERSION, or do what `keys DIR` and `verify DIR` say."""
    if version in ("keys", "verify"):
        _keys_or_verify(version, folder, key)
    elif out is None or (key is None and not rehearsal):
        raise click.UsageError("wanted --out DIR, and --key FILE or --rehearsal")
    else:
        make(version, out, key, rehearsal)


def _keys_or_verify(word: str, folder: Path | None, key: Path | None) -> None:
    if folder is None or (word == "verify" and key is None):
        raise click.UsageError("wanted `keys DIR`, or `verify DIR --key PUBLIC`")
    if word == "keys":
        signing.make_keys(folder)
    else:
        assert key is not None
        click.echo(f"all files are as signed: {signing.verify(folder, key)}")


def make(version: str, out: Path, key: Path | None, rehearsal: bool) -> None:
    """Everything, in the order in which one thing needs another."""
    refuse_untidy(CHECKOUT, version)
    home = address(CHECKOUT) or (NOWHERE if rehearsal else "")
    if not home:
        raise click.ClickException("pyproject.toml: wanted project.urls.Source; reserve it first")
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise click.ClickException(f"{out}: wanted an empty folder")
    said("building wheel and sdist, twice")
    wheel, sdist = build_twice(CHECKOUT, out)
    moment = commit_time(CHECKOUT)
    with tempfile.TemporaryDirectory() as scratch:
        run(deb.PYTHON, "-m", "venv", scratch)
        python = Path(scratch, "bin", "python")
        locks = [_lock(python, wheel, version, extra, moment) for extra in ("", "desktop")]
        said("one file, and a package of Debian")
        whole = onefile.build(python, locks[0], out / f"foltr-search-{version}.pyz")
        package = deb.build(locks[0], version, out, moment=moment)
        said("trying them")
        trial.try_program(Path(scratch, "user"), python, whole)
        trial.try_package(package, deb.as_version(package, f"{version}+next", Path(scratch)))
    manifests.write(_facts(version, home, sdist, wheel), out)
    said("signing")
    if key is None:
        with tempfile.TemporaryDirectory() as folder:
            signing.make_keys(Path(folder))
            shutil.copy(Path(folder, signing.PUBLIC), out)
            _sign(out, Path(folder, signing.SECRET), version, moment)
    else:
        shutil.copy(key.with_name(signing.PUBLIC), out)
        _sign(out, key, version, moment)
    said(f"{out}: {signing.verify(out, out / signing.PUBLIC)}")


def _sign(out: Path, key: Path, version: str, moment: str) -> None:
    signing.sign(signing.write_sums(out), key, f"foltr-search {version}, commit of {moment}")


def _lock(python: Path, wheel: Path, version: str, extra: str, moment: str) -> Path:
    """The lock and the bill of materials of the program with an extra."""
    said(f"asking pip what is needed{f' with [{extra}]' if extra else ''}")
    found, digest = resolve(python, wheel, extra), hashlib.sha256(wheel.read_bytes()).hexdigest()
    label = f"foltr-search-{version}{f'-{extra}' if extra else ''}"
    about = f"foltr-search {version}, {platform.system()} {platform.machine()}, {run(python, '--version').strip()}"
    target = wheel.with_name(f"{label}.lock.txt")
    target.write_text(lock(wheel, digest, found, about), encoding="utf-8")
    bill = bill_of_materials(version, digest, found, moment=int(moment))
    wheel.with_name(f"{label}.cdx.json").write_text(bill, encoding="utf-8")
    return target


def _facts(version: str, home: str, sdist: Path, wheel: Path) -> manifests.Facts:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [one for one in project["dependencies"] if ";" not in one]
    names = tuple(re.split(r"[^\w.-]", one, maxsplit=1)[0].lower().replace(".", "-") for one in needed)
    return manifests.Facts(version, project["description"], home, sdist.name,
                           hashlib.sha256(sdist.read_bytes()).hexdigest(), wheel.name, names)  # fmt: skip


def said(line: str) -> None:
    """What is being done, on stderr."""
    click.echo(line, err=True)


if __name__ == "__main__":
    command(prog_name="python -m release")
