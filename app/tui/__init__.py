"""The terminal screen: the only place that knows Textual."""
