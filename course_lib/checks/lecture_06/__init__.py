"""The checks of exercise set 06: communication behind computation, and how many workers."""
