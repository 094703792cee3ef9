"""The pane beside the results: a document in rows, as text, table or picture, and why it ranks where it does."""
