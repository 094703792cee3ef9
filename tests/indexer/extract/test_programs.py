"""Programs of the system: real ones, with what they may not do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from indexer.errors import ExtractionError
from indexer.extract.programs import installed, needed, on_disk, output_of
from indexer.extract.source import Source

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs are those of Unix")


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-c", code]


def test_a_program_reads_what_it_is_given_and_gives_what_it_writes() -> None:
    with output_of(["cat"], data=b"heron" * 100_000) as output:
        assert output.read() == b"heron" * 100_000


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


@pytest.mark.skipif(not installed("unshare"), reason="unshare is not installed")
def test_a_program_has_no_network() -> None:
    """Not even its own machine's: a socket that listens outside is not there."""
    import socket

    from indexer.extract import programs

    if not programs._without_network():
        pytest.skip("the system does not let its users take the network away")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; print(socket.socket().connect_ex(('127.0.0.1', {port})))"
        with output_of(python(code)) as output:
            assert int(output.read()) != 0


def test_a_program_has_no_terminal() -> None:
    """It can ask the user for no password, for it leads a session of its own."""
    with output_of(python("import os; print(os.getsid(0) == os.getpid())")) as output:
        assert output.read() == b"True\n"


def test_a_program_that_is_missing_is_named_with_its_package() -> None:
    with pytest.raises(ExtractionError, match=r"okapi2txt, which is not installed \(Debian: okapi") as told:
        needed("okapi2txt", "okapi")
    assert told.value.kind == "unsupported"


def test_what_sat_inside_of_a_file_is_copied_for_the_time_of_a_run(tmp_path: Path) -> None:
    with on_disk(Source(name="a.djvu", data=b"AT&T")) as path:
        assert Path(path).read_bytes() == b"AT&T"
        assert Path(path).stat().st_mode & 0o777 == 0o600
    assert not Path(path).exists()
    with on_disk(Source(name="a.djvu", path=str(tmp_path / "-a.djvu"))) as path:
        assert path == str(tmp_path / "-a.djvu")
