# class: B15
# hint: whole-vector
def wasted_bytes(trace, n_bytes):
    return [max(0, sent - n_bytes) for sent in trace.bytes_sent()]
