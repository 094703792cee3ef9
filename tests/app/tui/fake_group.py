"""A group whose server answers as a test wants."""

from __future__ import annotations

import threading

from app.federation.background_sync import News


class FakeGroup:
    """A group whose server answers when the test lets it."""

    def __init__(self, *lines: str, news: News | None = None) -> None:
        self.lines, self.news = lines, news
        self.answers: list[bool] = []
        self.reached, self.gate = threading.Event(), threading.Event()

    def question(self) -> tuple[str, ...]:
        return self.lines

    def answer(self, *, agreed: bool) -> None:
        self.answers.append(agreed)

    def sync_when_due(self) -> News | None:
        self.reached.set()
        self.gate.wait(120)
        return self.news
