def predict_nic(n_parameters, n_workers, n_servers):
    def nic(fetchers, vector, times=1):
        return times * sum(2 * vector for _ in range(fetchers))

    n = n_parameters * 8
    result = {"one_server": nic(n_workers, n), "on_a_worker": nic(n_workers - 1, n)}
    result["one_of_the_servers"] = nic(n_workers, n // n_servers)
    result["a_shard_on_each"] = nic(n_workers - 1, n // n_workers, times=2)
    return result
