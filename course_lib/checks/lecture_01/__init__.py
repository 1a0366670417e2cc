"""The checks of exercise set 01: one machine going downhill."""
