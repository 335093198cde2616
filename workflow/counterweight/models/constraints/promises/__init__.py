"""What fits keep: decisions that are repaired, margins for new rows, promises one by one."""
