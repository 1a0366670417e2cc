# class: B2
# hint: alike
def wasted_bytes(trace, n_bytes):
    needed = 2 * (trace.size - 1) * n_bytes // trace.size
    return [max(0, max(trace.bytes_sent()) - needed)] * trace.size
