"""What studies give away: saved models of every family, and their use on new rows."""
