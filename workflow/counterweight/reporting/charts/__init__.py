"""One module for each figure; each offers ``draw(study)`` and a literal ``CAPTION``."""
