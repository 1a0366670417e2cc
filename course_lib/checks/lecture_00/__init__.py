"""The checks of exercise set 00: the first messages."""
