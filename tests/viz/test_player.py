"""The player as a Python object: what it carries, and what a notebook keeps of it."""

import base64
import json
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from course_lib import run
from course_lib.trace.trace import Trace
from course_lib.viz import Player, export_page, filmstrip, loss_curve, player, to_html
from course_lib.viz.animation.script import FIRST, LAST, PARTS, read_css, read_esm
from tests.nbval_runs import nbval
from tests.viz.traces import accident, map_reduce, ring

REPOSITORY = Path(__file__).parents[2]
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def test_every_script_file_is_short_and_imports_nothing():
    files = sorted((REPOSITORY / "course_lib/viz/animation/js").glob("*.js"))
    listed = {part for parts in PARTS.values() for part in parts}
    assert {file.stem for file in files} == {*FIRST, *LAST, *listed}
    for file in files:
        assert len(file.read_bytes()) <= 20_000, file.name
    esm = read_esm(*PARTS)
    assert "import " not in esm
    assert "http" not in esm.replace("http://www.w3.org/2000/svg", "")
    assert esm.count("export default { render };") == 1
    assert "</script" not in esm.lower()
    assert "</style" not in read_css(*PARTS).lower()


def test_a_player_says_the_same_whenever_it_is_made():
    texts = {repr(player(ring(4), title="sum")) for _ in range(2)}
    assert texts == {"Player(4 ranks, ring: 24 messages, 393,216 bytes, virtual time)"}


def test_a_player_shows_a_widget_a_picture_and_a_text():
    data, _ = player(ring(4))._repr_mimebundle_()
    assert set(data) == {WIDGET_VIEW, "image/png", "text/plain"}
    assert data["text/plain"] == repr(player(ring(4)))
    png = base64.b64decode(data["image/png"])
    assert png.startswith(b"\x89PNG")
    assert len(png) <= 60_000
    again, _ = player(ring(4))._repr_mimebundle_()
    assert again["image/png"] == data["image/png"]


def test_a_tag_with_half_a_character_is_shown_escaped_and_no_file_is_lost(tmp_path):
    def exchange(comm):
        comm.sendrecv(np.ones(2), 1 - comm.rank, 1 - comm.rank, tag="\ud800")

    shown = player(run(exchange, workers=2, backend="simulated").trace)
    assert "\\ud800" in str(shown.scene)
    assert shown.still().startswith(b"\x89PNG")
    page = tmp_path / "page.html"
    page.write_text("another page")
    assert "<html" in shown.save(page).read_text(encoding="utf-8")


def test_fewer_moments_make_a_smaller_picture():
    sizes = [
        len(player(ring(4), moments=moments)._repr_mimebundle_()[0]["image/png"])
        for moments in (1, 3, 6)
    ]
    assert sizes == sorted(set(sizes))


def test_the_widget_knows_curves_title_roles_and_switches():
    trace = map_reduce(4, 5)
    widget = player(
        trace, "star", {"loss": loss_curve(trace)}, "five steps",
        center=1, roles={1: "combiner"}, even_steps=True, large=True,
    )  # fmt: skip
    assert isinstance(widget, Player)
    assert widget.scene["roles"] == ["", "combiner", "", ""]
    assert (widget.title, widget.even_steps, widget.large) == ("five steps", True, True)
    (curve,) = widget.curves
    assert curve["name"] == "loss"
    ends_s = [tick * widget.scene["tick"] for tick in curve["t"]]
    assert ends_s == pytest.approx([t for t, _ in loss_curve(trace)], abs=widget.scene["tick"])


def test_a_long_curve_keeps_its_ends_and_400_points():
    points = [(k / 10_000, 1 / (k + 1)) for k in range(5001)]
    (curve,) = player(ring(4), curves={"loss": points}).curves
    assert len(curve["t"]) <= 401
    assert (curve["v"][0], curve["v"][-1]) == (1.0, float(f"{1 / 5001:.5g}"))


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"layout": "torus"}, ValueError, "layout must be one of .* got 'torus'"),
        ({"curves": [1.0]}, TypeError, "curves must be a dict like"),
        ({"roles": {9: "server"}}, ValueError, "roles must name ranks from 0 to 3, got 9"),
        ({"center": -1}, ValueError, "center must be a rank from 0 to 3, got -1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(arguments, error, said):
    with pytest.raises(error, match=said):
        player(ring(4), **arguments)


def test_a_thousand_ranks_do_not_fit_on_a_stage():
    with pytest.raises(ValueError, match="at most 128 ranks"):
        player(Trace("simulated", "virtual", 1000))


@pytest.mark.parametrize("draw", [player, filmstrip, lambda trace: export_page(trace, "x.html")])
def test_what_is_no_trace_is_refused_by_its_kind(draw):
    with pytest.raises(TypeError, match="trace must be a Trace, got NoneType"):
        draw(None)


def test_no_label_can_end_the_script_of_a_page(tmp_path):
    page = export_page(accident(), tmp_path / "page.html", title="<b>&</b> </script>")
    text = page.read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "<title>&lt;b&gt;" in text
    data = text.split('<script type="application/json">')[1].split("</script>")[0]
    assert json.loads(data)["scene"]["labels"][0][0] == "a </script>"


def test_a_page_is_the_same_to_the_byte_and_asks_for_nothing():
    page = to_html(player(ring(4)))
    assert page == to_html(player(ring(4)))
    assert not any(word in page for word in ("src=", "href=", "@import", "fetch("))


@pytest.mark.slow
def test_a_committed_cell_without_its_widget_view_passes_nbval(tmp_path):
    """The generator drops the view; text is compared, the picture is not."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell(
            "from course_lib.viz import player\nfrom tests.viz.traces import ring"
        ),
        nbformat.v4.new_code_cell("player(ring(4))"),
        nbformat.v4.new_code_cell("ring(4)"),
        nbformat.v4.new_code_cell("player(ring(4))"),
    ]
    NotebookClient(
        notebook, timeout=60, resources={"metadata": {"path": str(REPOSITORY)}}
    ).execute()
    for cell in (notebook.cells[1], notebook.cells[3]):
        shown = cell.outputs[0].data
        assert shown.pop(WIDGET_VIEW)
        assert set(shown) == {"text/plain", "image/png"}
    shown["text/plain"] = shown["text/plain"].replace("24 messages", "25 messages")
    del notebook.metadata["widgets"]
    path = tmp_path / "player.ipynb"
    nbformat.write(notebook, path)
    ended = nbval(path, strict=True)
    assert "1 failed, 3 passed" in ended.stdout
    assert "25 messages" in ended.stdout
