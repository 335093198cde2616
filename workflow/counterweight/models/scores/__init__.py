"""Models of outcomes of which some are blank: classes or numbers, saved and used on new rows."""
