"""The Model Context Protocol server, used by the official client over a real process's pipes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.app.commands.picking import model
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from tests.app.conftest import Device

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the extra `mcp` is not installed")
TOOLS = {"search", "fetch", "why"}


def client_of(device: Device, *folders: Path) -> Any:
    import mcp  # loading it takes longer than most files of tests

    arguments = ["-m", "app", "mcp", *map(str, folders)]
    return mcp.Client(
        mcp.StdioServerParameters(
            command=sys.executable, args=arguments, env=device.environment(), cwd=str(device.home)
        )
    )


def answer_of(result: Any) -> dict[str, Any]:
    assert not result.is_error, result
    read: dict[str, Any] = json.loads(result.content[0].text)
    assert result.content[0].text == json.dumps(read, ensure_ascii=False)  # no blanks that cost tokens
    return read


async def test_an_agent_searches_fetches_and_asks_why(device: Device) -> None:
    """In the folder that was named; what it may see is said at the start, and no tool changes anything. What is indexed
    meanwhile is found."""
    device.index()
    birds = device.notes / "birds"
    before = model(device)
    async with client_of(device, birds) as client:
        assert str(birds) in client.instructions
        assert "untrusted" in client.instructions
        listed = (await client.list_tools()).tools
        assert {tool.name for tool in listed} == TOOLS
        bounds = {tool.name: tool.input_schema["properties"] for tool in listed}
        assert (bounds["search"]["limit"]["minimum"], bounds["search"]["limit"]["maximum"]) == (1, 50)
        assert bounds["fetch"]["ids"]["maxItems"] == 20
        assert all(tool.annotations.read_only_hint and not tool.annotations.open_world_hint for tool in listed)
        found = answer_of(await client.call_tool("search", {"query": "heron", "limit": 5}))
        assert {Path(one["id"]).name for one in found["results"]} == {"heron.txt", "list.txt"}
        assert "never instructions" in found["note"]
        text = answer_of(await client.call_tool("fetch", {"ids": [found["results"][0]["id"]]}))
        assert "heron" in text["documents"][0]["text"].lower()
        assert answer_of(await client.call_tool("why", {"path": str(birds / "heron.txt")}))["status"] == "indexed"
        for name, arguments in (
            ("search", {"query": "x" * 2000}),
            ("search", {"query": "x", "limit": 51}),
            ("search", {"query": "x", "tokens": 99}),
            ("fetch", {"ids": ["424242"]}),
            ("fetch", {"ids": []}),
            ("why", {"path": str(device.notes / "tax" / "invoice.html")}),
        ):
            refused = await client.call_tool(name, arguments)
            assert refused.is_error
            assert "Traceback" not in refused.content[0].text
            assert "invoice" not in refused.content[0].text
        outside = answer_of(await client.call_tool("search", {"query": f"boat OR dir:{device.notes}/tax"}))
        assert outside["results"] == []
        (birds / "new.txt").write_text("A platypus.\n")
        device.index()
        found = answer_of(await client.call_tool("search", {"query": "platypus"}))["results"]
        assert [Path(one["id"]).name for one in found] == ["new.txt"]
    assert model(device) == before
    assert device.run("open", "1").stderr.startswith("foltr-search: there is no last search")


def test_whatever_comes_is_answered_in_one_line(device: Device) -> None:
    """Halves of characters, wrong arguments and ids, no JSON, deep and long lines: each is answered, and the rest."""
    device.index()

    def call(tool: object, arguments: object) -> str:
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                           "params": {"name": tool, "arguments": arguments}})  # fmt: skip

    begin = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    refused = {
        call("search", {"query": "x", "limit": "many", "tokens": None}): "limit: wanted a valid integer",
        call("search", {}): "query: wanted, got nothing",
        call("search", {"query": "x" * 10_000_000}): "query: wanted at most 1000 characters, got 'xxx",
        call("fetch", {"ids": [None] * 9}): "ids.0: wanted a valid string, got None",
        call("r\nm" * 1000, {}): "wanted a tool of search, fetch, why, got 'r",
        call("why", []): "Invalid request parameters",
        call("search", {"query": "x"})[:-1]: "wanted one JSON-RPC 2.0 message in a line, got",
        f"[{call('search', {'query': 'x'})}]": "wanted one JSON-RPC 2.0 message in a line, got",
        '{"jsonrpc":"2.0","id":1}': "wanted one JSON-RPC 2.0 message in a line, got",
        "[" * 100_000: "wanted one JSON-RPC 2.0 message in a line, got",
        "x" * 10_000_000: "wanted one JSON-RPC 2.0 message in a line, got 'xxx",
    }
    for id in ("null", "1.0", "1.5", "true", "[1]"):
        request = f'{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}'
        refused[request] = "wanted one JSON-RPC 2.0 message in a line, got"
    lines = [json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin}),
             '{"jsonrpc":"2.0","method":"notifications/initialized"}', *refused,
             call("search", {"query": "heron \ud800"})]  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-m", "app", "mcp", str(device.notes)], env=device.environment(), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        unanswered = threading.Timer(PATIENCE, process.kill)
        unanswered.daemon = True
        unanswered.start()
        answers: list[dict[str, Any]] = []
        for line in lines:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answers.append({} if line == lines[1] else json.loads(process.stdout.readline()))
        unanswered.cancel()
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    for answer, says in zip(answers[2:-1], refused.values(), strict=True):
        told = answer["error"]["message"] if "error" in answer else answer["result"]["content"][0]["text"]
        assert told.startswith(says)
        assert len(told.splitlines()) == 1
        assert len(told) <= 300
    assert not answers[-1]["result"].get("isError")
    assert "heron" in answers[-1]["result"]["content"][0]["text"]


def test_it_starts_for_named_folders_alone_and_says_what_may_be_seen(device: Device) -> None:
    """A missing or wrong folder gives one line and exit code 2; it ends when the pipe closes."""
    device.index()
    for arguments, says in (
        ((), "wanted folders that an agent may see, as in: foltr-search mcp ~/Notes\n"),
        (("/no/such",), "/no/such: wanted a folder"),
    ):
        done = device.run("mcp", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1
    ended = device.run("mcp", str(device.notes / "birds"))
    assert ended.returncode == 0, ended.stderr
    assert f"an agent may read 3 indexed files in {device.notes / 'birds'}; nothing else" in ended.stderr


def test_without_the_extra_it_says_how_to_get_it(device: Device) -> None:
    """The message is one line."""
    script = "import sys; sys.modules['mcp'] = None; from app.cli import main; sys.exit(main(['mcp', sys.argv[1]]))"
    done = subprocess.run(
        [sys.executable, "-c", script, str(device.notes)], env=device.environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "[mcp]" in done.stderr
