# class: C2
# hint: cut-off


def predict_nic(n_parameters, n_workers, n_servers):
    n = 8 * n_parameters
    return {
        "one_server": 2 * n_workers * n,
        "on_a_worker": 2 * (n_workers - 1) * n,
        "one_of_the_servers": int(2 * n_workers * n * (1 / n_servers)),
        "a_shard_on_each": 4 * (n_workers - 1) * n // n_workers,
    }
