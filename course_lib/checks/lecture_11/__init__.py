"""The checks of exercise set 11: who wins, and on which network."""
