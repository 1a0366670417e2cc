"""JSON knows no NaN and no infinity; a loss that diverges is written all the same."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Trace, run
from course_lib.trace.events import Note
from course_lib.viz import loss_curve, player, to_html

keys = st.text("$af", max_size=3) | st.sampled_from(["$float", "$$float", "float"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["nan", "-inf"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


def no_such_constant(name):
    raise AssertionError(f"{name} is not JSON")


def strict(text):
    """Read JSON as a browser does."""
    return json.loads(text, parse_constant=no_such_constant)


@given(values)
@settings(max_examples=300, deadline=None)
def test_any_value_of_a_note_is_written_as_json_and_comes_back(value):
    trace = Trace("simulated", "virtual", 1, notes=[Note(0, "any", value, 0.0)])
    text = trace.to_json()
    strict(text)
    again = Trace.from_json(text)
    assert repr(again.notes) == repr(trace.notes)  # NaN does not equal itself, but reads alike
    assert again.to_json() == text


def diverging(comm):
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(4):
            comm.sendrecv(np.ones(1), dst=1 - comm.rank, src=1 - comm.rank)
            loss = np.float64(1e200) ** step
            comm.note("loss", loss - loss if step == 3 else loss)
    comm.note("state", np.array([[np.inf, 1.0], [-np.inf, np.nan]]))


def test_a_loss_that_diverges_survives_and_other_text_is_as_ever():
    trace = run(diverging, workers=2, backend="simulated").trace
    again = Trace.from_json(trace.to_json())
    losses = [note.value for note in again.notes_named("loss") if note.rank == 0]
    assert losses[:3] == [1.0, 1e200, math.inf]
    assert math.isnan(losses[3])
    (state, _) = again.notes_named("state")
    assert repr(state.value) == "[[inf, 1.0], [-inf, nan]]"
    assert '"loss",{"$float":"nan"},' in trace.to_json()
    assert '"loss",1e+200,' in trace.to_json()


def test_traces_that_were_written_with_a_bare_nan_are_still_read():
    trace = Trace("simulated", "virtual", 1, notes=[Note(0, "loss", 0.5, 0.0)])
    old = trace.to_json().replace("0.5", "NaN")
    assert math.isnan(Trace.from_json(old).notes[0].value)


def test_the_players_page_of_a_diverging_run_holds_json_that_a_browser_reads():
    trace = Trace.from_json(run(diverging, workers=2, backend="simulated").trace.to_json())
    page = to_html(player(trace, curves={"loss": loss_curve(trace, "loss")}))
    start = page.index(">", page.index('<script type="application/json"')) + 1
    shown = strict(page[start : page.index("</script>", start)])
    assert "loss" in json.dumps(shown)


def test_a_time_that_is_no_number_is_refused_and_not_written():
    trace = Trace("simulated", "virtual", 1, notes=[Note(0, "loss", 0.5, math.nan)])
    with pytest.raises(ValueError, match="JSON compliant"):
        trace.to_json()
