# class: C2
# hint: one-for-each
def wasted_bytes(trace, n_bytes):
    needed = 2 * (trace.size - 1) * n_bytes // trace.size
    return max(0, trace.n_bytes - trace.size * needed)
