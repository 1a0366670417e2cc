"""Each part of the harness is needed: weaken it, and a planted wrong answer gets through."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from course_lib.checks import check, comparator, sandbox, task, verdict
from course_lib.checks.lecture_00.pass_around import PassAround
from course_lib.checks.lecture_00.shift_right import ShiftRight
from course_lib.checks.lecture_02.combine import Combine
from course_lib.checks.lecture_03.data_parallel import DataParallel
from course_lib.checks.lecture_05.allreduce_butterfly import AllReduceButterfly
from course_lib.checks.lecture_05.allreduce_ring import AllReduceRing
from course_lib.checks.lecture_05.allreduce_tree import AllReduceTree
from tests.exercises.answers import MUTANTS, load


def accepts(checked: task.Task, mutant: str) -> bool:
    path = next(p for p in MUTANTS if p.parent.name == checked.name and p.stem == mutant)
    return check.check(checked, load(Path(path))).passed


def with_all_verbs(checked: task.Task) -> task.Task:
    """Open a task to verbs that it refuses; the examination has the task itself, not its class."""
    vars(checked)["verbs"] = (*checked.verbs, "barrier", "shared_array")
    return checked


def test_without_other_ranks_a_model_that_nobody_is_told_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def only_rank_0(self: Combine, case: Any, given: Any, got: Any) -> Any:
        right, scale = self.expected(case, given)[0], self.scale(case, given)
        return comparator.difference(right, got[0], n_terms=32, scale=scale)

    monkeypatch.setattr(Combine, "compare", only_rank_0)
    assert accepts(Combine(), "m01_nobody_is_told")


def test_with_a_wide_tolerance_float32_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Combine, "rounding_terms", 10**9)
    monkeypatch.setattr(Combine, "compare", task.Task.compare)
    assert accepts(Combine(), "m16_sends_float32")


def test_without_a_budget_everybody_may_tell_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "too_expensive", lambda *_: None)
    monkeypatch.setattr(Combine, "wrong_route", task.Task.wrong_route)  # which says it in words
    assert accepts(Combine(), "m10_everybody_to_everybody")
    assert accepts(ShiftRight(), "m11_everybody_tells_everybody")


def test_without_a_second_call_a_stale_total_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    once = [case for case in PassAround().cases(3) if case.calls == 1]
    monkeypatch.setattr(PassAround, "cases", lambda self, secret: iter(once))
    assert accepts(PassAround(), "m12_keeps_the_first_total")


def test_without_manners_changed_arguments_and_farewells_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verdict, "_wrong_manners", lambda *_: None)
    assert accepts(Combine(), "m12_adds_into_its_argument")
    assert accepts(PassAround(), "m10_returns_its_argument")


def test_without_one_worker_sending_to_oneself_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    several = [case for case in PassAround().cases(3) if case.workers > 1]
    monkeypatch.setattr(PassAround, "cases", lambda self, secret: iter(several))
    assert accepts(PassAround(), "m08_alone_sends_to_itself")


def test_without_odd_sizes_an_even_ring_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [case for case in ShiftRight().cases(3) if case.workers in (1, 2, 4, 8)]
    monkeypatch.setattr(ShiftRight, "cases", lambda self, secret: iter(kept))
    assert accepts(ShiftRight(), "m05_even_only")


def test_without_rendezvous_a_hidden_deadlock_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [case for case in ShiftRight().cases(3) if not case.rendezvous]
    monkeypatch.setattr(ShiftRight, "cases", lambda self, secret: iter(kept))
    assert accepts(ShiftRight(), "m12_small_ones_unprotected")


def test_without_long_messages_all_may_send_first(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [c for c in ShiftRight().cases(3) if not c.rendezvous and c.settings["length"] < 100]
    monkeypatch.setattr(ShiftRight, "cases", lambda self, secret: iter(kept))
    assert accepts(ShiftRight(), "m01_all_send_first")


def test_without_forbidden_modules_the_library_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Combine()
    checked.forbidden = ()  # type: ignore[misc]
    assert accepts(checked, "m18_library_combine")


def test_without_plain_copies_an_agreeable_array_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Agreeable(np.ndarray):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            if ufunc is np.subtract:
                return np.zeros(3)
            return ufunc(*(np.array(value) for value in inputs))

    given = np.zeros(3).view(Agreeable)
    assert comparator.difference(np.ones(3), given) is not None
    monkeypatch.setattr(comparator, "plain", lambda value: value)
    assert comparator.difference(np.ones(3), given) is None


def test_without_an_examination_room_a_patched_numpy_reaches_the_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("allclose", "array_equal", "abs"):
        monkeypatch.setattr(np, name, getattr(np, name))  # put back at the end

    def examined_here(checked: task.Task, fn: Any, cases: Any, _: Any) -> Any:
        packed = check.pack_call(fn, ())
        return [sandbox.observe(packed, checked, case) for case in cases], None

    monkeypatch.setattr(check, "_examined", examined_here)
    assert accepts(Combine(), "m21_patches_the_comparison")


def test_without_routes_another_ring_and_another_tree_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verdict, "_wrong_route", lambda *_: None)
    assert accepts(AllReduceRing(), "m16_to_the_left")
    assert accepts(AllReduceTree(), "m15_binomial_tree")


def test_without_received_bytes_a_sum_in_shared_memory_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "course_lib.checks.lecture_05.all_reduce.too_little_received", lambda *_: None
    )
    assert accepts(with_all_verbs(AllReduceTree()), "m17_shared_memory")
    assert accepts(with_all_verbs(AllReduceRing()), "m24_shared_memory")


def test_without_all_verbs_refused_a_barrier_passes() -> None:
    assert accepts(with_all_verbs(PassAround()), "m17_barrier")


def test_without_examples_counted_rank_0_may_train_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course_lib.checks.lecture_03.data_parallel.not_shared", lambda *_: None)
    for mutant in ("m32_rank_0_trains_alone", "m33_zeros_from_the_others"):
        assert accepts(DataParallel(), mutant)


def test_without_rounds_a_tree_passes_for_a_butterfly(monkeypatch: pytest.MonkeyPatch) -> None:
    def any_rounds(self: AllReduceButterfly, case: Any) -> Any:
        return self.price(case)._replace(rounds=None, seconds=None)

    monkeypatch.setattr(AllReduceButterfly, "budget", any_rounds)
    assert accepts(AllReduceButterfly(), "m11_tree_and_back")


def test_without_the_last_bits_every_rank_may_add_in_its_own_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(AllReduceButterfly, "compare", task.Task.compare)
    assert accepts(AllReduceButterfly(), "m07_around_the_ring")


def test_without_lengths_that_p_does_not_divide_a_lost_tail_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = [c for c in AllReduceRing().cases(3) if c.settings["shape"][0] % c.workers == 0]
    monkeypatch.setattr(AllReduceRing, "cases", lambda self, secret: iter(kept))
    assert accepts(AllReduceRing(), "m12_tail_left_as_it_was")


def test_without_other_dtypes_a_sum_of_floats_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [c for c in AllReduceRing().cases(3) if c.settings["dtype"] == "float64"]
    monkeypatch.setattr(AllReduceRing, "cases", lambda self, secret: iter(kept))
    assert accepts(AllReduceRing(), "m22_whole_numbers_through_floats")
