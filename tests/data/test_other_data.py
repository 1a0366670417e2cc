"""Digits, moons and text-like documents: what is drawn is what is said, and the same every time."""

import numpy as np
import pytest
from sklearn.datasets import load_digits as shipped

from course_lib.data.digits import load_digits
from course_lib.data.text_like import load_rcv1, text_like
from course_lib.data.two_moons import two_moons


def test_every_digit_is_there_once_and_between_0_and_1():
    data = load_digits()
    assert data.X_train.shape == (1437, 64)
    assert data.X_test.shape == (360, 64)
    X, y = shipped(return_X_y=True)
    ours = np.column_stack(
        [np.vstack([data.X_train, data.X_test]) * 16, [*data.y_train, *data.y_test]]
    )
    theirs = np.column_stack([X, y])
    assert np.array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])
    assert not np.array_equal(ours, theirs)  # shuffled
    assert (data.X_train.min(), data.X_train.max()) == (0, 1)
    assert set(data.y_test.tolist()) == set(range(10))
    assert all(np.array_equal(a, b) for a, b in zip(data, load_digits(), strict=True))


def test_moons_are_two_and_no_line_parts_them():
    X, y = two_moons(200, noise=0.0)
    assert X.shape == (200, 2)
    assert np.bincount(y).tolist() == [100, 100]
    upper = X[y == 0]
    np.testing.assert_allclose(np.hypot(*upper.T), 1, atol=1e-12)  # on the unit circle
    design = np.column_stack([np.ones(200), X])
    line = np.linalg.lstsq(design, 2 * y - 1, rcond=None)[0]
    assert ((design @ line > 0) != y).any()
    np.testing.assert_array_equal(X, two_moons(200, noise=0.0)[0])
    assert not np.array_equal(X, two_moons(200, noise=0.0, seed=1)[0])


def test_words_follow_zipfs_law_and_classes_are_balanced():
    data = text_like(n_documents=3000, n_words=500, words_per_document=30)
    assert data.X.shape == (3000, 500)
    np.testing.assert_allclose(data.X.multiply(data.X).sum(axis=1), 1, rtol=1e-12)
    assert data.X.nnz <= 3000 * 30
    assert data.y.sum() == 1500
    documents_with = np.asarray((data.X > 0).sum(axis=0)).ravel()
    flat = np.asarray((text_like(3000, 500, 30, exponent=0.0).X > 0).sum(axis=0)).ravel()
    assert documents_with[0] > 20 * documents_with[100:].mean()
    assert flat[0] < 2 * flat[100:].mean()  # without the law no word stands out
    assert "generated" in data.origin
    assert (data.X != text_like(3000, 500, 30).X).nnz == 0


@pytest.mark.parametrize("name", ["n_documents", "n_words", "words_per_document"])
def test_impossible_documents_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be 1 or more, got 0"):
        text_like(**{name: 0})
    with pytest.raises(ValueError, match="exponent must be 0 or more, got -1"):
        text_like(exponent=-1)


def test_without_a_network_news_are_generated_and_say_so(monkeypatch):
    import sklearn.datasets

    def unreachable(**_):
        raise OSError("no such host")

    monkeypatch.setattr(sklearn.datasets, "fetch_rcv1", unreachable)
    data = load_rcv1(50, n_words=100)
    assert data.X.shape == (50, 100)
    assert "RCV1 could not be loaded: no such host" in data.origin


@pytest.mark.parametrize("bad", [{"n_examples": 0}, {"noise": -1.0}])
def test_impossible_moons_are_refused(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
        two_moons(**bad)
