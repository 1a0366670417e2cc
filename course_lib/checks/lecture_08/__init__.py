"""The checks of exercise set 08: column and row, its bytes and its bugs, halos, and grids."""
