def wasted_bytes(trace, n_bytes):
    sent = [0] * trace.size
    for message in trace.messages:
        sent[message.src] += message.n_bytes
    chunk = n_bytes / trace.size
    wasted = []
    for total in sent:
        more = total - 2 * (trace.size - 1) * chunk
        wasted.append(more if more > 0 else 0)
    return wasted
