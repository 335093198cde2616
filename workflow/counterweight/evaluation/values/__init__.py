"""Values of policies from logs."""
