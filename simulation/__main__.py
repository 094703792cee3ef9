"""`python -m simulation`: the laboratory without the device."""

import sys

from simulation.cli import main

if __name__ == "__main__":
    sys.exit(main(program="python -m simulation"))
