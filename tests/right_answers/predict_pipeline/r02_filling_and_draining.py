def predict_pipeline(ranks, microbatches, forward_ms, backward_ms, message_ms):
    fill = (ranks - 1) * forward_ms
    drain = (ranks - 1) * backward_ms
    busy = microbatches * (forward_ms + backward_ms)
    answer = {"held_by_1f1b": min(microbatches, ranks), "held_by_gpipe": microbatches}
    answer["gpipe_with_messages_ms"] = fill + busy + drain + (ranks - 1) * (message_ms + message_ms)
    answer.update(idle_ms=fill + drain, step_ms=fill + busy + drain)
    return answer
