"""Where the training of a constrained classifier begins, and what its result is compared with."""
