# class: A2
# hint: library-answer
from course_lib.pipelines import one_f_one_b


def order_1f1b(rank, ranks, microbatches):
    order = one_f_one_b(ranks, microbatches).orders[rank]
    return [f"{action.kind}{action.microbatch}" for action in order]
