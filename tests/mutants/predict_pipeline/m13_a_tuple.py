# class: C9
# hint: not-a-dict
def predict_pipeline(ranks, microbatches, forward_ms, backward_ms, message_ms):
    P, M, both = ranks, microbatches, forward_ms + backward_ms
    step = (M + P - 1) * both
    return step, (P - 1) * both, step + 2 * (P - 1) * message_ms, M, min(P, M)
