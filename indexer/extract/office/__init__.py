"""Files of office programs, one file a format, with what they share."""
