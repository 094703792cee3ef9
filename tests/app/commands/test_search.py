"""`search` from the outside: results on stdout alone, exit codes, output formats, the same order each time."""

from __future__ import annotations

import base64
import json
import os
import pty
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.commands.search import ORDERS
from app.search.results import ORDERS as KNOWN_ORDERS

if TYPE_CHECKING:
    from tests.app.conftest import Device


def paths(stdout: str) -> list[str]:
    return [line.partition("\t")[0] for line in stdout.splitlines()]


def test_found_nothing_found_and_error_have_exit_codes_0_1_2(indexed: Device) -> None:
    """Exit codes as grep has them; only what was found is on stdout."""
    found, nothing, error = indexed.run("search", "heron"), indexed.run("search", "zebra"), indexed.run("search")
    assert (found.returncode, nothing.returncode, error.returncode) == (0, 1, 2)
    assert found.stderr == ""
    assert nothing.stdout == error.stdout == ""
    assert "nothing found" in nothing.stderr


def test_without_an_index_it_says_so(device: Device) -> None:
    """A first search before any indexing finds nothing and tells what to do."""
    done = device.run("search", "heron")
    assert done.returncode == 1
    assert "nothing is indexed yet; `foltr-search index FOLDER` does it" in done.stderr


def test_plain_lines_are_path_title_part_snippet(indexed: Device) -> None:
    """Without a terminal each result is one line of four columns."""
    done = indexed.run("search", "boat", "rental")
    (line,) = done.stdout.splitlines()
    path, title, part, snippet = line.split("\t")
    assert path == str(indexed.notes / "tax" / "invoice.html")
    assert (title, part) == ("Invoice 17", "")
    assert "Boat rental" in snippet


def test_all_words_are_one_query(indexed: Device) -> None:
    """Several arguments and one quoted argument are the same query; a leading `-` excludes a word."""
    apart, together = indexed.run("search", "heron", "water"), indexed.run("search", "heron water")
    assert apart.stdout == together.stdout != ""
    without = paths(indexed.run("search", "fish", "-kingfisher").stdout)
    assert str(indexed.notes / "birds" / "heron.txt") in without
    assert str(indexed.notes / "birds" / "kingfisher.md") not in without


def test_json_is_one_document_per_line_in_version_1(indexed: Device) -> None:
    """Each line has the documented fields, with the snippet's matches as offsets into its text."""
    done = indexed.run("search", "kingfisher", "--json", "--explain")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["rank"] for record in records] == list(range(1, len(records) + 1))
    first = records[0]
    assert first["v"] == 1
    assert first["path"] == str(indexed.notes / "birds" / "kingfisher.md")
    assert (first["name"], first["folder"]) == ("kingfisher.md", str(indexed.notes / "birds"))
    assert first["size"] == (indexed.notes / "birds" / "kingfisher.md").stat().st_size
    start, end = first["snippet"]["spans"][0]
    assert first["snippet"]["text"][start:end].lower() == "kingfisher"
    assert first["explanation"]["contributions"][0].keys() == {"feature", "description", "value", "prior", "learned"}
    documented = (Path(__file__).parents[3] / "docs" / "json-output.md").read_text(encoding="utf-8")
    assert all(f"`{field}`" in documented for field in [*first, *first["snippet"], *first["explanation"]])


def test_paths0_and_format(indexed: Device) -> None:
    """--paths0 ends each path with a NUL; --format fills fields and knows \\t and \\n."""
    found = indexed.run("search", "kingfisher", "--paths0").stdout
    assert found.endswith("\0")
    assert found.split("\0")[0] == str(indexed.notes / "birds" / "kingfisher.md")
    done = indexed.run("search", "boat", "--format", r"{rank}\t{name}\t{type}\n{title}{!}")
    assert done.stdout == "1\tinvoice.html\thtml\nInvoice 17{!}\n"


def test_an_unknown_field_names_the_known_ones(indexed: Device) -> None:
    """A misspelt field of --format is an error that lists the fields."""
    done = indexed.run("search", "boat", "--format", "{titel}")
    assert done.returncode == 2
    assert "no field {titel}; there are rank, path, title, snippet" in done.stderr


@pytest.mark.parametrize(
    "options",
    [["--json", "--paths0"], ["--json", "--format", "{path}"], ["--paths0", "--explain"], ["--jsn"], ["--limit", "0"]],
)
def test_options_that_cannot_be_are_refused(indexed: Device, options: list[str]) -> None:
    """Formats exclude one another, and a misspelt option is not taken for a word of the query."""
    assert indexed.run("search", "boat", *options).returncode == 2


def test_orders_are_those_of_the_search() -> None:
    """--order offers exactly what the search knows."""
    assert ORDERS == KNOWN_ORDERS


def test_order_and_limit(indexed: Device) -> None:
    """--order name sorts by file name, --limit cuts, and the order is the same at each call."""
    names = indexed.run("search", "fish", "--order", "name", "--format", "{name}").stdout.splitlines()
    assert names == sorted(names)
    assert len(names) >= 3
    cut = indexed.run("search", "fish", "--order", "name", "--limit", "2", "--format", "{name}")
    assert cut.stdout.splitlines() == names[:2]
    learned = [indexed.run("search", "fish", "--format", "{name}").stdout for _ in range(3)]
    assert len(set(learned)) == 1


def test_a_malformed_query_still_answers_and_points_at_the_place(indexed: Device) -> None:
    """What was not understood is shown under the query on stderr; the rest is answered."""
    done = indexed.run("search", "boat (")
    assert done.returncode == 0
    assert paths(done.stdout) == [str(indexed.notes / "tax" / "invoice.html")]
    message, query, mark = done.stderr.splitlines()[:3]
    assert message.startswith("foltr-search: ")
    assert query.index("(") == mark.index("^")


def test_a_misspelt_word_brings_a_suggestion(indexed: Device) -> None:
    """A word that no document has is answered with the nearest one that some have."""
    assert "did you mean: kingfisher" in indexed.run("search", "kingfsher").stderr


def test_explain_tells_why_on_plain_output(indexed: Device) -> None:
    """--explain adds a sentence and the features that moved the result most."""
    done = indexed.run("search", "boat", "--explain", "--no-explore")
    assert "bm25" in done.stdout.lower()
    assert "+" in done.stdout


def test_a_terminal_gets_wrapped_and_coloured_lines(indexed: Device) -> None:
    """On a terminal results have colour and fit its width; NO_COLOR takes the colour away."""
    coloured = on_terminal(indexed, "search", "heron")
    assert "\x1b[" in coloured
    plain = on_terminal(indexed, "search", "heron", NO_COLOR="1")
    assert "\x1b[" not in plain
    assert "matches in 6 documents" in plain
    results = [line for line in plain.splitlines() if not line.startswith("foltr-search:")]
    assert max(map(len, results)) <= 60


def on_terminal(device: Device, *arguments: str, **env: str) -> str:
    """What a user of a 60-column terminal would see."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(device.home)
        environment = device.environment(COLUMNS="60", LINES="24", TERM="xterm", **env)
        os.execve(sys.executable, [sys.executable, "-m", "app", *arguments], environment)
    output = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        output += chunk
    os.close(terminal)
    os.waitpid(pid, 0)
    return output.decode().replace("\r\n", "\n")


def test_odd_names_come_through_every_format(device: Device) -> None:
    """No name breaks a line or sends a control code, and --paths0 and JSON keep its very bytes."""
    names = [b"two\nlines.txt", b"escape\x1b[31m.txt", b"caf\xe9.txt", b"-dash.txt"]
    for name in names:
        try:
            Path(os.fsdecode(os.fsencode(device.notes) + b"/" + name)).write_bytes(b"ocelot " + name[:2])
        except OSError:
            pytest.skip("this file system does not take such names")
    device.index()
    lines = device.run("search", "ocelot").stdout.splitlines()
    assert len(lines) == len(names)
    assert not any("\x1b" in line for line in lines)
    wanted = {os.fsencode(device.notes) + b"/" + name for name in names}
    listed = os.fsencode(device.run("search", "ocelot", "--paths0").stdout)
    assert set(listed.split(b"\0")[:-1]) == wanted
    records = [json.loads(line) for line in device.run("search", "ocelot", "--json").stdout.splitlines()]
    assert {path_bytes(record) for record in records} == wanted


def path_bytes(record: dict[str, str]) -> bytes:
    return base64.b64decode(record["path_base64"]) if "path_base64" in record else record["path"].encode()
