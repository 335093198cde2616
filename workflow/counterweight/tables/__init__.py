"""What every stage reads and writes with: tables, streams, random streams, jobs."""
