"""The way into the program: an answered query ends the process at once, with all of its output written."""

from __future__ import annotations

import subprocess
import sys

from tests.app.conftest import Device

WHOLE = "import sys; from app.__main__ import main; sys.argv = ['foltr-search', *sys.argv[1:]]; "


def ended(device: Device, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WHOLE + code, *arguments], env=device.environment(), cwd=device.home,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_question_ends_at_once_with_all_that_it_printed(device: Device) -> None:
    """Answers in a pipe, diagnostics and exit codes are complete; nothing that runs after `main` is waited for."""
    device.index()
    found = ended(device, "main(); print('after')", "search", "heron", "--paths0")
    assert (found.returncode, found.stdout.count("\0") > 0, "after" in found.stdout) == (0, True, False)
    nothing = ended(device, "main(); print('after')", "--set", "search.page_size=5", "search", "nowhere-to-be-found")
    assert (nothing.returncode, nothing.stdout, nothing.stderr.startswith("foltr-search: ")) == (1, "", True)


def test_what_is_still_under_way_is_waited_for(device: Device) -> None:
    """If a thread is at work, the process ends in the ordinary way, as for every other command."""
    thread = (
        "import threading; end = threading.main_thread().join; "
        "threading.Thread(target=lambda: (end(), print('done'))).start(); "
    )
    assert ended(device, thread + "main()", "why", "notes").stdout.endswith("done\n")
    assert ended(device, "print(main())", "status").stdout.endswith("\n0\n")


def test_the_screen_ends_at_once_though_a_thread_of_its_own_still_loads(device: Device) -> None:
    """An ordinary end under a thread that loads the encoder would abort the process after a good session."""
    loading = "import threading, app.tui; threading.Thread(target=threading.Event().wait, daemon=True).start(); "
    assert "after" not in ended(device, loading + "main(); print('after')", "status").stdout


def test_what_is_long_at_work_frees_what_it_no_longer_needs(device: Device) -> None:
    """`index` collects no garbage while it loads, and does from then on; it ends at once, too."""
    asked = (
        "import gc; import app.following.indexing as ours; real = ours.update_index; "
        "ours.update_index = lambda *a, **k: (print(gc.isenabled()), real(*a, **k))[1]; "
    )
    done = ended(device, asked + "main(); print('after')", "index", "--quiet", str(device.home))
    assert (done.returncode, done.stdout) == (0, "True\n")


def test_an_answer_that_cannot_be_written_is_an_error(device: Device) -> None:
    """A full disk behind stdout is reported in one line."""
    device.index()
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(
            [sys.executable, "-m", "app", "search", "heron"], env=device.environment(), cwd=device.home,
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "foltr-search: the disk is full; free some space, then try again\n")


def test_an_interrupt_while_it_loads_is_an_interrupt(device: Device) -> None:
    """It gives no traceback of whatever was being loaded."""
    raising = "import gc; gc.disable = lambda: exec('raise KeyboardInterrupt'); "
    found = ended(device, raising + "print(main())", "index")
    assert (found.stdout, found.stderr) == ("130\n", "")
