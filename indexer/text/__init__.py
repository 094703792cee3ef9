"""Words: analysis into terms, languages and stems, spelling."""
