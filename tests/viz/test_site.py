"""The site: one lecture, its exercises and the front page, made as ``make site`` makes all."""

import nbformat
import pytest
from docutils.frontend import get_default_settings
from docutils.utils import new_document

from authoring.build import ROOT
from authoring.scripts import AuthoringError
from authoring.slides import write_decks
from authoring.website.build import pages_of, replace_by, write_site
from authoring.website.fragments import FragmentParser
from authoring.website.notebooks import links_from
from course_lib.collectives import ALLREDUCES
from course_lib.viz.animation.pages import slot_of
from course_lib.watch import watch_collective
from tests.viz.site_pages import broken_links, look_at

pytestmark = [pytest.mark.slow]

LECTURE = "00_start_here"


def live(path):
    """Return a lecture with one live picture: the first still's place takes a ring."""
    notebook = nbformat.read(path, as_version=4)
    ring = slot_of(watch_collective(ALLREDUCES["ring"], length=64).player("ring"))
    pictures = (out for cell in notebook.cells for out in cell.get("outputs", ())
                if "image/png" in out.get("data", ()))  # fmt: skip
    next(pictures).data = {"text/html": ring, "text/plain": "a ring"}
    return notebook


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "site"
    write_site(folder, [ROOT / "notebooks" / f"{LECTURE}.ipynb"], live=live, whole=False)
    return folder


def read(site, page):
    return (site / page).read_text(encoding="utf-8")


def test_a_lecture_has_its_cells_its_live_picture_and_its_checks_folded(site):
    text = read(site, f"lectures/{LECTURE}.html")
    notebook = nbformat.read(ROOT / "notebooks" / f"{LECTURE}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert f'id="cell-{cell.id}"' in text
    assert text.count('class="lm-slot"') == 1
    assert text.count("_static/assets/pictures.js") == 1  # shared, not in the page
    assert "<details class='folded'><summary>How we know" in text
    assert f'<a href="../exercises/{LECTURE}.html">' in text
    assert "widget-view" not in text


def test_the_front_page_has_a_ring_and_a_row_for_each_lecture(site):
    text = read(site, "index.html")
    assert text.count('class="lm-slot"') == 1
    assert text.count(f'<td><a href="lectures/{LECTURE}.html">') == 1
    assert "run a function of your own on four real workers" in text


def test_texts_and_exercises_and_claims_are_there_and_the_search_knows_their_words(site):
    found = read(site, "searchindex.js")
    for page in (
        "exercises/00_start_here", "reading/glossary", "claims/ledger", "reading/changelog",
        "claims/90_claims_of_source_0", "lecturers/readme", "lecturers/00",
    ):  # fmt: skip
        assert (site / f"{page}.html").is_file()
        assert page in found
    assert "allgath" in found or "rendezv" in found  # stems of words of the glossary
    assert "BEGIN SOLUTION" not in read(site, "exercises/00_start_here.html")


def test_no_link_leads_nowhere(site):
    # The reference and the slides are left out here.
    left_out = ("reference/", "../slides/", "slides/")
    assert [one for one in broken_links(site) if not one[1].startswith(left_out)] == []


def test_a_link_that_leads_nowhere_would_be_found(site, tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="b.html"></a><a href="#x"></a><a href="#y">'
    )
    assert sorted(broken_links(tmp_path)) == [("a.html", "#y"), ("a.html", "b.html")]


def test_a_fragment_is_parted_at_its_headings_but_not_in_folded_text():
    document = new_document("page", get_default_settings())
    text = ("<h1>All <code>a_b</code> &amp; more</h1><p>one</p><h1>Part 1</h1><h2>In it</h2>"
            "<details><summary>s</summary><h2>hidden</h2></details><h1>Part 2</h1>")  # fmt: skip
    FragmentParser().parse(text, document)
    (page,) = document.children
    first, second = (child for child in page.children if child.tagname == "section")
    assert page.next_node().astext() == "All a_b & more"
    assert [page["ids"], first["ids"], second["ids"]] == [["all-a_b--more"], ["part-1"], ["part-2"]]
    (inner,) = (child for child in first.children if child.tagname == "section")
    assert inner["ids"] == ["in-it"]
    assert "<h2>hidden</h2>" in inner.astext()


def test_links_lead_from_page_to_page_and_other_files_are_words():
    pages = pages_of(ROOT, [ROOT / "notebooks" / f"{LECTURE}.ipynb"])
    link = links_from(f"notebooks/{LECTURE}.ipynb", pages)
    assert link(f"../exercises/{LECTURE}.ipynb#x") == f"../exercises/{LECTURE}.html#x"
    assert link("90_claims_of_source_0.ipynb") == "../claims/90_claims_of_source_0.html"
    assert link("../docs/comm.md") == "../reading/comm.html"
    assert link("../docs/lecturer/00.md") == "../lecturers/00.html"
    assert link("../course_lib/__init__.py") is None
    assert link("#here") == f"{LECTURE}.html#here"


def test_a_folder_with_other_files_is_not_emptied(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="expected a new folder or an old site"):
        write_site(tmp_path, [], live=live)
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(AuthoringError, match="is no index of slides: name another folder"):
        write_decks(tmp_path, [])
    assert (tmp_path / "index.html").read_text() == "mine"


def test_a_new_site_leaves_what_no_site_has_beside_it(tmp_path):
    new, folder = tmp_path / "new", tmp_path / "site"
    for place in (new / "lectures", folder / "lectures", folder / ".git"):
        place.mkdir(parents=True)
    for file in (new / "index.html", new / "lectures" / "00.html"):
        file.write_text("new")
    for file in (folder / "index.html", folder / "lectures" / "99.html", folder / ".git" / "HEAD"):
        file.write_text("old")
    replace_by(new, folder)
    found = {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*.*l")}
    assert found == {"index.html": "new", "lectures/00.html": "new"}
    assert (folder / ".git" / "HEAD").read_text() == "old"


@pytest.mark.browser
def test_a_page_moves_offline_and_the_search_finds(site, loaded):
    page, complaints = loaded(site / "lectures" / f"{LECTURE}.html", 390)
    assert look_at(page, complaints) == (1, {})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Contents").click()
    assert page.get_by_role("navigation", name="Contents").is_visible()
    page.set_viewport_size({"width": 1300, "height": 800})
    page.get_by_label("Search the course").fill("rendezvous")
    page.keyboard.press("Enter")
    page.locator("#search-results li a", has_text="Glossary").first.wait_for()  # one by one
    assert "Glossary" in page.locator("#search-results").inner_text()
    assert complaints == []
