def predict_pipeline(ranks, microbatches, forward_ms, backward_ms, message_ms):
    def gpipe(message):
        end = [[0] * microbatches for _ in range(ranks)]
        for r in range(ranks):
            free = 0
            for m in range(microbatches):
                ready = end[r - 1][m] + message if r else 0
                free = end[r][m] = max(free, ready) + forward_ms
        back, frees = [[0] * microbatches for _ in range(ranks)], [row[-1] for row in end]
        for r in reversed(range(ranks)):
            for m in range(microbatches):
                ready = back[r + 1][m] + message if r + 1 < ranks else 0
                frees[r] = back[r][m] = max(frees[r], ready) + backward_ms
        return max(frees)

    step = gpipe(0)
    return {
        "step_ms": step,
        "idle_ms": step - microbatches * (forward_ms + backward_ms),
        "gpipe_with_messages_ms": gpipe(message_ms),
        "held_by_gpipe": microbatches,
        "held_by_1f1b": ranks if ranks < microbatches else microbatches,
    }
