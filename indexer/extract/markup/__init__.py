"""Text as it is written, with or without marks: plain text, code, notes, HTML, XML."""
