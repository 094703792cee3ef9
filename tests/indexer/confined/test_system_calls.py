"""The numbers of the refused calls, beside the kernel's own headers where they are installed."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

import pytest

from indexer.confined import system_calls

HEADERS = {"x86_64": "#include <asm/unistd_64.h>", "aarch64": "#include <asm-generic/unistd.h>"}


@pytest.mark.skipif(not shutil.which("cc") or platform.machine() != "x86_64", reason="needs the kernel's headers")
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_each_number_is_that_of_the_kernel(machine: str) -> None:
    """On both machines: that of aarch64 is the list that all newer ones share."""
    macros = "".join(f"#define __ARCH_WANT_{name}\n" for name in ("RENAMEAT", "SYS_CLONE3", "SET_GET_RLIMIT"))
    source = f"#define __BITS_PER_LONG 64\n{macros}{HEADERS[machine]}\n"
    done = subprocess.run(["cc", "-E", "-dM", "-"], input=source, capture_output=True, text=True, check=False)
    known = dict(re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)$", done.stdout, flags=re.MULTILINE))
    if not known:
        pytest.skip("the kernel's headers are not installed")
    column, _ = system_calls._MACHINES[machine]
    for table in ("_REFUSED", "_STARTING", "_ABSENT", "_LOOKED_AT"):
        for name, number in system_calls._numbers(getattr(system_calls, table), column).items():
            assert known.get(name, str(number)) == str(number), name
        for row in getattr(system_calls, table).split(","):
            name, value = row.split()[0], row.split()[1 + column]
            assert value != "-" or name not in known, name


def test_a_list_ends_with_an_answer_for_every_call() -> None:
    """Each jump stays within the list, which the kernel takes up to 4,096 instructions of."""
    for machine in system_calls._MACHINES:
        lines = [*system_calls._of_all(machine, may_start=False), *system_calls._of_process(machine, 1234)]
        assert len(lines) < 4_096
        assert lines[-1] == (system_calls._ANSWER, 0, 0, system_calls._ALLOW)
        for at, (code, when, otherwise, _) in enumerate(lines):
            assert code in (system_calls._LOAD, system_calls._ANSWER) or at + 1 + max(when, otherwise) < len(lines)
            assert max(when, otherwise) < 256
