"""The checks of exercise set 10: nobody locks."""
