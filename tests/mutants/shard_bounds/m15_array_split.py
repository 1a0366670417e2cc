# class: A3
# hint: library-answer
import numpy as np


def shard_bounds(n_rows, rank, size):
    lengths = [len(part) for part in np.array_split(np.zeros(n_rows), size)]
    ends = np.cumsum([0, *lengths])
    return [ends[rank], ends[rank + 1]]
