def butterfly_s(n_workers, alpha, beta, n):
    rounds = n_workers.bit_length() - 1
    return rounds * (alpha + n * beta)


def ring_s(n_workers, alpha, beta, n):
    return 2 * (n_workers - 1) * (alpha + n / n_workers * beta)


def predict_crossover(n_workers, latency_s, bandwidth_bytes_per_s):
    network = n_workers, latency_s, 1 / bandwidth_bytes_per_s
    low, high = 0.0, 1e15
    for _ in range(200):
        middle = (low + high) / 2
        if butterfly_s(*network, middle) < ring_s(*network, middle):
            low = middle
        else:
            high = middle
    return {"n_bytes": low, "seconds": ring_s(*network, low)}
