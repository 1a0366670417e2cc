# class: B15
# hint: messages-overlap
def predict_pipeline(ranks, microbatches, forward_ms, backward_ms, message_ms):
    both = forward_ms + backward_ms
    step = (microbatches + ranks - 1) * both
    longer = max(0, message_ms - max(forward_ms, backward_ms)) if ranks > 1 else 0
    return {
        "step_ms": step,
        "idle_ms": (ranks - 1) * both,
        "gpipe_with_messages_ms": step + 2 * (ranks - 1) * message_ms + (microbatches - 1) * longer,
        "held_by_gpipe": microbatches,
        "held_by_1f1b": min(ranks, microbatches),
    }
