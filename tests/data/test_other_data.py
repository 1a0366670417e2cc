"""Digits, moons and text-like documents: what is drawn is what is said, and the same every time."""

from importlib.metadata import version

import numpy as np
import pytest

from course_lib.data.digits import load_digits
from course_lib.data.source_lines import source_lines
from course_lib.data.text_like import load_rcv1, text_like
from course_lib.data.two_moons import two_moons
from course_lib.models.logistic_regression import LogisticRegression
from course_lib.schemes import train
from course_lib.training import Plan


def test_every_digit_is_there_once_and_between_0_and_1():
    from sklearn.datasets import load_digits as shipped

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


def test_lines_of_installed_sources_are_the_same_each_time_and_half_of_each_package():
    data = source_lines(400, 5000, packages=("hypothesis", "tqdm"), context=2)
    assert data.X.shape == (400, 5000)
    assert data.y.sum() == 200
    np.testing.assert_allclose(data.X.multiply(data.X).sum(axis=1), 1, rtol=1e-12)
    assert 3 < data.X.nnz / 400 < 60  # sparse
    assert data.X.has_canonical_format
    assert f"hypothesis {version('hypothesis')} and tqdm {version('tqdm')}" in data.origin
    again = source_lines(400, 5000, packages=("hypothesis", "tqdm"), context=2)
    assert (data.X != again.X).nnz == 0
    assert (data.y == again.y).all()
    other = source_lines(400, 5000, packages=("hypothesis", "tqdm"), context=2, seed=1)
    assert (data.X != other.X).nnz > 100


def test_a_package_is_told_by_its_words():
    data = source_lines(1500, 4096, packages=("hypothesis", "tqdm"))
    X, y = data.X, data.y
    model = LogisticRegression(X.shape[1])
    w = train(model, X[:1000], y[:1000], Plan(5.0, 50, epochs=5)).w
    assert (model.predict(w, X[1000:]) == y[1000:]).mean() > 0.8
    assert abs(y[1000:].mean() - 0.5) < 0.1


def test_a_small_package_gives_all_the_lines_that_it_has():
    data = source_lines(200_000, 100, packages=("tqdm", "cloudpickle"), context=0)
    assert 1000 < len(data.y) < 100_000


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"n_lines": 1}, "n_lines must be an int of 2 or more, got 1"),
        ({"n_features": 0}, "n_features must be"),
        ({"context": -1}, "context must be an int of 0 or more"),
        ({"packages": "torch"}, "packages must be two names, got 'torch'"),
        ({"packages": ("tqdm", "no_such_package")}, "packages must be installed .*no_such_package"),
    ],
)
def test_impossible_lines_are_refused(bad, told):
    with pytest.raises(ValueError, match=told):
        source_lines(**bad)
