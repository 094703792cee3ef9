"""The one way a query is answered, and the parts of its answer."""
