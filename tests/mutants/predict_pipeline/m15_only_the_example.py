# class: A5
# hint: constant
def predict_pipeline(ranks, microbatches, forward_ms, backward_ms, message_ms):
    return {
        "step_ms": 33,
        "idle_ms": 9,
        "gpipe_with_messages_ms": 39,
        "held_by_gpipe": 8,
        "held_by_1f1b": 4,
    }
