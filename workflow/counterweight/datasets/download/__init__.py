"""Transfer of upstream files, checked against their digests."""
