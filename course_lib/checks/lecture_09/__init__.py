"""The checks of exercise set 09: nobody waits."""
