def predict_bound(workers, chunk, batch, flops_per_us, bytes_per_us):
    sent = sum(4 * chunk for _ in range(2) for _ in range(workers - 1))
    flops = sum(2 * batch * workers * chunk for _ in ("forward", "of the input", "of the weights"))
    least = 1
    while 6 * least * workers * chunk * bytes_per_us < sent * flops_per_us:
        least += 1
    step = flops / flops_per_us + sent / bytes_per_us
    return {"flops": flops, "sent_bytes": sent, "step_us": step, "least_batch": least}
