"""With what a run was made, and that nothing of the person is in it."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest

from simulation import environment as kept
from simulation.environment import (
    _commit,
    build,
    check_alike,
    difference,
    environment,
    finished,
    keep_environment,
    read_environments,
    without_paths,
)
from simulation.errors import SimulationError


def test_versions_and_machine_are_told() -> None:
    """The entry has what a repetition needs."""
    entry = environment(["foltr-search", "--simulate", "mq2008"])
    assert entry.python.endswith(platform.python_version())
    assert entry.packages["numpy"] == np.__version__
    assert entry.cores >= 1
    assert entry.command == "foltr-search --simulate mq2008"
    assert entry.finished is None
    assert entry.commit is None or len(entry.commit.rstrip("+")) == 40


def test_nothing_of_the_person_is_in_it(tmp_path: Path) -> None:
    """No home, no host, no folder of the command line, in whatever form it was given."""
    folder = tmp_path / "secret-project"
    folder.mkdir()
    words = ["/opt/secret/bin/foltr-search", "--data", "secret", "--out=secret", str(folder), "~/secret.toml"]
    keep_environment(tmp_path, environment([*words, f"--preset={folder}/x.toml", "..\\secret", "C:secret"]))
    text = (tmp_path / "environment.json").read_text()
    assert "secret" not in text


def test_words_that_are_no_paths_stay() -> None:
    """Names of presets, numbers and settings are what the command line is kept for."""
    words = ["foltr-search", "--preset", "quick/fpdgd", "--set", "method.learning_rate=0.01,0.1", "--seeds", "5"]
    assert without_paths(words) == words
    assert without_paths([]) == []


def test_each_start_has_an_entry_and_its_end(tmp_path: Path) -> None:
    """An entry is written over when the run ends; going on with a run adds another."""
    first = environment(["a"])
    keep_environment(tmp_path, first)
    keep_environment(tmp_path, finished(first))
    (only,) = read_environments(tmp_path)
    assert only.finished is not None
    assert only.finished >= only.started
    keep_environment(tmp_path, msgspec.structs.replace(environment(["b"]), started="2099-01-01T00:00:00.000+00:00"))
    assert [entry.command for entry in read_environments(tmp_path)] == ["a", "b"]


def test_a_damaged_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    """Somebody else's environment.json is not written over."""
    (tmp_path / "environment.json").write_text('{"name": "conda"}')
    with pytest.raises(SimulationError, match=r"environment\.json: wanted the environments of a run"):
        keep_environment(tmp_path, environment(["a"]))


def test_the_processor_s_instructions_are_told() -> None:
    """The kind that numba compiles for, by name; an architecture and versions, which rows depend on, as a build."""
    entry = environment(["a"])
    assert entry.instructions.partition(":")[0]
    assert entry.build == build()
    assert {"machine", "numpy", "numba", "code"} <= set(build())


def test_a_package_knows_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no checkout is, the file that was packed in; nothing where there is none."""
    (tmp_path / "simulation").mkdir()
    assert kept._commit(tmp_path) is None
    (tmp_path / "simulation" / kept.COMMIT).write_text("0123abc\n")
    assert kept._commit(tmp_path) == "0123abc"


def test_a_checkout_is_looked_at_and_left_as_it_is(tmp_path: Path) -> None:
    """Its owner may commit while a study begins: git's index is not locked or written for a look."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e"]
    (tmp_path / "file").write_text("text")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    os.utime(tmp_path / "file", (1, 1))  # which git would note in its index
    before = (tmp_path / ".git" / "index").read_bytes()
    assert len(_commit(tmp_path) or "") == 40
    assert (tmp_path / ".git" / "index").read_bytes() == before


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ({"numpy": "1.0"}, "numpy 1.0, here"),
        ({"code": "0123"}, "code 0123, here"),
        ({"machine": "aarch64"}, "machine aarch64, here"),
    ],
    ids=str,
)
def test_rows_of_another_build_are_not_gone_on_with(then: dict[str, str], said: str, tmp_path: Path) -> None:
    """Another version, other code, another architecture: one line says which. Another processor is none of these."""
    alike = environment(["a"])
    check_alike([alike, msgspec.structs.replace(alike, cpu="another", instructions="pentium: ")], {}, tmp_path)
    with pytest.raises(SimulationError, match=rf"it was begun with {said}"):
        check_alike([msgspec.structs.replace(alike, build=alike.build | then)], {}, tmp_path)
    assert difference(build(), build()) == ""
