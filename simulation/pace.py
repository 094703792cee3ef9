"""How many rounds are played at once: what is compiled goes by in blocks, and a person still sees how far it is."""

TELL_SECONDS = 0.3
"""between two events that say how far a cell is"""


def next_at_once(at_once: int, n_rounds: int, taken: float) -> int:
    """How many rounds to play at once after `n_rounds` took so many seconds: about as many as end in `TELL_SECONDS`."""
    fitting = int(n_rounds * TELL_SECONDS / max(taken, 1e-6))
    return max(1, min(fitting, 2 * at_once))
