# class: B4
# hint: whole-vector
def wasted_bytes(trace, n_bytes):
    needed = 2 * trace.size * n_bytes // trace.size
    return [max(0, sent - needed) for sent in trace.bytes_sent()]
