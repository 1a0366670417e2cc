"""What an exercise calls in its check cell: ``checks.pass_around(pass_around)``.

Every check takes the learner's function, runs it on simulated workers in a process of its own, and
returns a report that draws itself. Nothing is raised for a wrong answer.
"""

import importlib
from typing import TYPE_CHECKING, Any

from course_lib.checks.quiet import keep_stubs_quiet

if TYPE_CHECKING:
    from course_lib.checks.report import Report
    from course_lib.checks.task import Task

SETS: dict[str, tuple[str, ...]] = {
    "lecture_00": ("hello", "pass_around", "shift_right", "ping_pong", "predict_gather"),
    "lecture_01": (
        "gradient_step", "minibatches", "sgd_epoch", "noise_scale", "predict_batch_size",
        "tuned_batch",
    ),
    "lecture_02": (
        "shard_bounds", "partial_sums", "mean_of_shards", "combine", "map_reduce",
        "predict_map_reduce",
    ),
    "lecture_03": (
        "weighted_mean", "data_parallel", "average_every", "what_is_wrong", "predict_rates",
        "diagnose_curve",
    ),
    "lecture_04": (
        "predict_nic", "parameter_server", "early_answers", "assign_layers", "predict_step",
    ),
    "lecture_05": (
        "allreduce_tree", "allreduce_butterfly", "reduce_scatter_ring", "allreduce_ring",
        "wasted_bytes", "predict_crossover",
    ),
    "lecture_06": (
        "critical_path", "exchange_layerwise", "hidden_seconds", "best_workers", "predict_bucket",
        "order_exchanges",
    ),
    "lecture_07": (
        "predict_pipeline", "order_1f1b", "run_order", "microbatch_step", "fewest_microbatches",
    ),
    "lecture_08": (
        "predict_split", "column_row", "split_fault", "swap_halos", "cheapest_grid",
    ),
    "lecture_09": (
        "staleness_of", "who_may_read", "asynchronous_server", "applied_twice", "predict_edge",
    ),
    "lecture_10": (
        "counter_after", "losing_order", "lock_free", "both_inside", "predict_lost",
    ),
    "lecture_11": (
        "who_is_first", "pareto_front", "steps_between", "what_is_unfair", "predict_winner",
    ),
    "lecture_12": ("predict_bound", "steps_done", "resume_faults", "choose_scheme"),
    "lecture_13": ("predict_makespan", "place_nodes", "message_faults"),
    "lecture_14": ("asha_next", "lost_or_twice", "predict_serving"),
}  # fmt: skip
"""The tasks of each lecture, in the order in which they are given."""

_HOME = {task: name for name, tasks in SETS.items() for task in tasks}

__all__ = [*_HOME, "progress"]


keep_stubs_quiet()


def task_named(name: str) -> "Task":
    """Return the task of a check.

    Parameters
    ----------
    name : str
        Such as ``"map_reduce"``.

    Returns
    -------
    Task
        Its cases, right answers and hints.
    """
    task: Task = importlib.import_module(f"course_lib.checks.{_HOME[name]}.{name}").TASK
    return task


def __getattr__(name: str) -> Any:
    if name == "progress":
        from course_lib.checks.solved import progress

        return progress
    if name not in _HOME:
        raise AttributeError(f"there is no check {name!r}; there are {', '.join(_HOME)}")
    from course_lib.checks.check import check as examine
    from course_lib.checks.solved import keep_solved

    task = task_named(name)

    def check(fn: Any) -> "Report":
        report = examine(task, fn)
        if report.passed:
            keep_solved(name)
        return report

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Check ``{name}``.\n\n{task.title}\n"  # a title may be a question
    globals()[name] = check
    return check


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
