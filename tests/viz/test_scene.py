"""The table that all pictures are drawn from."""

import json
from itertools import pairwise

import numpy as np
import pytest

from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.trace.events import Message, Wait
from course_lib.trace.trace import Trace
from course_lib.viz.animation.build_scene import make_scene
from course_lib.viz.animation.choosing import find_columns
from course_lib.viz.animation.edges import along, edge_bend
from course_lib.viz.animation.layouts import LAYOUTS, places
from course_lib.viz.animation.scene import Flight
from course_lib.words.units import format_time, in_bytes, time_unit
from tests.viz.traces import accident, map_reduce, ring


def packed(scene):
    return json.dumps(scene.to_json(), separators=(",", ":"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 16, 17, 64])
def test_every_rank_has_a_place_of_its_own_on_the_stage(layout, size):
    spots = places(layout, size)
    assert len(spots) == len(set(spots)) == size
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in spots)


def test_a_ring_goes_clockwise_from_the_top():
    assert places("ring", 4) == [(0.5, 0.0), (1.0, 0.5), (0.5, 1.0), (0.0, 0.5)]


@pytest.mark.parametrize("size", [5, 8, 12])
def test_the_center_of_a_star_is_the_rank_that_was_named(size):
    spots = places("star", size, center=3)
    assert spots[3] in {(0.5, 0.5), (0.5, 1.0)}
    assert spots[:3] + spots[4:] == places("star", size)[1:]


def test_neighbours_in_a_long_line_stay_neighbours_where_a_row_turns():
    spots = places("line", 64)
    steps = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(spots)]
    assert max(steps) <= 1 / 3 + 1e-3


def test_the_two_directions_of_an_edge_do_not_overlap():
    there, back = along((0, 0), (1, 0), 0.2, 0.5), along((1, 0), (0, 0), 0.2, 0.5)
    assert there[1] < 0 < back[1]
    assert along((0, 0), (1, 0), 0.2, 0.0) == (0, 0)
    assert along((0, 0), (1, 0), 0.2, 1.0) == (1, 0)


def test_the_columns_of_a_grid_can_be_given_so_that_a_torus_looks_like_one():
    assert [y for _, y in places("grid", 16, columns=4)] == [
        pytest.approx(row / 3, abs=1e-3) for row in range(4) for _ in range(4)
    ]
    assert make_scene(ring(16), columns=4).layout == "grid"
    assert len({y for _, y in places("grid", 16)}) == 3, "without them it is as wide as a stage"


def exchange(comm, columns, down=True):
    row = comm.split(color=comm.rank // columns, key=comm.rank)
    allreduce_ring(row, np.ones(columns))
    if down:
        comm.sendrecv(
            np.ones(1), dst=(comm.rank + columns) % comm.size, src=(comm.rank - columns) % comm.size
        )


@pytest.mark.parametrize("columns", [2, 3, 4, 6])
def test_a_grid_has_the_columns_of_the_torus_that_the_messages_run_along(columns):
    trace = run(exchange, columns, workers=12, backend="simulated").trace
    scene = make_scene(trace, "grid")
    assert scene.places == places("grid", 12, columns=columns)
    assert make_scene(trace, "grid", columns=12).places == places("grid", 12, columns=12)
    assert make_scene(trace).layout == "hosts", "nobody has asked for a grid"


def test_of_several_tori_a_grid_shows_the_one_nearest_to_a_square():
    pairs = run(exchange, 2, False, workers=12, backend="simulated").trace
    assert find_columns(pairs) == 4
    assert find_columns(run(exchange, 3, False, workers=12, backend="simulated").trace) == 3


@pytest.mark.parametrize("size", [2, 4, 6, 7, 12])
def test_messages_that_run_along_no_torus_leave_the_grid_as_it_is(size):
    assert find_columns(ring(size)) is None
    assert make_scene(ring(size), "grid").places == places("grid", size)
    assert find_columns(Trace("simulated", "virtual", size)) is None


def test_ranks_stand_where_they_are_told_to_in_any_unit():
    scene = make_scene(ring(), places=[(-10, 0), (0, 5), (10, 0), (10, 10)])
    assert scene.places == [(0.0, 0.0), (0.5, 0.5), (1.0, 0.0), (1.0, 1.0)]


def test_a_long_edge_of_a_grid_runs_beside_the_boxes_between_its_ends():
    spots, box = [(float(x), 0.0) for x in range(4)], (0.5, 0.25)
    for ends, sign in (((0, 3), -1), ((3, 0), 1)):
        bend = edge_bend("grid", spots, ends, 3.0, box)
        x, y = along(spots[ends[0]], spots[ends[1]], bend, 0.5)
        assert x == 1.5
        assert box[1] / 2 < sign * y < box[1]
    assert edge_bend("grid", spots, (0, 1), 3.0, box) == 0.2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"layout": "grid", "columns": 5}, "columns must be an int from 1 to 4, .* got 5"),
        ({"layout": "ring", "columns": 2}, "columns must be an int from 1 to 4, .* with 'ring'"),
        ({"places": [(0, 0)] * 3}, "places must be .* each of the 4 ranks"),
        ({"places": [(0, float("nan"))] * 4}, "places must be .* each of the 4 ranks"),
        ({"layout": "ring", "places": [(0, 0)] * 4}, "places must come without a layout"),
    ],
)
def test_columns_and_places_that_do_not_fit_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        make_scene(ring(), **options)


@pytest.mark.parametrize(
    ("layout", "center", "roles", "said"),
    [
        ("circle", 0, None, "layout must be one of"),
        ("star", 4, None, "center must be a rank from 0 to 3, got 4"),
        ("ring", 0, {4: "server"}, "roles must name ranks from 0 to 3, got 4"),
    ],
)
def test_a_layout_that_does_not_exist_is_refused_with_its_name(layout, center, roles, said):
    with pytest.raises(ValueError, match=said):
        make_scene(ring(), layout, center=center, roles=roles)


def test_times_are_whole_ticks_within_a_millionth_of_the_run():
    trace = map_reduce(4, 3)
    scene = make_scene(trace, "star")
    assert 1e6 <= scene.end <= 1e7
    for message, flight in zip(trace.messages, scene.messages, strict=True):
        assert flight.posted * scene.tick_s == pytest.approx(message.posted_s, abs=scene.tick_s)
        assert flight.arrived * scene.tick_s == pytest.approx(message.arrived_s, abs=scene.tick_s)
        assert flight.posted <= flight.arrived <= flight.received


def test_a_message_nobody_received_never_arrives():
    assert [flight[-2:] for flight in make_scene(accident()).messages] == [(-1, -1), (-1, -1)]


def test_two_thousand_events_take_at_most_60_kb():
    trace = map_reduce(4, 120)
    scene = make_scene(trace, "star")
    n_events = len(scene.messages) + len(scene.spans)
    assert scene.thinned == "", "all 120 steps must be drawn"
    assert n_events == 120 * (6 + 5 + 6)  # messages, computations, and waits for them
    assert len(packed(scene)) <= 60_000


def test_two_thousand_events_of_a_measured_run_take_at_most_60_kb():
    """Measured times share no digits, so they are the worst case."""
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 3, size=(2000, 3)), axis=1).tolist()
    peers = rng.integers(64, size=2000).tolist()
    sizes = (rng.integers(1, 50, size=2000) * 8).tolist()
    messages = [
        Message(peer, (peer + 1) % 64, peer % 16, "<f8", (8,), n_bytes, a, a, b, c, "world")
        for peer, n_bytes, (a, b, c) in zip(peers[:1000], sizes, times, strict=False)
    ]
    waits = [
        Wait((peer + 1) % 64, "recv", peer, a, b, "world")
        for peer, (a, b, _) in zip(peers[1000:], times, strict=False)
    ]
    trace = Trace("processes", "measured", 64, messages=messages, waits=waits)
    scene = make_scene(trace, "ring")
    assert len(scene.messages) + len(scene.spans) == 2000
    assert len(packed(scene)) <= 60_000


def test_a_long_trace_is_thinned_on_the_stage_but_not_in_its_totals():
    trace = ring(32)
    scene = make_scene(trace, max_events=2000)
    assert trace.n_messages == 1984
    assert scene.thinned == f"drawn: {len(scene.messages):,} of 1,984 messages; totals count all"
    assert scene.total.startswith("1,984 messages")
    assert scene.shares == make_scene(trace, max_events=10_000).shares
    by_rank = [sum(flight.src == rank for flight in scene.messages) for rank in range(32)]
    assert min(by_rank) > 0.6 * max(by_rank), "no rank may seem to send less than the others"


def test_waiting_side_by_side_is_joined_without_loss_when_a_trace_is_thinned():
    whole = make_scene(ring(16), max_events=10_000)
    thin = make_scene(ring(16), max_events=600)
    covered = [sum(s.end - s.start for s in scene.spans) for scene in (whole, thin)]
    assert len(thin.spans) < len(whole.spans)
    assert covered[0] == covered[1]


def test_chunks_take_the_colour_of_their_number():
    labels = {label.tag: label.colour for label in make_scene(ring(16)).labels}
    assert labels == {chunk: chunk % 7 for chunk in range(16)}


def test_the_same_trace_gives_the_same_table_to_the_byte():
    assert packed(make_scene(map_reduce(4, 3))) == packed(make_scene(map_reduce(4, 3)))


def test_an_empty_trace_is_a_scene_in_which_nothing_happens():
    scene = make_scene(Trace("simulated", "virtual", 2))
    assert (scene.end, scene.messages, scene.total) == (0, [], "0 messages, 0 B")


def test_flights_keep_the_order_in_which_they_were_posted():
    flights = make_scene(map_reduce(4, 3)).messages
    assert flights == sorted(flights, key=lambda flight: flight.posted)
    assert all(isinstance(flight, Flight) for flight in flights)


def test_units_are_chosen_for_reading():
    assert [time_unit(end_s)[1] for end_s in (3.0, 0.5, 2e-4, 0.0)] == ["s", "ms", "µs", "µs"]
    assert format_time(0.0123456, 1e-3, "ms") == "12.35 ms"
    sizes = [0, 999, 1000, 16384, 999_499, 999_999, 5_000_000, 2_000_000_000]
    assert [in_bytes(n) for n in sizes] == [
        "0 B", "999 B", "1 KB", "16.4 KB", "999 KB", "1 MB", "5 MB", "2 GB",
    ]  # fmt: skip


def test_gradients_and_parameters_have_one_colour_each_in_all_pictures():
    def talk(comm, tags):
        for tag in tags:
            if comm.rank == 0:
                comm.send(np.ones(2), 1, tag=tag)
            else:
                comm.recv(0, tag=tag)

    def colours(*tags):
        trace = run(talk, tags, workers=2, backend="simulated").trace
        return {label.tag: label.colour for label in make_scene(trace).labels}

    assert colours("parameters", "gradient") == {"parameters": 1, "gradient": 0}
    assert colours("gradient", "parameters", "norm") == {"gradient": 0, "parameters": 1, "norm": 2}
    assert colours("temp", "model") == {"temp": 0, "model": 1}
    assert colours("over", "again") == {"over": 0, "again": 1}
