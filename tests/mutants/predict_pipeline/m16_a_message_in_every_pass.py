# class: B15
# hint: every-pass
def predict_pipeline(ranks, microbatches, forward_ms, backward_ms, message_ms):
    P, M, both = ranks, microbatches, forward_ms + backward_ms
    return {
        "step_ms": (M + P - 1) * both,
        "idle_ms": (P - 1) * both,
        "gpipe_with_messages_ms": (M + P - 1) * (both + 2 * message_ms),
        "held_by_gpipe": M,
        "held_by_1f1b": min(P, M),
    }
