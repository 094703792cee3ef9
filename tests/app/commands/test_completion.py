"""Completion of commands, options, choices and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.app.conftest import Device


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(device: Device, shell: str) -> None:
    """The script names the program and its variable, and needs no such shell installed."""
    done = device.run("completion", shell, env={"PATH": ""})
    assert done.returncode == 0
    assert "_FOLTR_SEARCH_COMPLETE" in done.stdout
    assert done.stderr == ""


def completions(device: Device, *words: str) -> list[str]:
    env = {"_FOLTR_SEARCH_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("foltr-search", *words))}
    done = device.run(env={**env, "COMP_CWORD": str(len(words))})
    return [line.removeprefix("plain,") for line in done.stdout.splitlines() if line.startswith("plain,")]


def test_commands_options_choices_and_settings_are_completed(device: Device) -> None:
    """The shell is offered commands, options, their values, and the keys of --set."""
    assert completions(device, "hist") == ["history"]
    assert "--paths0" in completions(device, "search", "--pa")
    assert completions(device, "search", "--order", "mo") == ["modified"]
    assert completions(device, "status", "--set", "index.work") == ["index.workers="]
