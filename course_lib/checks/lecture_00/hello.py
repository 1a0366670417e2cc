"""Who I am, and how many we are."""

from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task


class Hello(Task):
    """Every rank returns ``"rank 2 of 4"``."""

    name = "hello"
    title = "Let every worker say who it is."
    talks = False
    verbs = ()
    enough = "comm.rank and comm.size are enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Try all numbers of workers; there is no data."""
        for size in ALL_SIZES:
            yield Case(size, "", calls=1)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Take nothing but the communicator."""
        return ()

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Put the rank and the size into the sentence."""
        return [f"rank {rank} of {case.workers}" for rank in range(case.workers)]

    def price(self, case: Case) -> Price:
        """Cost nothing."""
        return Price(0, 0, 0)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual mix-ups."""
        size, ranks = case.workers, range(case.workers)
        yield Mistake(
            "counts-from-1", "ranks count from 0: the first worker is rank 0",
            [f"rank {rank + 1} of {size}" for rank in ranks],
        )  # fmt: skip
        yield Mistake(
            "last-rank-as-size", "comm.size is how many there are; the last rank is one less",
            [f"rank {rank} of {size - 1}" for rank in ranks],
        )  # fmt: skip
        yield Mistake(
            "swapped", "comm.rank is who I am, comm.size is how many we are",
            [f"rank {size} of {rank}" for rank in ranks],
        )  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice fixed numbers and other spellings."""
        texts = [text for text in got if isinstance(text, str)]
        if len(texts) < len(got):
            given = got[wrong.rank or 0]
            return None if given is None else Hint("not-a-text", "return one text, a str")
        if any("{" in text for text in texts):
            return Hint("no-f", 'write f before the quotes, and single braces, f"{comm.rank}": '
                        "only then is what stands in them computed; {{ and }} print braces"
                        )  # fmt: skip
        if case.workers > 1 and len(set(texts)) == 1:
            return Hint("same-everywhere", "all ranks say the same: who I am is comm.rank")
        if all(text.endswith(" of 4") for text in texts) and case.workers != 4:
            return Hint("fixed-size", "it is not always 4 workers: ask comm.size")
        return Hint("spelling", "compare letter by letter: blanks, capitals and dots count")


TASK = Hello()
