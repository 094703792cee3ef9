"""Mail and calendars, one file a format."""
