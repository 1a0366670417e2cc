def wasted_bytes(trace, n_bytes):
    needed = 2 * n_bytes - 2 * n_bytes // trace.size
    return tuple(sent - min(sent, needed) for sent in trace.bytes_sent())
