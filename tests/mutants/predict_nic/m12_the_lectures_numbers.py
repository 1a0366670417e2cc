# class: A5
# hint: constant
def predict_nic(n_parameters, n_workers, n_servers):
    return {
        "one_server": 64_000,
        "on_a_worker": 48_000,
        "one_of_the_servers": 32_000,
        "a_shard_on_each": 24_000,
    }
