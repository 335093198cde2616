"""AUC from subsampled rows."""
