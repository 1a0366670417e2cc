def what_is_wrong(weights, rows):
    alike = [len({w.tobytes() for w in ranks}) == 1 for ranks in weights]
    if all(alike):
        return "fine" if len(set(rows.ravel().tolist())) == rows.size else "other shuffles"
    return "no all-reduce" if alike[0] else "no broadcast"
