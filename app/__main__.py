"""`foltr-search`, and `python -m app`: the resident process answers, or this process works alone.

What is loaded before that is known is what every answer costs; so nothing is, but the line to the resident process.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line of this process and give its exit code."""
    from app.resident.asking import answered

    try:
        code = answered(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    if code is not None:
        return code
    from app import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
