# class: A5
# hint: one-for-each
def wasted_bytes(trace, n_bytes):
    return [max(0, sent - 6 * n_bytes // 4) for sent in (trace.bytes_sent() + 4 * [0])[:4]]
