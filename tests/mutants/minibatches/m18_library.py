# class: A2
# hint: library-answer


def minibatches(n_examples, batch_size, rng):
    from course_lib.training.batches import epoch_batches

    return list(epoch_batches(n_examples, batch_size, 0, int(rng.integers(1000))))
