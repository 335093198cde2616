"""Shares of groups in leaves as points: hulls, cones, and what noise makes of them."""
