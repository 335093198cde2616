"""What pages of each kind of study show, declared: an answer, sheets, what to trust them by."""
