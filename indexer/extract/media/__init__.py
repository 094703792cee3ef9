"""Pictures and recordings: what describes them, and the text that is recognised in them."""
