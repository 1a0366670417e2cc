"""Lecture 13: a module's graph on workers, its planner and what that believes, and strategies."""

from course_lib.lectures.lecture_13.module import inception
from course_lib.lectures.lecture_13.placing import (
    NETWORKS,
    STARTS,
    by_node,
    in_words,
    moved,
    run_placed,
    stage,
)
from course_lib.lectures.lecture_13.planners import (
    BATCH,
    all_makespans,
    as_believed,
    belief_table,
    best_plan,
    list_plan,
    longest_path,
    makespan_s,
    placements_chart,
)
from course_lib.lectures.lecture_13.ways import (
    CLUSTERS,
    NETS,
    degrees_table,
    fastest_way,
    ways,
    ways_chart,
)
from course_lib.planning.numbered import (
    broken_cutters,
    equal_messages,
    graph_of,
    list_ranks,
    random_nodes,
    run_ranks,
)

__all__ = [
    "BATCH",
    "CLUSTERS",
    "NETS",
    "NETWORKS",
    "STARTS",
    "all_makespans",
    "as_believed",
    "belief_table",
    "best_plan",
    "broken_cutters",
    "by_node",
    "degrees_table",
    "equal_messages",
    "fastest_way",
    "graph_of",
    "in_words",
    "inception",
    "list_plan",
    "list_ranks",
    "longest_path",
    "makespan_s",
    "moved",
    "placements_chart",
    "random_nodes",
    "run_placed",
    "run_ranks",
    "stage",
    "ways",
    "ways_chart",
]
