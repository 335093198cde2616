"""Plain classifiers of the answer by features and offer, which others are held against."""
