"""The console script foltr-server."""

import sys


def main() -> int:
    """Say that this version has no federation server yet; exit code 2."""
    print("foltr-server: this version of foltr-search has no federation server yet", file=sys.stderr)
    return 2
