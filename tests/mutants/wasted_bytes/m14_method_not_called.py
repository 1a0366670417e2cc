# class: C2
# hint: not-called


def wasted_bytes(trace, n_bytes):
    needed = 2 * (trace.size - 1) * n_bytes / trace.size
    return [max(0, sent - needed) for sent in trace.bytes_sent]
