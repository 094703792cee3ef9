"""The log on stderr: one line an event, as text or JSON, never a vector, a pseudonym or an address of a member."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal

from federation_server.closing import Closed

log = logging.getLogger("foltr-server")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": moment, "level": record.levelname.lower(), "message": record.getMessage()}
        return json.dumps(line | getattr(record, "fields", {}))


def begin(form: Literal["text", "json"]) -> None:
    """Write this program's events, and uvicorn's warnings, in this form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("foltr-server", logging.INFO), ("uvicorn", logging.WARNING), ("alembic", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


def closed(event: Closed) -> None:
    """A round is over."""
    fields = {"lineage": event.lineage, "round": event.round, "updates": event.n_updates, "rule": event.rule}
    level = logging.WARNING if event.alert else logging.INFO
    text = "lineage %d round %d closed with %d updates by %s; guard: %s"
    log.log(level, text, *fields.values(), event.summary, extra={"fields": fields | {"guard": event.summary}})
