"""The picture of a deadlock: who waits for whom, where, and which of them are the circle."""

import base64
import io
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch
from nbclient import NotebookClient
from PIL import Image

from course_lib import run
from course_lib.comm.errors import DeadlockError
from course_lib.viz import draw_wait_graph
from course_lib.viz.colours import OKABE_ITO

REPOSITORY = Path(__file__).parents[2]
ALARM = "#D55E00"


def ring(size):
    """Each waits for its left neighbour."""
    left = [(rank - 1) % size for rank in range(size)]
    graph = [(r, left[r], f"recv(src={left[r]})", f"cell In[7], line {r}") for r in range(size)]
    return graph, [0, *range(size - 1, 0, -1)]


def barrier_but_one(size):
    graph = [(rank, 2, "barrier()", "cell In[3], line 9") for rank in range(size) if rank != 2]
    return [*graph, (2, 0, "recv(src=0)", "cell In[3], line 5")], [0, 2]


def texts(figure):
    (axes,) = figure.axes
    return [text.get_text() for text in axes.texts]


def arrows(figure):
    """Describe each arrow as (colour, width, whether it is dashed)."""
    (axes,) = figure.axes
    return [
        (
            to_hex(arrow.get_edgecolor()).upper(),
            arrow.get_linewidth(),
            arrow.get_linestyle() != "solid",
        )
        for arrow in axes.patches
        if isinstance(arrow, FancyArrowPatch)
    ]


@pytest.mark.parametrize("size", [2, 3, 5, 16])
def test_every_rank_is_there_once_with_its_call_and_its_place(size):
    graph, cycle = ring(size)
    written = texts(draw_wait_graph(graph, cycle))
    for rank, peer, call, place in graph:
        assert written.count(str(rank)) == 1
        assert written.count(f"recv(src={peer})") == 1
        assert call in written
        assert place in written


def test_the_circle_is_told_apart_by_more_than_its_colour():
    told = arrows(draw_wait_graph(*barrier_but_one(6)))
    in_circle = [arrow for arrow in told if arrow[0] == ALARM]
    outside = [arrow for arrow in told if arrow[0] != ALARM]
    assert len(in_circle) == 2  # 0 waits for 2, and 2 for 0
    assert len(outside) == 4  # 1, 3, 4 and 5 wait for 2 as well
    assert {dashed for _, _, dashed in in_circle} == {False}
    assert {dashed for _, _, dashed in outside} == {True}
    assert min(width for _, width, _ in in_circle) >= 2 * max(width for _, width, _ in outside)
    assert ALARM in OKABE_ITO


def test_every_circle_is_drawn_in_the_alarm_colour():
    (first, cycle), (second, _) = ring(3), ring(2)
    further = [(a + 3, b + 3, call, place) for a, b, call, place in second]
    outside = (5, 0, "recv(src=0)", "cell In[7], line 5")
    figure = draw_wait_graph([*first, *further, outside], cycle, [3, 4])
    assert sorted(colour == ALARM for colour, _, _ in arrows(figure)) == [False, *[True] * 5]
    assert "deadlock: 0 → 2 → 1 → 0, 3 → 4 → 3" in texts(figure)


def boxes_in_inches(figure):
    figure.canvas.draw()
    (axes,) = figure.axes
    found = [text.get_window_extent() for text in axes.texts if len(text.get_text()) > 2]
    return [box.transformed(figure.dpi_scale_trans.inverted()) for box in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    "size",
    [n if n in (2, 3, 4, 5, 8, 11, 16) else pytest.param(n, marks=pytest.mark.soak)
     for n in range(2, 17)],
)  # fmt: skip
def test_no_text_lies_on_another_or_leaves_the_picture(size):
    graph, cycle = ring(size)
    call = "sendrecv(src=12, dst=13, tag='gradients')"
    long = [(rank, peer, call, "a_file.py, line 1") for rank, peer, _, _ in graph]
    for edges in (graph, long):
        figure = draw_wait_graph(edges, cycle)
        width, height = figure.get_size_inches()
        boxes = boxes_in_inches(figure)
        for index, box in enumerate(boxes):
            assert 0 <= box.x0 < box.x1 <= width
            assert 0 <= box.y0 < box.y1 <= height
            assert not any(box.overlaps(other) for other in boxes[:index])


def test_who_waits_for_anyone_gets_no_arrow_to_everyone():
    graph = [(r, p, "recv_any()", "x.py, line 1") for r in range(8) for p in range(8) if p != r]
    told = arrows(draw_wait_graph(graph, [0, 1]))
    assert [colour for colour, _, _ in told] == [ALARM, ALARM]


def test_of_too_many_ranks_only_those_of_the_circle_are_drawn():
    written = texts(draw_wait_graph(*barrier_but_one(40)))
    assert "0" in written
    assert "2" in written
    assert "1" not in written
    pairs = [(rank, rank ^ 1, "recv()", "x.py, line 1") for rank in range(40)]
    written = texts(draw_wait_graph(pairs, *[[rank, rank + 1] for rank in range(0, 40, 2)]))
    assert "23" in written
    assert "24" not in written
    with pytest.raises(ValueError, match="graph must be among 1 to 24 ranks, got 40"):
        draw_wait_graph(*ring(40))
    with pytest.raises(ValueError, match="got 0"):
        draw_wait_graph([])


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 8, 16])
def test_the_picture_is_small_opaque_and_in_the_courses_colours(size):
    png = draw_wait_graph(*ring(size)).to_png()
    assert len(png) < 40_000
    picture = Image.open(io.BytesIO(png))
    assert picture.convert("RGBA").getextrema()[3] == (255, 255)
    red = np.all(np.array(picture.convert("RGB")) == (0xD5, 0x5E, 0x00), axis=2)
    assert red.sum() > 100 * size


def test_a_deadlock_of_the_simulator_brings_its_graph():
    def shift(comm):
        comm.recv(src=(comm.rank - 1) % comm.size)

    with pytest.raises(DeadlockError) as raised:
        run(shift, workers=3, backend="simulated")
    error = raised.value
    assert [edge[:3] for edge in error.graph] == [
        (0, 2, "recv(src=2)"), (2, 1, "recv(src=1)"), (1, 0, "recv(src=0)")
    ]  # fmt: skip
    assert "recv(src=2)" in texts(draw_wait_graph(error.graph, error.cycle))


CELL = """
import numpy as np
from course_lib import run

def shift(comm):
    received = comm.recv(src=(comm.rank - 1) % comm.size)
    comm.send(received, dst=(comm.rank + 1) % comm.size)

run(shift, workers=3, backend={backend!r})
"""


@pytest.mark.slow
def test_an_uncaught_deadlock_draws_itself_once_above_its_explanation():
    cells = [
        nbformat.v4.new_code_cell(CELL.format(backend=backend).strip())
        for backend in ("simulated", "processes")
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(
        notebook, timeout=60, allow_errors=True,
        resources={"metadata": {"path": str(REPOSITORY)}},
    ).execute()  # fmt: skip
    for number, cell in enumerate(notebook.cells, start=1):
        drawn, told = cell.outputs
        assert drawn.output_type == "display_data"
        assert drawn.data["text/plain"] == "<wait-for graph of ranks 0, 1, 2>"
        assert base64.b64decode(drawn.data["image/png"]).startswith(b"\x89PNG")
        assert told.ename == "DeadlockError"
        text = "\n".join(told.traceback)
        assert f"rank 0 waits in recv(src=2), at cell In[{number}], line 5" in text
        assert "in the cycle 0 -> 2 -> 1 -> 0" in text


def test_outside_of_a_notebook_nothing_is_drawn_or_loaded():
    code = (
        "import sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.run_cell('''from course_lib import run\n"
        "run(lambda comm: comm.recv(src=1 - comm.rank), workers=2, backend=\"simulated\")''')\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "DeadlockError: deadlock: no rank can go on" in done.stdout
    assert "wait-for graph" not in done.stdout
    assert done.stdout.splitlines()[-1] == "False"
