"""Waiting against not waiting, in virtual time, each scheme at its own best rate and momentum."""
