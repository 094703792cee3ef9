"""`python -m benchmarks` lists the benchmarks, `python -m benchmarks NAME [OPTIONS]` runs one.

`python -m benchmarks --write-page` puts what was kept into docs/benchmarks.md.
"""

from __future__ import annotations

import sys

from benchmarks.page import PAGE, filled
from benchmarks.running import benchmarks, run


def main() -> int:
    """Run one command line."""
    known, words = dict(benchmarks()), sys.argv[1:]
    if words == ["--write-page"]:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    elif words and words[0] in known:
        return run(words[0], words[1:])
    elif words and words[0] not in ("-h", "--help"):
        print(f"there is no benchmark {words[0]}; `python -m benchmarks` lists them", file=sys.stderr)
        return 2
    else:
        print(__doc__, *(f"{name:20} {about}" for name, about in known.items()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
