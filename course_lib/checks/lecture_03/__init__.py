"""The checks of exercise set 03: one model, trained by many."""
