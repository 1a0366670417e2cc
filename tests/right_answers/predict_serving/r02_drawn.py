def predict_serving(n_replicas, n_stages, stage_us, message_us, n_requests):
    free = [[0] * n_stages for _ in range(n_replicas)]
    done, busy = [], 0
    for request in range(n_requests):
        at = 0
        for stage in range(n_stages):
            begun = max(at, free[request % n_replicas][stage])
            free[request % n_replicas][stage] = begun + stage_us
            at = begun + stage_us + message_us
        done.append(at - message_us)
        busy += stage_us if request % n_replicas == 0 else 0
    return {
        "first_us": done[0], "all_us": max(done), "alone_us": n_requests * n_stages * stage_us,
        "idle_us": max(done) - busy,
    }  # fmt: skip
