"""`foltr-search`, and `python -m app`: the resident process answers, or this process works alone.

What is loaded before that is known is what every answer costs; so nothing is, but the line to the resident process.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line of this process and give its exit code."""
    try:
        from app.resident.resident_client import COMMANDS, answered
        from console.standard_streams import open_missing

        if os.environ.get("HOME") == "":  # it stands for none, and not for the top of the system
            del os.environ["HOME"]
        open_missing()
        if (code := answered(sys.argv[1:])) is not None:
            return code
        words = [word for before, word in zip(sys.argv, sys.argv[1:], strict=False) if "--set" not in (before, word)]
        is_brief = words[:1] and words[0] in (*COMMANDS, "index")
        if is_brief:
            import gc

            gc.disable()  # while it loads, all would be looked at again and again, and nothing freed
        from app import cli

        code = cli.main()
    except KeyboardInterrupt:  # also while something is loaded
        return 130
    if is_brief or "app.tui" in sys.modules:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End at once: to take down all that was loaded costs a sixth of a query, and the system does it anyway.

    A thread of the screen that still loads the encoder would abort the process then. Where another thread is under
    way, or something cannot be written, the ordinary end sees to it.
    """
    import threading

    if all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            return
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
