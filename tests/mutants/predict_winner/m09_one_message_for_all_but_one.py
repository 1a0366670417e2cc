# class: B15
# hint: two-messages


def predict_winner(n_workers, gradient_us, message_us, factor, n_sync, n_async):
    turn = 2 * message_us + gradient_us
    slow = 2 * message_us + factor * gradient_us
    times = {
        "all_us": n_sync * slow,
        "but_one_us": n_sync * (message_us + gradient_us),
        "nobody_us": n_async / ((n_workers - 1) / turn + 1 / slow),
    }
    ordered = list(times.values())
    return times | {"first": ordered.index(min(ordered))}
