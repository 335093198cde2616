"""What studies deliver: saved models of every family, and their use on new rows."""
