"""Where the packages of the program are found: before anything else that is called `app` or `indexer`.

In a checkout they stand beside this module. Installed, they lie in a folder of their own (pyproject.toml), so that no
other project's package of the same name is laid over one of them, nor one of them over another's.
"""

from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_INSTALLED = os.path.join(_HERE, "foltr-search")
sys.path.insert(0, _INSTALLED if os.path.isdir(_INSTALLED) else _HERE)


def search() -> int:
    """Run `foltr-search` and give its exit code."""
    from app.__main__ import main

    return main()


def server() -> int:
    """Run `foltr-server` and give its exit code."""
    from federation_server.cli import main

    return main()
