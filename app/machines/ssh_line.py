"""A line to another machine of this person: a child process, ssh, that runs foltr-search there.

ssh asks nothing and forwards nothing: what it needs is in the person's own configuration of it. A machine that says
nothing, or too much, costs the time that its answer was given and no more.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from typing import IO, TypeVar

import msgspec

from app.external_programs import MachineError
from app.machines.remote_messages import MARK, Message, NoAnswer, line_of
from app.settings import MACHINE
from console.printable import safe_line

A = TypeVar("A", bound=Message)

OPTIONS = ("-aCTx", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes")
THERE = "exec sh -c 'PATH=\"$HOME/.local/bin:$PATH:/usr/local/bin:/opt/homebrew/bin\" exec foltr-search devices answer'"
"""for whatever shell a person has there; the PATH of one that nobody types into is short"""
CHUNK = 65_536
"""bytes of an answer between two looks at how long it is"""
MAX_NOISE = 1_000
"""lines that are no answer"""
MAX_ERROR = 4_096


class NothingThere(MachineError):
    """The other machine is there and well, and has nothing to answer."""


class SshLine:
    """One connection; it is used by one thread at a time."""

    def __init__(self, name: str, ssh: str) -> None:
        """`ssh` is the program with its own options; raises MachineError where it cannot be started."""
        self.name = name
        if MACHINE.fullmatch(name) is None:
            raise MachineError("is no name of a machine")
        try:
            self._process = subprocess.Popen(
                [*shlex.split(ssh), *OPTIONS, "--", name, THERE],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise MachineError(f"cannot be asked: {ssh}: {error}") from error
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=2)
        self._most = Message.most
        threading.Thread(target=self._listen, name=f"foltr-ssh-{name}", daemon=True).start()

    def _listen(self) -> None:
        """Take the answers; at last an empty line, or why it ended."""
        process, n_noise = self._process, 0
        assert process.stdout is not None
        assert process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            while (line := self._read(process.stdout)).endswith(b"\n") and self._fits(line, n_noise):
                if line.startswith(MARK):
                    self._lines.put(line)
                else:
                    n_noise += 1
            fits = self._fits(line, n_noise)
            self._lines.put(b"!" + os.read(process.stderr.fileno(), MAX_ERROR) if fits else b"")
        process.stdout.close()
        process.stderr.close()

    def _read(self, answers: IO[bytes]) -> bytes:
        """A line, or the beginning of one that is longer than the answer to the newest question may be."""
        parts, size = [answers.readline(CHUNK)], 0
        while (size := size + len(parts[-1])) <= self._most and len(parts[-1]) == CHUNK and parts[-1][-1:] != b"\n":
            parts.append(answers.readline(CHUNK))
        return b"".join(parts)

    def _fits(self, line: bytes, n_noise: int) -> bool:
        return len(line) <= self._most and n_noise < MAX_NOISE

    def tell(self, question: Message) -> None:
        """Send a question; a machine that takes none is not waited for, nor is one that does not answer."""
        self._most = question.most
        threading.Thread(target=self._send, args=(line_of(question),), daemon=True).start()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has ended, and says so when it is listened to
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def hear(self, kind: type[A], until: float, seconds: float) -> A:
        """The answer to the oldest question, by the moment `until`; MachineError where none came that is of use."""
        try:
            line = self._lines.get(timeout=max(until - time.monotonic(), 0.001))
        except queue.Empty:
            raise MachineError(f"did not answer within {seconds:g} s") from None
        if not line.startswith(MARK):
            too_much = f"sent too much: more than {self._most / 1e6:g} MB, or lines that are no answer"
            raise MachineError(self._why_ended(line[1:]) if line else too_much)
        try:
            answer: A | NoAnswer = msgspec.json.decode(line[len(MARK) :], type=kind | NoAnswer)
        except msgspec.MsgspecError as error:
            raise MachineError(f"gave no answer that this version understands: {error}") from error
        if isinstance(answer, NoAnswer):
            raise NothingThere(safe_line(answer.why[:300]))
        return answer

    def _why_ended(self, said: bytes) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
        last = safe_line(lines[-1].strip()[:300]) if lines else "it ended"
        match self._process.returncode:
            case 127:
                return "foltr-search is not installed there, or not where a command of ssh finds it"
            case 2:
                return f"an older foltr-search is there ({last})"
            case _:
                return last

    @property
    def is_open(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """End it at once; callers that wait for an answer get an error. Any thread may call this."""
        with contextlib.suppress(OSError):
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def close(self) -> None:
        """End it, and let go of what it holds."""
        self.end()
        self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(queue.Empty):
            while True:
                self._lines.get_nowait()
