"""Decks of slides in a real browser: no kernel, no network, nothing cut off, and pictures move."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from authoring.build import ROOT
from authoring.live import live_notebook, run_live
from authoring.slides import deck_of, write_assets
from tests.viz.site_pages import violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LECTURES = sorted(path.stem for path in (ROOT / "notebooks").glob("[01]*.ipynb"))
LEAST_CODE_PX, LEAST_TEXT_PX, LEAST_LABEL_PX = 19, 24, 16

LONG = "\n".join(f"line_{i} = {i}" for i in range(40))
SHELL = [
    f"#SBATCH --{'option-' * 11}end",
    'HOST0=$(scontrol show hostnames "$NODES" | head -n 1)',
    "srun",
]
CELLS = [
    ("slide", "# A deck\n\nThe sum of $P$ vectors, here\n$1 + 2\n+ 3$:\n\n$$\\sum_k g_k$$\n\n"
              "[next](05_deck.ipynb), [none](x.ipynb)"),
    ("notes", "<details><summary>For lecturers: 2 minutes</summary>\n\nSay *this*: $2(P-1)$.\n"
              "</details>"),
    (["set-up"], "# Set-up\nfrom course_lib.viz import explore, player, predict\n"
                 "from course_lib.collectives import ALLREDUCES\n"
                 "from course_lib.watch import watch_collective\n"
                 "guess = predict('How many?', 'bits')"),
    (["how-we-know"], "# How we know\nraise AssertionError('not run')"),
    ([], "guess"),
    ([], "trace = watch_collective(ALLREDUCES['ring'], length=64)\ntrace.player('ring')"),
    ([], "guess.compare(6)"),
    ("-", "Six, because."),
    ("slide", "## Explorer"),
    ([], "explore(lambda n: {'server': 2.0 * n, 'ring': 2.0}, n=[2, 4, 8])"),
    ([], "from course_lib.viz import table\ntable({'ring': {'rounds': 6}})"),
    ("slide", "## A shell\n\n```sh\n" + "\n".join(SHELL) + "\n```"),
    ("slide", "## A long listing"),
    ([], LONG),
    ([], "def long(comm):\n" + "\n".join(f"    call_{i}()" for i in range(30))),
    ([], f"x = '{'a line as long as the linter lets through ':x<95}'"),
]  # fmt: skip

# What each page shows beyond its edges, and how small its type is; the pictures have checks of
# their own.
_LAYOUT = """() => [...document.querySelectorAll(".reveal section.page")].map((page, i) => {
  const was = page.style.cssText, parent = page.parentElement, above = parent.style.cssText;
  const all = ";display: block !important";
  parent.style.cssText += all; page.style.cssText += all; page.hidden = false;
  page.querySelectorAll("details").forEach((one) => { one.open = true; });
  const size = (node) => parseFloat(getComputedStyle(node).fontSize);
  const seen = {
    page: i, text: page.innerText.slice(0, 60),
    over: Math.max(page.scrollHeight - 720, page.scrollWidth - 1280, 0),
    tooMuch: page.dataset.tooMuch ?? "",
    code: Math.min(99, ...[...page.querySelectorAll("pre")].map(size)),
    shown: Math.min(99, ...[...page.querySelectorAll("[data-kind=html]")].map(size)),
    prose: Math.min(99, ...[...page.querySelectorAll("p:not(.again), li")]
      .filter((one) => !one.closest("[data-kind=html]")).map(size)),
    raw: /\\$[^ ]/.test([...page.querySelectorAll("p, li")].map((p) => p.innerText).join(" ")),
  };
  page.style.cssText = was; parent.style.cssText = above;
  return seen;
})"""
_DRAWN = """() => [...deck.getCurrentSlide().querySelectorAll(".lm-slot")]
  .every((slot) => slot.dataset.drawn)"""
_GO = "(i) => { const at = deck.getIndices(deck.getSlides()[i]); deck.slide(at.h, at.v); }"
# How far pictures reach beyond their frame, and what is written in them beyond the slide.
_PICTURES = """() => [...deck.getCurrentSlide().querySelectorAll(".frame > *")].map((slot) => {
  const own = slot.getBoundingClientRect(), frame = slot.parentElement.getBoundingClientRect();
  const beyond = [...slot.querySelectorAll("text, button, input, .lm-caption")]
    .map((one) => one.getBoundingClientRect())
    .filter((r) => r.width && (r.right > 1281 || r.bottom > 721 || r.left < -1));
  return [Math.max(0, own.bottom - frame.bottom - 1, own.right - frame.right - 1), beyond.length];
})"""
# The smallest type in the pictures of a slide, in pixels of the slide.
_LEAST_LABEL = """() => Math.min(99, ...[...deck.getCurrentSlide().querySelectorAll(".lm-root *")]
  .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".lm-unseen"))
  .map((one) => parseFloat(getComputedStyle(one).fontSize) * one.closest(".lm-slot").times))"""
_PLAYS = "() => document.querySelector('.present .lm-player').player.isPlaying()"


def in_layout(page):
    page.wait_for_selector("body[data-ready]")
    found = page.evaluate(_LAYOUT)
    assert found
    for one in found:
        assert one["over"] == 0, one
        assert not one["tooMuch"], one
        assert one["code"] >= LEAST_CODE_PX, one
        assert one["shown"] >= LEAST_CODE_PX, one  # what a cell gave cannot be parted
        assert one["prose"] >= LEAST_TEXT_PX, one
        assert not one["raw"], one
    return found


def go(page, i):
    page.evaluate(_GO, i)
    page.wait_for_function(_DRAWN)
    assert page.evaluate(_PICTURES) in ([], [[0, 0]])
    assert page.evaluate(_LEAST_LABEL) > LEAST_LABEL_PX - 0.01


@pytest.fixture(scope="module")
def deck(tmp_path_factory):
    """A deck of its own: run in a kernel, written, and closed there."""
    folder = tmp_path_factory.mktemp("deck")
    cells = [
        new_markdown_cell(text, metadata={"slideshow": {"slide_type": kind}})
        if isinstance(kind, str)
        else new_code_cell(text, metadata={"tags": kind})
        for kind, text in CELLS
    ]
    notebook = new_notebook(cells=cells)
    run_live(notebook, folder / "deck.ipynb")
    write_assets(folder / "assets")
    (folder / "deck.html").write_text(deck_of(notebook, ["05_deck"]), encoding="utf-8")
    return folder / "deck.html"


@pytest.fixture
def opened_deck(loaded, deck):
    page, complaints = loaded(deck, 1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.wait_for_selector("body[data-ready]")
    yield page
    assert complaints == []


def test_a_deck_shows_its_slides_and_nothing_reaches_over_their_edges(opened_deck):
    page = opened_deck
    pages = in_layout(page)
    assert page.locator(".page >> text=A deck").first.is_visible()
    for i in range(len(pages)):
        go(page, i)
    shown = "\n".join(one["text"] for one in pages)
    assert "Set-up" not in shown
    assert "How we know" not in shown
    listing = [one for one in pages if "A long listing" in one["text"]]
    assert len(listing) >= 3  # forty lines are more than fit, and the last cell has its own slide
    lines = page.locator(".page .line").evaluate_all(
        "(all) => all.map((n) => n.textContent.trim())"
    )
    assert [line for line in lines if line.startswith("line_")] == LONG.splitlines()
    assert [line for line in lines if line in SHELL] == SHELL
    assert sum("A shell" in one["text"] for one in pages) == 1
    links = page.locator(".page a:not(.slide-number a)").evaluate_all(
        "(all) => all.map((a) => a.getAttribute('href'))"
    )
    assert links == ["05_deck.html"]
    assert page.locator(".page > p .katex").count() == 3
    assert page.locator(".page ul").count() == 0
    assert page.locator(".page th").all_inner_texts() == ["rounds", "ring"]


def test_what_a_listing_is_in_the_middle_of_is_repeated(opened_deck):
    parts = opened_deck.evaluate(
        """() => [...document.querySelectorAll(".page")].map((page) => page.innerText)
          .filter((text) => text.includes("call_"))"""
    )
    assert len(parts) > 1
    assert all("def long(comm):" in part for part in parts)
    assert ["…" in part for part in parts] == [False] + [True] * (len(parts) - 1)


def test_what_would_reach_over_the_edge_is_seen(opened_deck):
    page = opened_deck
    page.evaluate(
        "document.querySelector('.page').insertAdjacentHTML('beforeend', '<p>line</p>'.repeat(40))"
    )
    assert page.evaluate(_LAYOUT)[0]["over"] > 0


def test_a_player_moves_on_its_slide_and_keeps_its_keys(opened_deck):
    page = opened_deck
    n = page.evaluate("deck.getSlides().findIndex((s) => s.querySelector('.lm-slot'))")
    go(page, n)
    player = page.locator(".present .lm-player")
    here = "document.querySelector('.present .lm-player').player"
    assert page.evaluate(f"{here}.time()") == 0
    player.get_by_label("play", exact=True).click()
    page.wait_for_function(f"() => {here}.time() > 0")
    player.get_by_label("pause", exact=True).click()
    before = page.evaluate(f"{here}.time()"), page.evaluate("deck.getSlidePastCount()")
    player.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"() => {here}.time() > 0")
    assert page.evaluate("deck.getSlidePastCount()") == before[1]
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("deck.getSlidePastCount()") == before[1] + 1


def test_a_key_plays_the_picture_wherever_the_focus_is(opened_deck):
    page = opened_deck
    n = page.evaluate("deck.getSlides().findIndex((s) => s.querySelector('.lm-slot'))")
    go(page, n)
    assert not page.locator(".present .lm-enlarge").is_visible()  # a slide has no larger type
    page.keyboard.press("m")
    page.wait_for_function(_PLAYS)
    page.locator(".present .lm-bar button").first.focus()
    page.keyboard.press("m")
    assert not page.evaluate(_PLAYS)


def test_a_key_opens_and_folds_the_answer_and_turning_on_opens_it_first(opened_deck):
    page = opened_deck
    n = page.evaluate("deck.getSlides().findIndex((s) => s.querySelector('.lm-answer'))")
    go(page, n)
    seen = []
    for key in ("a", "a", "a", "a", "PageDown", "PageDown"):
        page.keyboard.press(key)
        is_open = page.evaluate(f"deck.getSlides()[{n}].querySelector('.lm-answer').open")
        seen.append((is_open, page.evaluate("deck.getSlidePastCount()") - n))
    assert seen == [*[(True, 0), (False, 0)] * 2, (True, 0), (True, 1)]


@pytest.mark.parametrize("key", ["PageDown", "ArrowRight"])
def test_a_clicker_turns_the_page_wherever_the_mouse_was_last(opened_deck, key):
    page = opened_deck
    n = page.evaluate("deck.getSlides().findIndex((s) => s.querySelector('.lm-slot'))")
    answer = "<details><summary>the answer</summary>4</details>"
    for pressed in ("[aria-label=play]", "input[type=range]", ".lm-timeline", "summary"):
        go(page, n)
        page.evaluate(
            "(html) => deck.getCurrentSlide().insertAdjacentHTML('beforeend', html)", answer
        )
        page.locator(".present").locator(pressed).first.click()
        page.keyboard.press(key)
        assert page.evaluate("deck.getSlidePastCount()") == n + 1, pressed


def test_the_lanes_are_dragged_where_the_pointer_is_on_a_slide_of_another_size(opened_deck):
    page = opened_deck
    page.set_viewport_size({"width": 800, "height": 450})
    n = page.evaluate("deck.getSlides().findIndex((s) => s.querySelector('.lm-slot'))")
    page.evaluate(_GO, n)
    page.wait_for_function(_DRAWN)
    lanes = page.locator(".present .lm-timeline").bounding_box()
    x, y = lanes["x"] + 0.6 * lanes["width"], lanes["y"] + 0.3 * lanes["height"]
    page.mouse.click(x, y)
    head = page.locator(".present .lm-head").bounding_box()
    assert head["x"] + head["width"] / 2 == pytest.approx(x, abs=2)


def test_an_explorer_answers_without_a_kernel(opened_deck):
    page = opened_deck
    n = page.evaluate("deck.getSlides().findIndex((s) => s.innerText.startsWith('Explorer'))")
    go(page, n)
    chart = page.locator(".present .lm-explore")
    before = chart.inner_html()
    slider = chart.get_by_label("n", exact=True).locator("input")
    slider.focus()
    page.keyboard.press("End")
    assert page.evaluate("document.querySelector('.present .lm-explore').explore.here()") == ["8"]
    assert chart.inner_html() != before


def test_the_lecturers_view_has_the_notes_with_their_formulas(opened_deck):
    page = opened_deck
    page.evaluate("deck.slide(0)")
    with page.expect_popup() as opened:
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("s")
    speaker = opened.value
    speaker.wait_for_function("() => document.body.innerText.includes('For lecturers: 2 minutes')")
    notes = speaker.locator(".speaker-controls-notes")
    assert "Say this:" in notes.inner_text()
    assert notes.locator("math").count() == 1
    n = page.evaluate("deck.getSlides().findIndex((s) => s.querySelector('.lm-slot'))")
    for _ in range(n):
        past = page.evaluate("deck.getSlidePastCount()")
        speaker.keyboard.press("PageDown")
        page.wait_for_function(f"() => deck.getSlidePastCount() === {past + 1}")
    page.wait_for_function(_DRAWN)
    speaker.keyboard.press("m")
    page.wait_for_function(_PLAYS)
    speaker.close()


@pytest.mark.parametrize("name", ["02_map_reduce", "05_allreduce"])
def test_every_cell_of_a_lecture_fits_its_slides(loaded, tmp_path, name):
    """As committed: where a deck has moving pictures, this has their stills."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    write_assets(tmp_path / "assets")
    (tmp_path / "deck.html").write_text(deck_of(notebook, LECTURES), encoding="utf-8")
    page, complaints = loaded(tmp_path / "deck.html", 1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    pages = in_layout(page)
    slides = [
        c for c in notebook.cells if c.metadata.get("slideshow", {}).get("slide_type") == "slide"
    ]
    assert len(pages) >= len(slides)
    assert page.evaluate("deck.getHorizontalSlides().length") == len(slides)
    shown = page.locator(".page .line").evaluate_all("(all) => all.map((n) => n.textContent)")
    shown = {line.strip() for line in shown}
    for cell in notebook.cells:
        tags = set(cell.metadata.get("tags", []))
        is_form = "predict(" in cell.source or ".compare(" in cell.source
        if cell.cell_type == "code" and not {"set-up", "how-we-know"} & tags and not is_form:
            lines = cell.source.replace("  # fmt: skip", "").splitlines()
            assert len(lines) == 1 or {line.strip() for line in lines} <= shown, cell.source
    assert complaints == []


@pytest.mark.every_lecture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", LECTURES)
def test_every_slide_of_a_lecture_shows_all_of_its_pictures(loaded, tmp_path, screenshot, name):
    notebook = live_notebook(ROOT / "notebooks" / f"{name}.ipynb")
    write_assets(tmp_path / "assets")
    (tmp_path / "deck.html").write_text(deck_of(notebook, LECTURES), encoding="utf-8")
    page, complaints = loaded(tmp_path / "deck.html", 1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    for i in range(len(in_layout(page))):
        go(page, i)
        screenshot(page, f"slides/{name}-{i:03}")
        assert i % 8 or violations(page) == []
    assert page.locator(".lm-slot").count() >= 3
    assert page.locator(".page aside.notes").count() >= 3
    assert complaints == []
