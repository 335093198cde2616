"""What filters do to groups."""
