"""What is unfair in the records of a race."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["REASONS", "TASK"]

REASONS = ("untuned", "warm start", "another clock", "easier target")

Record = Mapping[str, Any]


class WhatIsUnfair(LocalTask):
    """For each scheme, the reasons why its time may not be compared."""

    name = "what_is_unfair"
    title = "Find the bug: what makes this race unfair?"
    takes = ("records",)
    forbidden = ("course_lib.collectives", "course_lib.schemes", "course_lib.lectures")
    enough = "the records are enough"
    empty_results = True

    def cases(self, secret: int) -> Iterator[Case]:
        """Plant one thing at a time, then several; then none."""
        for label, plants in _FIXED:
            yield Case(1, label, calls=1, alone=True, settings={"plants": plants, "draw": 0})
        for number in range(5):
            rng = Case(1, "", seed=secret).rng(number, 0)
            plants = tuple(
                tuple(reason for reason in _PLANTS if rng.random() < 0.3) for _ in range(4)
            )
            yield Case(1, "random records", seed=secret, calls=1, alone=True,
                       settings={"plants": plants, "draw": 1 + number})  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Draw fair records, and plant what is unfair."""
        rng = case.rng(case.settings["draw"], 0)
        return ([_record(rng, k, plants) for k, plants in enumerate(case.settings["plants"])],)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Apply the four rules."""
        return [_told(arguments[0][0], _untuned, _warm, _clock, _target)]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        (records,) = arguments[0]
        right = _told(records, _untuned, _warm, _clock, _target)
        for hint_id, text, rules in (
            ("at-the-end", "the best of the rates tried is no proof if it is the smallest or the "
             "largest of them: beyond it may be a better one", (_not_best, _warm, _clock, _target)),
            ("never-there", "None of the own rate stands for a target that was not reached: any "
             "rate with which it was is better", (_untuned_if_there, _warm, _clock, _target)),
            ("best-of-tried", "a rate in the middle of the grid need not be its best: compare "
             "seconds", (_at_the_end, _warm, _clock, _target)),
            ("all-tried", "the ends are the smallest and the largest of all rates tried, also of "
             "those that never reached the target", (_untuned_of_good, _warm, _clock, _target)),
            ("all-tried", "the ends are the smallest and the largest rate, wherever they stand in "
             "the dict", (_untuned_as_listed, _warm, _clock, _target)),
            ("as-fast", "another rate with as many seconds is no better one",
             (_untuned_of_equals, _warm, _clock, _target)),
            ("which-holder", "the clock is that of the rank that holds the model, not always of "
             "rank 0", (_untuned, _warm, _clock_0, _target)),
            ("which-holder", "the clock is that of the rank that holds the model, not of the last",
             (_untuned, _warm, _clock_last, _target)),
            ("which-holder", "the clock is that of the rank that holds the model, not of the first "
             "that is done", (_untuned, _warm, _clock_first, _target)),
            ("compare-with-all", "the first record may be the unfair one: compare with the highest "
             "first loss of all", (_untuned, _warm_than_first, _clock, _target)),
            ("compare-with-all", "the first record may be the unfair one: compare with the lowest "
             "target of all", (_untuned, _warm, _clock, _target_than_first)),
            ("higher-is-easier", "a loss that is higher is easier to get to",
             (_untuned, _warm, _clock, _harder)),
            ("lower-is-warm", "who begins with a lower loss has been trained before",
             (_untuned, _cold, _clock, _target)),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [_told(records, *rules)])
        every = {r["scheme"]: right.get(r["scheme"], []) for r in records}
        yield Mistake("only-unfair", "leave out who is fair", [every])
        one = {name: reasons[:1] for name, reasons in right.items()}
        yield Mistake("all-reasons", "one record may be unfair in several ways: list all", [one])
        yield Mistake("all-reasons", "a list of reasons, also if it is one",
                      [{name: reasons[0] for name, reasons in right.items()}])  # fmt: skip
        backwards = {name: reasons[::-1] for name, reasons in right.items()}
        yield Mistake("order", "in the order of the task: untuned first", [backwards])
        ordered = {name: sorted(reasons) for name, reasons in right.items()}
        yield Mistake("order", "in the order of the task, not sorted", [ordered])
        yield Mistake("a-dict", "return a dict: the reasons by scheme", [list(right)])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Name a reason that is not told, or told too often."""
        if not isinstance(got[0], dict):
            return Hint("a-dict", "return a dict: the reasons by scheme")
        right = self.expected(case, arguments)[0]
        for record in arguments[0][0]:
            name = record["scheme"]
            said, due = got[0].get(name, []), right.get(name, [])
            if not isinstance(said, list) or not set(map(str, said)) <= set(REASONS):
                return Hint("wrong-name", f"a list of some of {', '.join(map(repr, REASONS))}")
            for reason in REASONS:
                if (reason in said) != (reason in due):
                    there = "is missed" if reason in due else "is none here"
                    return Hint(
                        reason.replace(" ", "-"), f"{name}: {reason!r} {there}. {_RULES[reason]}"
                    )
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a comparison with None."""
        if "NoneType" in text:
            return Hint(
                "none-there", "None stands for a rate with which the target was not reached"
            )
        return None


_RULES = {
    "untuned": "Tuned is who has the fewest seconds of all rates tried, with a smaller and a "
    "larger rate tried, too",
    "warm start": "All begin with the highest first loss",
    "another clock": "seconds must be ended_s of the rank in holder",
    "easier target": "All have the lowest target",
}


def _told(records: Sequence[Record], *rules: Callable[..., bool]) -> dict[str, list[str]]:
    found = {
        record["scheme"]: [
            reason for reason, rule in zip(REASONS, rules, strict=True) if rule(record, records)
        ]
        for record in records
    }
    return {name: reasons for name, reasons in found.items() if reasons}


def _seconds(record: Record, rate: float) -> float:
    found = record["tried"][rate]
    return float("inf") if found is None else float(found)


def _not_best(record: Record, _: Any) -> bool:
    best = min(_seconds(record, rate) for rate in record["tried"])
    return _seconds(record, record["rate"]) > best


def _at_the_end(record: Record, _: Any) -> bool:
    return record["rate"] in (min(record["tried"]), max(record["tried"]))


def _untuned(record: Record, records: Any) -> bool:
    return _not_best(record, records) or _at_the_end(record, records)


def _untuned_if_there(record: Record, records: Any) -> bool:
    is_there = record["tried"][record["rate"]] is not None
    return (is_there and _not_best(record, records)) or _at_the_end(record, records)


def _untuned_of_good(record: Record, records: Any) -> bool:
    good = [rate for rate, seconds in record["tried"].items() if seconds is not None]
    return _not_best(record, records) or record["rate"] in (min(good), max(good))


def _untuned_as_listed(record: Record, records: Any) -> bool:
    rates = list(record["tried"])
    return _not_best(record, records) or record["rate"] in (rates[0], rates[-1])


def _untuned_of_equals(record: Record, records: Any) -> bool:
    first = min(record["tried"], key=lambda rate: _seconds(record, rate))
    return record["rate"] != first or _at_the_end(record, records)


def _warm(record: Record, records: Any) -> bool:
    return bool(record["first_loss"] < max(one["first_loss"] for one in records))


def _warm_than_first(record: Record, records: Any) -> bool:
    return bool(record["first_loss"] < records[0]["first_loss"])


def _cold(record: Record, records: Any) -> bool:
    return bool(record["first_loss"] > min(one["first_loss"] for one in records))


def _clock(record: Record, _: Any) -> bool:
    return bool(record["seconds"] != record["ended_s"][record["holder"]])


def _clock_0(record: Record, _: Any) -> bool:
    return bool(record["seconds"] != record["ended_s"][0])


def _clock_last(record: Record, _: Any) -> bool:
    return bool(record["seconds"] != max(record["ended_s"]))


def _clock_first(record: Record, _: Any) -> bool:
    return bool(record["seconds"] != min(record["ended_s"]))


def _target(record: Record, records: Any) -> bool:
    return bool(record["target"] > min(one["target"] for one in records))


def _target_than_first(record: Record, records: Any) -> bool:
    return bool(record["target"] > records[0]["target"])


def _harder(record: Record, records: Any) -> bool:
    return bool(record["target"] < max(one["target"] for one in records))


_PLANTS = ("not best", "at the end", "warm start", "another clock", "easier target")


def _record(rng: Any, number: int, plants: Sequence[str]) -> dict[str, Any]:
    """Draw a fair record, and plant what is asked for."""
    rates = [0.05 * 2**k for k in range(5)]
    best = 0 if "at the end" in plants and rng.random() < 0.5 else 4
    best = best if "at the end" in plants else int(rng.integers(1, 4))
    best = {"at the smallest": 0, "at the largest": 4}.get("".join(plants), best)
    tried: dict[float, float | None] = {
        rate: round(float(40 * 1.3 ** abs(k - best) + k), 2) for k, rate in enumerate(rates)
    }
    missed = [rate for k, rate in enumerate(rates) if abs(k - best) > 1]
    tried |= dict.fromkeys(missed[: int(rng.integers(0, 3))])
    rate = rates[best]
    if "the only side" in plants:
        tried |= dict.fromkeys(rates[:best])
    if "as fast" in plants:
        tried[rates[best - 1]] = tried[rate]
    if "listed first" in plants:
        tried = {rate: tried[rate], **tried}
    if "not best" in plants:
        rate = next(rates[k] for k in (2, 1, 3) if k != best and tried[rates[k]] is not None)
    if "never there" in plants:
        tried[rate] = None
    if "alone" in plants:
        tried = {rate: tried[rate]}
    if "one of two" in plants:
        tried = {rate: tried[rate], rates[best - 1]: None}
    ended = (tried[rate] or 0.0) + rng.integers(0, 9, size=4).cumsum() / 8 + 1
    holder = int(rng.integers(0, 4))
    ended_s = [float(s) for s in rng.permutation(ended + rng.uniform(0, 0.1, 4).round(3))]
    other = (holder + 1 + int(rng.integers(0, 3))) % 4
    seconds = ended_s[other if "another clock" in plants else holder]
    seconds += 0.001 * (("a bit late" in plants) - ("a bit early" in plants))
    first_loss = 1.9 if "warm start" in plants else 2.2999 if "a bit warm" in plants else 2.3
    target = 0.2 if "easier target" in plants else 0.1001 if "a bit easier" in plants else 0.1
    return {
        "scheme": f"{'abcdefg'[number]}", "tried": tried, "rate": rate,
        "first_loss": first_loss, "target": target, "ended_s": ended_s, "holder": holder,
        "seconds": seconds,
    }  # fmt: skip


_FIXED: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    ("a rate that is not the best", ((), ("not best",), ())),
    ("a best rate at the end of those tried", ((), (), ("at the end",))),
    ("a warm start", ((), ("warm start",), ())),
    ("another clock", (("another clock",), (), ())),
    ("an easier target", ((), ("easier target",), ())),
    ("the first record is the warm one", (("warm start",), (), ())),
    ("the first record has the easier target", (("easier target",), (), ())),
    ("several at once", (("not best", "another clock"), ("warm start", "easier target"), ())),
    ("all fair", ((), (), ())),
    ("smaller rates that never reach the target", ((), ("the only side",), ())),
    ("two rates that are equally fast", ((), (), ("as fast",))),
    ("rates in another order", (("listed first",), (), ())),
    ("best rates at either end", (("at the smallest",), (), ("at the largest",))),
    ("seconds that are a bit off", (("a bit late",), (), ("a bit early",))),
    ("only one begins as high", ((), ("warm start",), ("a bit warm",))),
    ("only one has the lowest target", (("easier target",), ("a bit easier",), ())),
    ("a bit warm, a bit easier", (("a bit warm",), ("a bit easier",), ())),
    ("a rate with which it was never there", ((), ("never there",), ())),
    ("one rate tried, and two", (("alone",), ("one of two",), ())),
)

TASK = WhatIsUnfair()
