"""Sparse examples that look like text: few of many words each, and a few words nearly everywhere.

Real documents are to be had as well, where the network allows a download: see ``load_rcv1``.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["SparseData", "load_rcv1", "rows_of_length_1", "text_like"]


class SparseData(NamedTuple):
    """Documents as rows of word weights.

    Attributes
    ----------
    X : scipy.sparse.csr_matrix, shape (documents, words)
        Rows of length 1, most of their entries 0.
    y : numpy.ndarray of int, shape (documents,)
        The class, 0 or 1.
    origin : str
        Where the numbers come from, in a sentence for the reader.
    """

    X: Any
    y: NDArray[np.int64]
    origin: str


def text_like(
    n_documents: int = 2000,
    n_words: int = 5000,
    words_per_document: int = 40,
    exponent: float = 1.0,
    seed: int = 0,
) -> SparseData:
    """Draw documents whose words follow Zipf's law, and classes that a few words decide.

    The k-th most frequent word is drawn in proportion to ``k ** -exponent``. Each word has a hidden
    weight; a document is of class 1 where the weights of its words add up to more than the median
    document's.

    Parameters
    ----------
    n_documents, n_words : int, default: 2000 and 5000
        The size of the collection and of its vocabulary.
    words_per_document : int, default: 40
        How many words are drawn for each document; the same one may be drawn twice.
    exponent : float, default: 1.0
        0 makes all words equally frequent; Zipf found about 1.
    seed : int, default: 0
        The same seed gives the same documents.

    Returns
    -------
    SparseData
        The documents.

    Raises
    ------
    ValueError
        If a number is below 1, or the exponent is negative.

    References
    ----------
    G. K. Zipf, Human Behavior and the Principle of Least Effort, Addison-Wesley, 1949.
    """
    for name, number in (
        ("n_documents", n_documents), ("n_words", n_words),
        ("words_per_document", words_per_document),
    ):  # fmt: skip
        if number < 1:
            raise ValueError(f"{name} must be 1 or more, got {number}")
    if not exponent >= 0:
        raise ValueError(f"exponent must be 0 or more, got {exponent}")
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(seed)
    frequency = np.arange(1, n_words + 1, dtype=float) ** -exponent
    words = rng.choice(
        n_words, size=(n_documents, words_per_document), p=frequency / frequency.sum()
    )
    rows = np.repeat(np.arange(n_documents), words_per_document)
    X = csr_matrix((np.ones(words.size), (rows, words.ravel())), shape=(n_documents, n_words))
    X = rows_of_length_1(X)
    score = X @ rng.normal(size=n_words)
    return SparseData(
        X, (score > np.median(score)).astype(np.int64),
        f"generated: {n_documents:,} documents, word frequencies by Zipf's law",
    )  # fmt: skip


def rows_of_length_1(counts: Any) -> Any:
    """Weigh words by the logarithm of how often a document has them, and make its row 1 long.

    Parameters
    ----------
    counts : scipy.sparse.csr_matrix, shape (documents, words)
        How often; no row may be empty. It is modified.

    Returns
    -------
    scipy.sparse.csr_matrix, shape (documents, words)
        The weights.
    """
    from scipy.sparse import csr_matrix

    counts.data = 1.0 + np.log(counts.data)
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    return csr_matrix(counts.multiply(1 / lengths[:, None]))


def load_rcv1(n_documents: int = 20000, **generated: Any) -> SparseData:
    """Load Reuters news of 1996 and 1997, or generate text-like data where there is no network.

    The first call downloads some 660 MB into scikit-learn's own folder; later ones find them there.

    Parameters
    ----------
    n_documents : int, default: 20000
        How many documents to take.
    **generated
        Passed to ``text_like`` where the download fails.

    Returns
    -------
    SparseData
        Class 1 is the topic CCAT (corporate and industrial); ``origin`` says which it is.

    References
    ----------
    D. D. Lewis, Y. Yang, T. G. Rose and F. Li, "RCV1: a new benchmark collection for text
    categorization research", Journal of Machine Learning Research 5, 2004.
    """
    from sklearn.datasets import fetch_rcv1

    try:
        news = fetch_rcv1(subset="train")
    except OSError as error:  # no network, no such host, a broken download
        data = text_like(n_documents=n_documents, **generated)
        reason = str(error) or type(error).__name__
        return data._replace(origin=f"{data.origin} (RCV1 could not be loaded: {reason})")
    topic = list(news.target_names).index("CCAT")
    y = np.asarray(news.target[:n_documents, topic].todense()).ravel().astype(np.int64)
    return SparseData(news.data[:n_documents], y, "RCV1, Reuters news of 1996 and 1997")
