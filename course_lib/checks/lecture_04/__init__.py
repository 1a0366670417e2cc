"""The checks of exercise set 04: a server in the middle."""
