"""What other package managers read, made from one table: Homebrew, Nix, AUR and Flatpak."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

APP_ID = "search.foltr.Foltr"


class Facts(NamedTuple):
    """All that they say, once."""

    version: str
    summary: str
    home: str
    """the address of the project; files of a release lie below it, in releases/VERSION"""
    sdist: str
    sdist_sha256: str
    wheel: str
    requirements: tuple[str, ...]
    """names of the packages that are needed directly, as in PyPI"""

    @property
    def url(self) -> str:
        return f"{self.home}/releases/{self.version}/{self.sdist}"


def homebrew(facts: Facts) -> str:
    """A formula for a tap of one's own: what it needs is fetched by the lock in the sdist's release."""
    return f"""\
class FoltrSearch < Formula
  desc "{facts.summary}"
  homepage "{facts.home}"
  url "{facts.url}"
  sha256 "{facts.sdist_sha256}"
  license "Apache-2.0"

  depends_on "python@3.13"

  def install
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", buildpath
    bin.install_symlink libexec/"bin/foltr-search", libexec/"bin/foltr-server"
    man1.install_symlink Dir[libexec/"share/man/man1/*.1"]
  end

  test do
    (testpath/"a/heron.txt").write "a grey heron"
    system bin/"foltr-search", "index", testpath/"a"
    assert_match "heron.txt", shell_output("#{{bin}}/foltr-search search heron")
  end
end
"""


def nix(facts: Facts) -> str:
    """A flake whose package takes what it needs from nixpkgs."""
    needed = "\n".join(f"            {name}" for name in facts.requirements)
    return f"""\
{{
  description = "{facts.summary}";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = {{ self, nixpkgs }}:
    let each = nixpkgs.lib.genAttrs [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
    in {{
      packages = each (system: {{
        default = with nixpkgs.legacyPackages.${{system}}; python3Packages.buildPythonApplication {{
          pname = "foltr-search";
          version = "{facts.version}";
          pyproject = true;
          src = fetchurl {{ url = "{facts.url}"; sha256 = "{facts.sdist_sha256}"; }};
          build-system = [ python3Packages.hatchling ];
          pythonRelaxDeps = true;
          dependencies = with python3Packages; [
{needed}
          ];
          meta = {{ homepage = "{facts.home}"; license = lib.licenses.asl20; mainProgram = "foltr-search"; }};
        }};
      }});
    }};
}}
"""


def aur(facts: Facts) -> str:
    """A PKGBUILD."""
    needed = " ".join(f"'python-{name}'" for name in facts.requirements)
    return f"""\
pkgname=foltr-search
pkgver={facts.version}
pkgrel=1
pkgdesc='{facts.summary}'
arch=('any')
url='{facts.home}'
license=('Apache-2.0')
depends=('python>=3.11' {needed})
makedepends=('python-build' 'python-installer' 'python-hatchling')
source=('{facts.url}')
sha256sums=('{facts.sdist_sha256}')

build() {{
  cd "foltr_search-$pkgver"
  python -m build --wheel --no-isolation
}}

package() {{
  cd "foltr_search-$pkgver"
  python -m installer --destdir="$pkgdir" dist/*.whl
}}
"""


def flatpak(facts: Facts) -> str:
    """A manifest that stands beside the wheels of the lock (`pip download --require-hashes -d wheels -r LOCK`)."""
    pip = "pip3 install --no-index --find-links=. --prefix=/app"
    module = {
        "name": "foltr-search",
        "buildsystem": "simple",
        "build-commands": [f"{pip} ./{facts.wheel}"],
        "sources": [{"type": "dir", "path": "wheels"}],
    }
    return json.dumps({
        "app-id": APP_ID, "runtime": "org.freedesktop.Platform", "runtime-version": "25.08",
        "sdk": "org.freedesktop.Sdk", "command": "foltr-search", "finish-args": ["--filesystem=home:ro"],
        "modules": [module],
    }, indent=2) + "\n"  # fmt: skip


MANIFESTS: Mapping[str, Callable[[Facts], str]] = {
    "homebrew/foltr-search.rb": homebrew,
    "nix/flake.nix": nix,
    "aur/PKGBUILD": aur,
    f"flatpak/{APP_ID}.json": flatpak,
}


def write(facts: Facts, out: Path) -> None:
    """One file for each, below `out`."""
    for name, made in MANIFESTS.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(made(facts), encoding="utf-8")
