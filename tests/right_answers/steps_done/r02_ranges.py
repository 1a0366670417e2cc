def steps_done(n_steps, every, deaths):
    taken, begin = [], 0
    for life in deaths:
        end = min(begin + life, n_steps)
        taken.extend(range(begin + 1, end + 1))
        if end == n_steps:
            return taken
        begin = end - end % every
    return taken + list(range(begin + 1, n_steps + 1))
