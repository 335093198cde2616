"""The page: words, tables, sheets, templates."""
