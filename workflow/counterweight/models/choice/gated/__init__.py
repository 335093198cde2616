"""Segments whose members are told by a multinomial logit of the features."""
