"""Pipelines: in which order ranks work on the micro-batches of a step, one file for each way.

A model is cut into stages, which live on ranks, and a batch into micro-batches. A schedule says for
each rank what it does, one action after another: it is data, made by a function of the number of
ranks P and of micro-batches M. ``check_schedule`` refuses one that cannot be carried out, ``times``
works out how long one takes, ``to_torch`` writes one as torch.distributed.pipelining does, and
``step`` carries out any of them, for ``course_lib.schemes.pipeline``. To have another one, write a
function.

On timelines and on messages an action is called as in the schedule, ``forward 2F1`` is stage 2's,
of micro-batch 1; after each that changes it, how many pairs of a stage and a micro-batch a rank
holds activations of is noted as "activations_held". Where a last batch has fewer examples than
there are micro-batches, the empty ones are left out.
"""

from course_lib.pipelines.checking import check_schedule, schedule_for
from course_lib.pipelines.gpipe import gpipe
from course_lib.pipelines.interleaved import interleaved
from course_lib.pipelines.one_f_one_b import one_f_one_b
from course_lib.pipelines.schedule import Action, MakesSchedule, Schedule
from course_lib.pipelines.times import Times, evaluate
from course_lib.pipelines.torch_notation import to_torch, to_torch_csv
from course_lib.pipelines.zb_h1 import zb_h1
from course_lib.pipelines.zb_v import zb_v

__all__ = [
    "SCHEDULES",
    "Action",
    "MakesSchedule",
    "Schedule",
    "Times",
    "check_schedule",
    "evaluate",
    "gpipe",
    "interleaved",
    "one_f_one_b",
    "schedule_for",
    "to_torch",
    "to_torch_csv",
    "zb_h1",
    "zb_v",
]

SCHEDULES: dict[str, MakesSchedule] = {
    "gpipe": gpipe,
    "1f1b": one_f_one_b,
    "interleaved": interleaved,
    "zb_h1": zb_h1,
    "zb_v": zb_v,
}
"""The schedules by name."""
