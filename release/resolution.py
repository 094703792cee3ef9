"""What is installed with the program: asked of pip, kept as a lock with hashes and as a bill of materials."""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from release import run


class Part(NamedTuple):
    """One package that the program needs."""

    name: str
    version: str
    sha256: str
    licence: dict[str, object]


def resolve(python: Path, wheel: Path, extra: str = "") -> list[Part]:
    """What pip would install for the wheel here, by name; the program itself is not among them."""
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    said = run(python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", wanted)
    return parts(json.loads(said))


def parts(report: dict[str, list[dict[str, dict[str, object]]]]) -> list[Part]:
    """The packages of a report of pip (`pip install --report`)."""
    found = []
    for one in report["install"]:
        about, archive = one["metadata"], one["download_info"]["archive_info"]
        if about["name"] != "foltr-search" and isinstance(archive, dict):
            name = re.sub(r"[-_.]+", "-", str(about["name"])).lower()
            found.append(Part(name, str(about["version"]), archive["hashes"]["sha256"], _licence(about)))
    return sorted(found, key=lambda part: part.name)


def _licence(about: dict[str, object]) -> dict[str, object]:
    """As CycloneDX has it: an SPDX expression, or the name that the package gives its licence."""
    if expression := about.get("license_expression"):
        return {"expression": str(expression)}
    classifiers = about.get("classifier")
    named = [one for one in classifiers if one.startswith("License ::")] if isinstance(classifiers, list) else []
    said = named[0].rpartition(" :: ")[2] if named else str(about.get("license") or "not stated").splitlines()[0]
    return {"license": {"name": said[:80]}}


def lock(wheel: Path, sha256: str, found: list[Part], about: str) -> str:
    """Requirements for `pip install --require-hashes -r`, beside the wheel."""
    lines = [f"{part.name}=={part.version} --hash=sha256:{part.sha256}" for part in found]
    return "\n".join([f"# {about}: pip install --require-hashes -r THIS, in its folder", *lines,
                      f"./{wheel.name} --hash=sha256:{sha256}", ""])  # fmt: skip


def bill_of_materials(version: str, sha256: str, found: list[Part], *, moment: int) -> str:
    """CycloneDX 1.6 as JSON; the same parts at the same moment give the same bytes."""
    own = _component("foltr-search", version, sha256, {"expression": "Apache-2.0"})
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}",
                     "component": {**own, "type": "application"}},
        "components": [_component(*part) for part in found],
        "dependencies": [{"ref": own["bom-ref"], "dependsOn": [f"pkg:pypi/{one.name}@{one.version}" for one in found]}],
    }  # fmt: skip
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return json.dumps({**content, "serialNumber": f"urn:uuid:{serial}"}, indent=1, sort_keys=True) + "\n"


def _component(name: str, version: str, sha256: str, licence: dict[str, object]) -> dict[str, object]:
    purl = f"pkg:pypi/{name}@{version}"
    return {
        "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": sha256}], "licenses": [licence],
    }  # fmt: skip
