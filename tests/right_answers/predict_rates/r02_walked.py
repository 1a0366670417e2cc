def predict_rates(n_before, n_after):
    factors = {}
    for name, batches in (("same", (1, 1)), ("own", (n_before, n_after))):
        for how, lengths in (("mean", (1, 1)), ("sum", (n_before, n_after))):
            before, after = (length / batch for length, batch in zip(lengths, batches, strict=True))
            factors[f"{name}_batch_{how}"] = before / after
    return factors
