"""400 rows to train on, 42 to test with, each patient once."""

import numpy as np

from course_lib.data.diabetes import load_diabetes


def test_every_patient_is_there_once() -> None:
    from sklearn.datasets import load_diabetes as shipped

    data = load_diabetes(standardise=False)
    assert data.X_train.shape == (400, 10)
    assert data.X_test.shape == (42, 10)
    X, y = shipped(return_X_y=True)
    ours = np.column_stack([np.vstack([data.X_train, data.X_test]), [*data.y_train, *data.y_test]])
    theirs = np.column_stack([X, y])
    assert np.array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])
    assert not np.array_equal(ours, theirs)  # shuffled


def test_standardised_columns_use_the_training_rows_only() -> None:
    data = load_diabetes()
    assert np.allclose(data.X_train.mean(axis=0), 0, atol=1e-12)
    assert np.allclose(data.X_train.std(axis=0), 1, rtol=1e-12)
    assert np.abs(data.X_test.mean(axis=0)).max() > 1e-3  # the test rows had no say


def test_loading_twice_gives_the_same_order() -> None:
    assert all(np.array_equal(a, b) for a, b in zip(load_diabetes(), load_diabetes(), strict=True))
