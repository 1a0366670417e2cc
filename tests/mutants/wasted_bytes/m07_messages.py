# class: B15
# hint: nothing-wasted
def wasted_bytes(trace, n_bytes):
    return [max(0, sent - 2 * (trace.size - 1)) for sent in trace.messages_sent()]
