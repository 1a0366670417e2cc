def steps_done(n_steps, every, deaths):
    left, disk, now, log = list(deaths), {"step": 0}, 0, []
    since = 0
    while now < n_steps:
        if left and since == left[0]:
            left.pop(0)
            now, since = disk["step"], 0
            continue
        now += 1
        since += 1
        log.append(now)
        if not now % every:
            disk["step"] = now
    return log
