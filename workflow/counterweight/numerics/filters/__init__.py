"""What filters rest on: coins of persons, bounds of what a partition tells."""
