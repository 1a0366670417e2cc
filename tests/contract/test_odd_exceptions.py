"""An exception of a rank's function is told, however odd it is, in every world."""

import pytest

from course_lib.comm.errors import WorkerError


class NoText(Exception):
    """Its text cannot be made."""

    def __str__(self):
        return f"missing {self.what}"


def raise_from_itself():
    try:
        {}["key"]
    except KeyError as error:
        raise error from error


def raise_in_a_circle():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def raise_without_a_text():
    raise NoText


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (raise_from_itself, "KeyError: 'key'"),
        (raise_in_a_circle, "ValueError: first"),
        (raise_without_a_text, "NoText: <unprintable>"),
    ],
)
def test_it_is_told_at_once_with_its_name(world, odd, told):
    def work(comm):
        if comm.rank == 1:
            odd()
        comm.barrier()

    with pytest.raises(WorkerError, match=r"rank 1 failed at") as caught:
        world(work, time_limit_s=20)
    assert told in str(caught.value)


class SaysNothing(Exception):
    """Whoever asks it for anything gets an exception."""

    def __getattribute__(self, name):
        raise ValueError(name)


def raise_with(notes):
    def odd():
        error = RuntimeError("boom")
        error.__notes__ = notes
        raise error

    return odd


def raise_what_says_nothing():
    raise SaysNothing


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (raise_with([NoText(), "a note"]), "RuntimeError: boom\n  <unprintable>\n  a note"),
        (raise_with(None), "RuntimeError: boom"),
        (raise_with(5), "RuntimeError: boom"),
        (raise_what_says_nothing, "SaysNothing: <unprintable>"),
    ],
)
def test_notes_and_classes_that_answer_with_an_exception_hide_no_failure(world, odd, told):
    def work(comm):
        if comm.rank == 1:
            odd()
        comm.barrier()

    with pytest.raises(WorkerError, match=r"rank 1 failed at .*test_odd_exceptions") as caught:
        world(work, time_limit_s=20)
    assert told in str(caught.value)


def raise_with_a_cause():
    try:
        {}["the key"]
    except KeyError as error:
        raise ValueError("no such thing") from error


def raise_while_handling():
    try:
        {}["the key"]
    except KeyError:
        raise ValueError("no such thing")  # noqa: B904 - this is what it is about


def raise_with_notes():
    error = ExceptionGroup("two of them", [ValueError("one"), TypeError("two")])
    error.add_note("look at the second")
    raise error


@pytest.mark.parametrize(
    ("odd", "lines"),
    [
        (raise_with_a_cause, ["  caused by KeyError: 'the key', at test_odd_exceptions.py, line "]),
        (raise_while_handling, ["  while handling KeyError: 'the key', at test_odd_exceptions"]),
        (
            raise_with_notes,
            ["  look at the second", "  in it: ValueError: one", "  in it: TypeError: two"],
        ),
    ],
)
def test_what_it_carries_besides_its_text_is_told_once(world, odd, lines):
    with pytest.raises(WorkerError) as caught:
        world(lambda _: odd(), workers=1)
    text = str(caught.value)
    assert [text.count(line) for line in lines] == [1] * len(lines)
