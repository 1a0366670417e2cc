# class: B3
# hint: below-zero
def wasted_bytes(trace, n_bytes):
    needed = 2 * (trace.size - 1) / trace.size * n_bytes
    return [abs(sent - needed) for sent in trace.bytes_sent()]
