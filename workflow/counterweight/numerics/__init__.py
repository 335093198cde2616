"""What several stages share. Imports nothing above it."""
