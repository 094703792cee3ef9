"""Programs of the system: real ones, with what they may not do."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from indexer.confined.confinement import available
from indexer.confined.programs import output_of, program_path
from indexer.errors import ExtractionError
from indexer.extract.source import Source

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are those of Unix")


def python(code: str) -> list[str]:
    return [os.path.realpath(sys.executable), "-I", "-c", code]


def test_a_program_reads_what_it_is_given_and_gives_what_it_writes() -> None:
    with output_of(["cat"], given=b"heron" * 100_000) as output:
        assert output.read() == b"heron" * 100_000


def test_a_program_reads_a_file_on_disk_and_what_sat_inside_of_one_alike(tmp_path: Path) -> None:
    """Both from their beginning, whoever read them before; no copy lies anywhere."""
    (tmp_path / "-a.djvu").write_bytes(b"AT&T")
    for source in (Source(name="a.djvu", data=b"AT&T"), Source(name="a.djvu", path=str(tmp_path / "-a.djvu"))):
        for _ in range(2):
            with output_of(["cat"], given=source) as output:
                assert output.read() == b"AT&T"


def test_a_program_that_fails_is_named_and_one_that_is_left_early_is_ended() -> None:
    """What it wrote before is there all the same; endless output ends with the block."""
    with pytest.raises(ExtractionError, match=r"python.* failed"), output_of(python("print('a'); exit(3)")) as output:
        assert output.read() == b"a\n"
    with output_of(["yes"]) as output:
        assert output.read(4) == b"y\ny\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_program_has_so_much_processor_time_and_no_more() -> None:
    with pytest.raises(ExtractionError) as told, output_of(python("while True: pass"), seconds=1) as output:
        assert output.read() == b""
    assert told.value.kind == "timeout"


@pytest.mark.skipif("seccomp" not in available(), reason="the system does not let a process give up its rights")
def test_a_program_has_no_network() -> None:
    """Not even its own machine's: a socket that listens outside is not there."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with output_of(["/bin/bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo there; echo end"]) as output:
            assert output.read() == b"end\n"


def test_a_program_has_no_terminal() -> None:
    """It can ask the user for no password, for it leads a session of its own."""
    with output_of(python("import os; print(os.getsid(0) == os.getpid())")) as output:
        assert output.read() == b"True\n"


def test_a_program_that_is_missing_is_named_with_its_package() -> None:
    with pytest.raises(ExtractionError, match=r"okapi2txt, which is not installed \(Debian: okapi") as told:
        program_path("okapi2txt", "okapi")
    assert told.value.kind == "unsupported"
