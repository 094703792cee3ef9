"""Many devices, one ranker: the methods as four verbs, and the rules that join what devices send."""
