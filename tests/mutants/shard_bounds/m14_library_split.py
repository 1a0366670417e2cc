# class: A2
# hint: library-answer
from course_lib.training.shards import split_evenly


def shard_bounds(n_rows, rank, size):
    part = split_evenly(n_rows, size)[rank]
    return part.start, part.stop
