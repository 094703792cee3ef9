"""Two machines with a real ssh between them, on loopback."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import DevicesSettings
from tests.app.machines.machines_of_one import SETTINGS, make_machine, paths_of
from tests.ports import free_port
from tests.waiting import until

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[str]:
    """The program that reaches `desk`, whose account is this one, with the data of `desk`."""
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("there is no sshd here")
    for name in ("host", "me"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    port, programs = free_port(), tmp_path / "bin"
    programs.mkdir()
    program = programs / "foltr-search"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m app "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    desk, root = tmp_path / "desk", Path(__file__).parents[2]
    (tmp_path / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/me.pub\n"
        "PidFile none\nStrictModes no\nPasswordAuthentication no\n"
        f"SetEnv HOME={tmp_path} PATH={programs}:{os.environ['PATH']} PYTHONPATH={root} FOLTR_DATA_DIR={desk}/data "
        f"FOLTR_CONFIG_DIR={desk}/config FOLTR_MEANING__ENABLED=false\n",
        encoding="utf-8",
    )
    (tmp_path / "config").write_text(
        f"Host desk\n HostName 127.0.0.1\n Port {port}\n IdentityFile {tmp_path}/me\n IdentitiesOnly yes\n"
        f" UserKnownHostsFile {tmp_path}/known\n",
        encoding="utf-8",
    )
    host_key = (tmp_path / "host.pub").read_text(encoding="utf-8")
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {host_key}", encoding="utf-8")
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=log)
    try:
        until(lambda: b"listening" in (tmp_path / "log").read_bytes() or server.poll() is not None)
        if server.poll() is not None:
            pytest.skip(f"sshd does not run here: {(tmp_path / 'log').read_text()[-200:]}")
        yield f"ssh -F {tmp_path}/config"
    finally:
        server.kill()
        server.wait()


def test_a_question_goes_over_a_real_ssh(ssh: str, tmp_path: Path) -> None:
    """With keys and an account; a stranger to that machine gets one line of ssh's own."""
    make_machine(tmp_path / "here", {"heron.txt": "The heron waits for fish."})
    make_machine(tmp_path / "desk", {"stork.txt": "The stork hunts fish."})
    devices = DevicesSettings(ssh=ssh, ask_seconds=60.0)
    search = Search(msgspec.structs.replace(SETTINGS, devices=devices), paths_of(tmp_path / "here"))
    try:
        page = search.search(SearchRequest("fish", on=("desk",)))
        assert page.unasked == ()
        assert {hit.machine for hit in page.hits} == {"", "desk"}
        assert "stork hunts" in next(search.snippet(page, hit).text for hit in page.hits if hit.machine)
        search.machines.close()
        (tmp_path / "me.pub").write_text("", encoding="utf-8")
        (line,) = search.search(SearchRequest("fish", on=("desk",))).unasked
        assert "Permission denied" in line
    finally:
        search.close()
