"""What a candidate's process has written is data from a stranger."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from course_lib.checks.plain import PlainTuple, Unusable
from course_lib.checks.sandbox import Mishap, Observation
from course_lib.grading.book import UnreadableError, read


class Deed:
    """Unpickled, it does something."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self):
        return os.mkdir, (str(self.canary),)


def write(file: Path, *pages: object) -> Path:
    file.write_bytes(b"".join(pickle.dumps(page, 5) for page in pages))
    return file


def test_observations_come_back_whole(tmp_path):
    seen = Observation(
        values=[[np.arange(3), PlainTuple([1, "x"]), Unusable("kind"), {"a": 2.5}]],
        mishap=Mishap("DeadlockError", "text", graph=[(0, 1, "a", "b")]),
    )
    loading_s, (back,) = read(write(tmp_path / "book", 0.25, seen))
    assert loading_s == 0.25
    assert repr(back) == repr(seen)
    assert read(tmp_path / "none") == (None, [])


def test_a_page_that_is_not_whole_ends_the_book(tmp_path):
    book = write(tmp_path / "book", 0.5, Observation(), Observation())
    whole = book.read_bytes()
    book.write_bytes(whole[:-3])
    assert len(read(book)[1]) == 1


def test_a_deed_in_a_pickle_is_not_done_where_it_would_be_by_pickle_itself(tmp_path):
    canary = tmp_path / "canary"
    book = write(tmp_path / "book", 0.5, Observation(printed=Deed(canary)))  # type: ignore[arg-type]
    with pytest.raises(UnreadableError, match="mkdir stands in it"):
        read(book)
    assert not canary.exists()
    with book.open("rb") as file:
        pickle.load(file), pickle.load(file)
    assert canary.exists(), "else this test could not fail"


def test_no_class_is_changed(tmp_path):
    change = (
        pickle.PROTO + b"\x02" + b"ccourse_lib.checks.sandbox\nObservation\n"
        + b"(N}(X\x07\x00\x00\x00invadedI1\nut" + b"b."
    )  # fmt: skip
    (tmp_path / "book").write_bytes(change)
    with pytest.raises(UnreadableError, match="a class is changed"):
        read(tmp_path / "book")
    assert not hasattr(Observation, "invaded")
    try:
        pickle.loads(change)
        assert hasattr(Observation, "invaded"), "else this test could not fail"
    finally:
        if hasattr(Observation, "invaded"):
            del Observation.invaded


@pytest.mark.parametrize(
    "pages", [(Observation(),), (0.5, "PASSED"), (0.5, {"status": "passed"}), (True,)]
)
def test_other_things_are_refused(tmp_path, pages):
    with pytest.raises(UnreadableError):
        read(write(tmp_path / "book", *pages))
