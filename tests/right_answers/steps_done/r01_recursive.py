def steps_done(n_steps, every, deaths, saved=0):
    if not deaths or saved + deaths[0] >= n_steps:
        return list(range(saved + 1, n_steps + 1))
    end = saved + deaths[0]
    return list(range(saved + 1, end + 1)) + steps_done(
        n_steps, every, deaths[1:], max(saved, end // every * every)
    )
