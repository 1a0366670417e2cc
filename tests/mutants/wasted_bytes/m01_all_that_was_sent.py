# class: B15
# hint: not-subtracted
def wasted_bytes(trace, n_bytes):
    return trace.bytes_sent()
