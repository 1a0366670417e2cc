"""The checks of exercise set 05: sums for everybody."""
