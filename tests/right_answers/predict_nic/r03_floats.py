def predict_nic(n_parameters, n_workers, n_servers):
    one = 16 * n_parameters * n_workers
    return {
        "a_shard_on_each": int(one * 2 * (n_workers - 1) / n_workers**2),
        "one_of_the_servers": int(one / n_servers),
        "on_a_worker": int(one - 16 * n_parameters),
        "one_server": one,
    }
