"""What release/ promises, without a network; the whole is `python -m release VERSION --out DIR --rehearsal`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest

from release import run, signing
from release.manifests import APP_ID, MANIFESTS, Facts, write
from release.packages import build_twice
from release.resolution import Part, bill_of_materials, lock, parts
from release.tidy import untidy

ROOT = Path(__file__).resolve().parents[2]
DIGEST = "ab" * 32
PARTS = [Part("gull", "1.2", DIGEST, {"expression": "MIT"}), Part("tern", "3", "cd" * 32, {"license": {"name": "BSD"}})]
FACTS = Facts(
    "0.2.0", "A private search engine", "https://foltr-search.invalid", "foltr_search-0.2.0.tar.gz", DIGEST,
    "foltr_search-0.2.0-py3-none-any.whl", ("numpy", "backports-zstd"),
)  # fmt: skip
PACKAGE = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "heron"
version = "1.0.0"
requires-python = ">=3.11"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A tidy checkout of a small project."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(PACKAGE)
    (folder / "heron.py").write_text('"""A grey heron."""\n')
    (folder / "CHANGELOG.md").write_text("# Changelog\n\n## 1.0.0 - 2026-11-23\n")
    (folder / "CITATION.cff").write_text("title: heron\nversion: 1.0.0\n")
    run("git", "init", "--quiet", cwd=folder)
    run("git", "add", ".", cwd=folder)
    run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "Begin", cwd=folder)
    return folder


def test_a_tidy_checkout_is_refused_nothing(checkout: Path) -> None:
    """And an untidy one is told everything in the way."""
    assert list(untidy(checkout, "1.0.0")) == []
    (checkout / "new.py").touch()
    wrong = "\n".join(untidy(checkout, "1.1.0"))
    for said in ("not committed: new.py", "wanted version 1.1.0, got 1.0.0", "`## 1.1.0 - YEAR-MONTH-DAY`", "CITATION"):
        assert said in wrong


def test_this_checkout_is_of_one_version() -> None:
    """pyproject.toml, the changelog and CITATION.cff name the same."""
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert [line for line in untidy(ROOT, version[1]) if not line.startswith("not committed")] == []


def test_two_builds_are_the_same_to_the_bit(checkout: Path, tmp_path: Path) -> None:
    """Real ones, in two clones; nothing that is not committed gets in."""
    (checkout / "secret.py").touch()
    found = build_twice(checkout, tmp_path)
    assert [path.name for path in found] == ["heron-1.0.0-py3-none-any.whl", "heron-1.0.0.tar.gz"]
    assert "secret.py" not in run("python3", "-m", "zipfile", "-l", found[0])


def test_what_is_signed_is_verified_and_what_is_changed_is_not(tmp_path: Path) -> None:
    """A changed file, a changed list, another key and a changed comment are each refused."""
    keys, out = tmp_path / "keys", tmp_path / "out"
    for folder in (keys, out, out / "nix"):
        folder.mkdir()
    signing.make_keys(keys)
    (out / "a.whl").write_bytes(b"a")
    (out / "nix" / "flake.nix").write_bytes(b"b")
    signing.sign(signing.write_sums(out), keys / signing.SECRET, "heron 1.0.0")
    assert signing.verify(out, keys / signing.PUBLIC) == "heron 1.0.0"
    assert (keys / signing.SECRET).stat().st_mode & 0o077 == 0
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--quiet", "-c", signing.SUMS], cwd=out, check=True)
    signature = out / "SHA256SUMS.minisig"
    for path, old, new in (
        (out / "nix" / "flake.nix", b"b", b"c"),
        (out / signing.SUMS, b"  a.whl", b"  b.whl"),
        (signature, b"heron 1.0.0", b"heron 1.0.1"),
    ):
        before = path.read_bytes()
        path.write_bytes(before.replace(old, new))
        with pytest.raises(click.ClickException, match="not what was signed"):
            signing.verify(out, keys / signing.PUBLIC)
        path.write_bytes(before)
    (tmp_path / "other").mkdir()
    signing.make_keys(tmp_path / "other")
    with pytest.raises(click.ClickException, match="another key"):
        signing.verify(out, tmp_path / "other" / signing.PUBLIC)
    with pytest.raises(FileExistsError):
        signing.make_keys(keys)


def test_what_pip_says_becomes_parts() -> None:
    """By name, with the hash of the file and the licence; the program itself is none of them."""
    report = {
        "install": [
            {"metadata": {"name": name, "version": "1", **about}, "download_info": {"archive_info": archive}}
            for name, about, archive in (
                ("foltr-search", {}, {"hashes": {"sha256": "00"}}),
                ("Py_Tern", {"license_expression": "MIT"}, {"hashes": {"sha256": "cd"}}),
                ("gull", {"classifier": ["License :: OSI Approved :: BSD License"]}, {"hashes": {"sha256": "ab"}}),
            )
        ]
    }
    found = parts(report)  # type: ignore[arg-type]
    assert [part[:3] for part in found] == [("gull", "1", "ab"), ("py-tern", "1", "cd")]
    assert [part.licence for part in found] == [{"license": {"name": "BSD License"}}, {"expression": "MIT"}]


def test_the_lock_and_the_bill_name_every_part_with_its_hash() -> None:
    """The lock as pip reads it; the bill as CycloneDX has it, the same bytes for the same parts."""
    lines = lock(Path("/x/f-1.whl"), DIGEST, PARTS, "f 1").splitlines()
    assert lines[1:] == [
        f"gull==1.2 --hash=sha256:{DIGEST}", f"tern==3 --hash=sha256:{'cd' * 32}", f"./f-1.whl --hash=sha256:{DIGEST}",
    ]  # fmt: skip
    bill = bill_of_materials("0.2.0", DIGEST, PARTS, moment=1_795_392_000)
    assert bill == bill_of_materials("0.2.0", DIGEST, PARTS, moment=1_795_392_000)
    content = json.loads(bill)
    assert (content["bomFormat"], content["specVersion"]) == ("CycloneDX", "1.6")
    assert content["metadata"]["timestamp"] == "2026-11-23T00:00:00Z"
    assert [one["purl"] for one in content["components"]] == ["pkg:pypi/gull@1.2", "pkg:pypi/tern@3"]
    assert set(content["dependencies"][0]["dependsOn"]) == {one["bom-ref"] for one in content["components"]}
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", content["serialNumber"])


def test_every_manifest_says_the_same_and_can_be_parsed(tmp_path: Path) -> None:
    """bash reads the PKGBUILD, JSON the Flatpak, brackets and blocks close in the others; all name version and sum."""
    write(FACTS, tmp_path)
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name in MANIFESTS}
    for name in ("homebrew/foltr-search.rb", "nix/flake.nix", "aur/PKGBUILD"):
        assert FACTS.url in texts[name]
        assert DIGEST in texts[name]
    show = 'source "$1"; printf "%s\\n" "$pkgname $pkgver" "${depends[@]}" "${sha256sums[0]}"; declare -F'
    done = subprocess.run(
        ["bash", "-euc", show, "bash", tmp_path / "aur/PKGBUILD"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "foltr-search 0.2.0", "python>=3.11", "python-numpy", "python-backports-zstd", DIGEST,
        "declare -f build", "declare -f package",
    ]  # fmt: skip
    flatpak = json.loads(texts[f"flatpak/{APP_ID}.json"])
    assert (flatpak["app-id"], flatpak["command"]) == (APP_ID, "foltr-search")
    assert FACTS.wheel in flatpak["modules"][0]["build-commands"][0]
    flake = re.sub(r'"[^"]*"', '""', texts["nix/flake.nix"])
    assert all(flake.count(one) == flake.count(other) for one, other in ("{}", "[]", "()"))
    formula = texts["homebrew/foltr-search.rb"]
    begun = re.findall(r"^ *(?:class|def)\b|\bdo$", formula, re.MULTILINE)
    assert len(begun) == len(re.findall(r"^ *end$", formula, re.MULTILINE))


@pytest.fixture
def one_file(tmp_path: Path) -> Path:
    """The first lines of the one file, and beside them a program that says it runs."""
    from release.onefile import _MAIN

    path = tmp_path / "foltr.pyz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__main__.py", _MAIN.format(digest="0123456789abcdef", python=sys.version_info[:2]))
        archive.writestr("lib/foltr_search.py", "def search():\n    print('it runs')\n")
    return path


def started(one_file: Path, cache: Path) -> subprocess.Popen[str]:
    """Its first start, after another process of the same number was killed there while it unpacked."""
    killed = 'mkdir -p "$XDG_CACHE_HOME/foltr-search/0123456789abcdef.$$" 2> /dev/null; exec "$@"'
    command = ["sh", "-c", killed, "sh", sys.executable, one_file]
    return subprocess.Popen(command, env={**os.environ, "XDG_CACHE_HOME": str(cache)}, stdout=-1, stderr=-1, text=True)


def test_one_files_that_start_at_once_unpack_one_folder(one_file: Path, tmp_path: Path) -> None:
    """Nothing is left of those that were slower; what a killed one left is in nobody's way."""
    several = [started(one_file, tmp_path / "cache") for _ in range(4)]
    assert [one.communicate() for one in several] == [("it runs\n", "")] * 4
    assert len(list((tmp_path / "cache" / "foltr-search").iterdir())) == 1 + len(several)


def test_one_file_that_cannot_be_unpacked_says_so_in_one_line(one_file: Path, tmp_path: Path) -> None:
    """A cache that is no folder."""
    (tmp_path / "cache").touch()
    one = started(one_file, tmp_path / "cache")
    said = one.communicate()[1]
    assert (one.returncode, said.count("\n")) == (1, 1)
    assert "set XDG_CACHE_HOME" in said
