# class: B15
# hint: whole-span
def hidden_seconds(computing, exchanging):
    times = [time for span in [*computing, *exchanging] for time in span]
    return max(times) - min(times)
