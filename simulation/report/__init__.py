"""From rows to what people read: tables beside the papers' numbers, tests of significance, curves."""
