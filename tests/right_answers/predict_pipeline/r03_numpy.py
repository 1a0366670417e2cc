import numpy as np


def predict_pipeline(ranks, microbatches, forward_ms, backward_ms, message_ms):
    passes = np.array([microbatches + ranks - 1, ranks - 1])
    step, idle = (int(n) for n in passes * (forward_ms + backward_ms))
    hops = 2 * int(passes[1])
    return {
        "step_ms": step,
        "idle_ms": idle,
        "gpipe_with_messages_ms": step + hops * message_ms,
        "held_by_gpipe": microbatches,
        "held_by_1f1b": sorted((ranks, microbatches))[0],
    }
