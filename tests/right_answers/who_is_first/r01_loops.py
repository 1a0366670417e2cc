def who_is_first(runs, target):
    winners = {}
    for number, clock in enumerate(["updates", "seconds", "bytes"]):
        best = None
        winners[clock] = None
        for name in runs:
            for point in runs[name]:
                if point[3] <= target:
                    if best is None or point[number] < best:
                        best = point[number]
                        winners[clock] = name
                    break
    return winners
