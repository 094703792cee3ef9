"""`foltr-search`, and `python -m app`: the resident process answers, or this process works alone.

Whatever is loaded before that is decided delays every answer, so only the line to the resident process is.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line of this process and give its exit code."""
    try:
        from app.resident.resident_client import COMMANDS, answered
        from console.standard_streams import open_missing

        if os.environ.get("HOME") == "":  # it means none, not the root of the file system
            del os.environ["HOME"]
        open_missing()
        if (code := answered(sys.argv[1:])) is not None:
            return code
        words = [word for before, word in zip(sys.argv, sys.argv[1:], strict=False) if "--set" not in (before, word)]
        is_brief = words[:1] and words[0] in (*COMMANDS, "index")
        if is_brief:
            import gc

            gc.disable()  # while loading, collection scans everything repeatedly and frees nothing
        from app import cli

        code = cli.main()
    except KeyboardInterrupt:  # also while something is loaded
        return 130
    if is_brief or "app.tui" in sys.modules:
        _leave(code)
    return code


def _leave(code: int) -> None:
    """End at once: tearing down all that was loaded costs a sixth of a query, and the system does it anyway.

    In the ordinary end a thread of the screen that still loads the encoder would abort the process. If another
    non-daemon thread runs, or something cannot be written, the ordinary end takes care of it.
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
