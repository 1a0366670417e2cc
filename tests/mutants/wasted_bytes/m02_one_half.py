# class: B4
# hint: one-half
def wasted_bytes(trace, n_bytes):
    needed = (trace.size - 1) * n_bytes // trace.size
    return [max(0, sent - needed) for sent in trace.bytes_sent()]
