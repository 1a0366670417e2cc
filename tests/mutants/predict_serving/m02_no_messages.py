# class: B15
# hint: messages-too


def predict_serving(n_replicas, n_stages, stage_us, message_us, n_requests):
    first_us = n_stages * stage_us
    rounds = -(-n_requests // n_replicas)
    return {
        "first_us": first_us,
        "all_us": first_us + (rounds - 1) * stage_us,
        "alone_us": n_requests * n_stages * stage_us,
        "idle_us": (n_stages - 1) * (stage_us + message_us),
    }
