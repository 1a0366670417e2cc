# class: B4
# hint: received
def wasted_bytes(trace, n_bytes):
    needed = 2 * (trace.size - 1) * n_bytes // trace.size
    return [max(0, received - needed) for received in trace.bytes_received()]
