# class: C9
# hint: not-a-dict
def predict_nic(n_parameters, n_workers, n_servers):
    n = 8 * n_parameters
    return 2 * n_workers * n, 2 * (n_workers - 1) * n, 2 * n_workers * n // n_servers, 0
