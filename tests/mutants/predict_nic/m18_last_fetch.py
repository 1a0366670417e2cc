# class: B15
# hint: last-fetch


def predict_nic(n_parameters, n_workers, n_servers):
    n = 8 * n_parameters
    return {
        "one_server": (2 * n_workers + 1) * n,
        "on_a_worker": 2 * (n_workers - 1) * n,
        "one_of_the_servers": 2 * n_workers * n // n_servers,
        "a_shard_on_each": 4 * (n_workers - 1) * n // n_workers,
    }
