# class: C3
# hint: bits
def predict_nic(n_parameters, n_workers, n_servers):
    n, others = 64 * n_parameters, n_workers - 1
    return {
        "one_server": 2 * n_workers * n,
        "on_a_worker": 2 * others * n,
        "one_of_the_servers": 2 * n_workers * n // n_servers,
        "a_shard_on_each": 4 * others * n // n_workers,
    }
