import math


def predict_serving(n_replicas, n_stages, stage_us, message_us, n_requests):
    idle_us = (n_stages - 1) * (stage_us + message_us)
    most = math.ceil(n_requests / n_replicas)
    return {
        "idle_us": idle_us,
        "first_us": idle_us + stage_us,
        "all_us": idle_us + most * stage_us,
        "alone_us": sum(stage_us for _ in range(n_requests * n_stages)),
    }
