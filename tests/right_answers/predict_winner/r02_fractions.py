from fractions import Fraction


def predict_winner(n_workers, gradient_us, message_us, factor, n_sync, n_async):
    fast = Fraction(message_us + gradient_us + message_us)
    slow = Fraction(message_us + factor * gradient_us + message_us)
    pace = (n_workers - 1) / fast + 1 / slow
    times = [n_sync * slow, n_sync * fast, n_async / pace]
    first = 0
    for number in (1, 2):
        if times[number] < times[first]:
            first = number
    return {
        "all_us": int(times[0]),
        "but_one_us": int(times[1]),
        "nobody_us": float(times[2]),
        "first": first,
    }
