"""Whether a round looks attacked, and what it is joined by then."""
