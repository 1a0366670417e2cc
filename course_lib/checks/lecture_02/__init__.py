"""The checks of exercise set 02: one gradient, computed by many."""
