"""docs/comm.md says what ``comm`` really can do."""

from docs import comm_page


def test_page_is_what_the_docstrings_say_now() -> None:
    assert comm_page.PAGE.read_text(encoding="utf-8") == comm_page.page(), (
        "run: python -m docs.comm_page"
    )


def test_page_has_all_that_a_communicator_has() -> None:
    grouped = {name for names in comm_page.GROUPS.values() for name in names}
    assert grouped | set(comm_page.ATTRIBUTES) == comm_page.public_names()


def test_a_changed_argument_would_be_seen(monkeypatch) -> None:
    def barrier(self, patience_s=1.0):
        """Wait until every rank has called ``barrier``. It does not count as a message."""

    before = comm_page.page()
    monkeypatch.setattr(comm_page.Communicator, "barrier", barrier)
    assert "### `comm.barrier(patience_s=1.0)`" in comm_page.page()
    assert "### `comm.barrier()`" in before
