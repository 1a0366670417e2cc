# class: B4
# hint: last-stage
def predict_serving(n_replicas, n_stages, stage_us, message_us, n_requests):
    rounds = -(-n_requests // n_replicas)
    first_us = n_stages * stage_us + (n_stages - 1) * message_us
    all_us = first_us + (rounds - 1) * stage_us
    return {
        "first_us": first_us,
        "all_us": all_us,
        "alone_us": n_requests * n_stages * stage_us,
        "idle_us": n_stages * (all_us - rounds * stage_us),
    }
