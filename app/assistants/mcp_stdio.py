"""The Model Context Protocol over the standard streams: every line gets an answer, in one line."""

from __future__ import annotations

import json
import os
import re
import reprlib
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolResult,
    ErrorData,
    InputRequiredResult,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    TextContent,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from console.printable import safe_line

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context
    from mcp.shared._stream_protocols import WriteStream

LONGEST = 300
"""characters of an error"""
MOST = 3
"""wrong arguments that one error names"""


class LineServer(MCPServer):
    """A server whose errors say in one line what was wanted and what came."""

    async def run_stdio_async(self) -> None:
        """Serve until the standard input ends; child processes cannot read it."""
        with open(os.dup(0), "rb") as wire, open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
            lines = Lines(wire, encoding="utf-8", errors="replace")
            async with stdio_server(stdin=anyio.wrap_file(lines)) as (read, lines.answers):
                low = self._lowlevel_server
                await low.run(read, lines.answers, low.create_initialization_options())

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        known = [tool.name for tool in await self.list_tools()]
        if name not in known:
            raise ToolError(f"wanted a tool of {', '.join(known)}, got {_shown(name)}")
        try:
            called = await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            wrong = error.__cause__
            raise ToolError(refusal(wrong if isinstance(wrong, ValidationError) else error)) from wrong
        if isinstance(called, CallToolResult):  # indented JSON would cost a fifth more tokens
            called.content = [TextContent(text=json.dumps(called.structured_content, ensure_ascii=False))]
        return called


class Lines(TextIOWrapper):
    """The messages of a client, one per line; a line that is no message is answered with an error and skipped."""

    answers: WriteStream[SessionMessage]

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """The next message; "" at the end."""
        while line := super().readline(size):
            try:
                return message_of(line)
            except (ValueError, RecursionError) as error:
                code = INVALID_REQUEST if isinstance(error, ValidationError) else PARSE_ERROR
                told = ErrorData(code=code, message=f"wanted one JSON-RPC 2.0 message in a line, got {_shown(line)}")
                answer = JSONRPCError(jsonrpc="2.0", id=_id_of(line), error=told)
                anyio.from_thread.run(self.answers.send, SessionMessage(answer))
        return ""


def message_of(line: str) -> str:
    r"""A line of JSON that is a message, halves of characters in it (\ud800) replaced by question marks.

    Raises ValidationError for JSON that is no message, another ValueError or RecursionError for what is no JSON.
    """
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        line = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    if isinstance(message, JSONRPCNotification) and "id" in json.loads(line):  # such as null, which no request may have
        JSONRPCRequest.model_validate_json(line)
    return line


def refusal(error: Exception) -> str:
    """What was wanted and what came, in one line."""
    if not isinstance(error, ValidationError):
        return safe_line(str(error))[:LONGEST]
    wrong = []
    for one in error.errors(include_url=False)[:MOST]:
        wanted = re.sub(r"^(Input should be|\w+ should have|Field required)", "wanted", one["msg"])
        came = "nothing" if one["type"] == "missing" else _shown(one["input"])
        wrong.append(f"{'.'.join(map(str, one['loc']))}: {wanted}, got {came}")
    return safe_line("; ".join(wrong))[:LONGEST]


def _shown(came: object) -> str:
    return safe_line(reprlib.repr(came))


def _id_of(line: str) -> int | str | None:
    """The id in a line that is JSON but no message, if there is one."""
    try:
        id = json.loads(line)["id"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return None
    return id if type(id) is int or (isinstance(id, str) and id.isprintable()) else None
