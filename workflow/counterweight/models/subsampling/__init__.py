"""Learning from rows that lost a part of their zeros."""
