"""The tests of the contract that cannot hold under mpiexec, each with its reason."""

_NO_SHARED_MEMORY = "ranks under mpiexec share no memory: shared_array is refused, in words"
_NO_LAUNCHER = "ranks are programs, nobody sees all of them: a deadlock ends at the time limit"
_OWN_PROGRAM = "starts programs that call run by themselves, and mpiexec has not started those"
_EACH_ITS_OWN = "nobody collects how the others ended: each of them raises in its own program"
_CARRIED = "tests and ranks are two programs: cloudpickle carries calls and results between them"
_NUMBER = "how many ranks there are is mpiexec's to say"
_FIRST_WORD = "two ranks are told apart by the first two that speak; which those are, varies"

REASONS = {
    # whole files
    "test_shared_arrays.py": _NO_SHARED_MEMORY,
    "test_copies_of_the_program.py": _OWN_PROGRAM,
    "test_ends_of_the_program.py": _OWN_PROGRAM,
    "test_signals_during_a_run.py": _OWN_PROGRAM,
    "test_spawned_programs.py": _OWN_PROGRAM,
    # of test_collective_order.py
    "test_one_rank_with_another_operation_shape_or_dtype_is_told_by_every_algorithm": _FIRST_WORD,
    "test_of_nested_collectives_the_outermost_is_told": _NO_LAUNCHER,
    "test_two_collectives_are_told_where_a_started_function_makes_a_shorter_circle": _NO_LAUNCHER,
    "test_two_collectives_are_told_where_functions_of_others_make_a_shorter_circle": _NO_LAUNCHER,
    "test_a_collective_is_told_that_waits_for_what_it_has_started": _NO_LAUNCHER,
    "test_two_collectives_are_told_where_one_also_waits_for_a_rank_that_has_returned": (
        _NO_LAUNCHER
    ),
    # of test_isend_and_irecv.py
    "test_two_that_wait_for_what_neither_has_sent_are_a_deadlock": _NO_LAUNCHER,
    "test_two_that_wait_for_what_neither_takes_are_a_deadlock": _NO_LAUNCHER,
    "test_a_message_that_nobody_waits_for_hides_no_collective_in_a_circle": _NO_LAUNCHER,
    "test_a_started_function_outlives_one_that_has_waited_for_a_message": _NO_LAUNCHER,
    "test_who_waits_in_a_collective_for_what_was_posted_before_is_told_to_be_in_it": _NO_LAUNCHER,
    "test_what_nobody_waits_for_is_told_to_be_at_the_end_of_the_function": _NO_LAUNCHER,
    # of test_meetings.py and test_returned_values.py
    "test_ranks_that_disagree_all_hear_the_same_and_go_on": _NO_SHARED_MEMORY,
    "test_results_share_nothing": _NO_SHARED_MEMORY,
    # of test_ranks_and_their_clocks.py
    "test_both_send_first_is_explained_where_send_waits": _NO_LAUNCHER,
    "test_an_exception_names_the_rank_and_the_line": _EACH_ITS_OWN,
    "test_unreceived_messages_are_counted_in_a_warning": _CARRIED,
    "test_what_cannot_be_loaded_is_said_to_be_so": _CARRIED,
    # of test_ranks_share_nothing.py and test_what_a_process_keeps.py
    "test_a_class_is_each_ranks_own_and_stays_the_callers": _CARRIED,
    "test_an_exceptions_class_stays_the_callers_however_it_arrives": _CARRIED,
    "test_classes_that_list_themselves_are_listed_once_on_each_rank": _CARRIED,
    "test_a_class_with_slots_has_no_more_than_those": _CARRIED,
    "test_a_class_that_a_rank_has_made_arrives_whole": _CARRIED,
    "test_generators_are_drawn_from_by_whatever_name_they_have": _CARRIED,
    "test_a_function_with_a_cache_travels_without_what_is_in_it": _CARRIED,
    "test_an_enum_keeps_its_second_names_and_what_its_own_code_has_set": _CARRIED,
    "test_switches_of_torch_are_each_ranks_own_and_functions_that_turn_them_travel": _CARRIED,
    # of test_bad_arguments.py
    "test_run_refuses_before_anything_starts": _NUMBER,
    # of test_started_without_limit.py
    "test_a_deadlock_says_which_started_function_faces_which": _NO_LAUNCHER,
    "test_a_deadlock_at_the_bottom_of_a_deep_nest_is_found": _NO_LAUNCHER,
    "test_started_functions_of_one_rank_that_wait_for_each_other_are_a_deadlock": _NO_LAUNCHER,
}
"""By a file's name, or a test's, without its parameters."""
