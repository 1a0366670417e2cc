# class: B15
# hint: below-zero
def wasted_bytes(trace, n_bytes):
    needed = 2 * (trace.size - 1) * n_bytes // trace.size
    return [sent - needed for sent in trace.bytes_sent()]
