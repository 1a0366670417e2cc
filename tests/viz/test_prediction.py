"""The prediction form: what it says before, after and without a prediction."""

import asyncio
import re

import pytest

from course_lib.viz.prediction import predict


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        *[("6", 6.0), (" 6 ", 6.0), (6, 6.0), (20.0064, 20.0064), ("0", 0.0), ("-3", -3.0)],
        *[("4.5", 4.5), (".5", 0.5), ("0.500", 0.5), ("1e3", 1000.0), ("2.5e-3", 0.0025)],
        *[("1,200", 1200.0), ("1 200", 1200.0), ("1\u00a0200", 1200.0), ("12,345,678", 12345678.0)],
        *[("1 234 567", 1234567.0), ("1,200.5", 1200.5)],
    ],
)
def test_a_number_is_kept(typed: str | float, number: float) -> None:
    guess = predict("How many?", "messages")
    assert guess.commit(typed).startswith("You predict ")
    assert guess.committed == number


def test_the_unit_may_follow() -> None:
    for unit, typed in (("ms", "2 ms"), ("ms", "2ms"), ("% of a step", "2 % of a step")):
        guess = predict("How long?", unit)
        assert guess.commit(typed) == f"You predict 2 {unit}. Now run on."
    assert "is no number" in predict("How long?", "ms").commit("ms")
    assert "is no number" in predict("How long?", "ms").commit("2 s")


def test_what_is_no_number_is_asked_for_again() -> None:
    guess = predict("How many?")
    assert guess.commit("six") == "'six' is no number: write digits, for example 12"
    assert guess.committed is None
    assert guess.commit("6") == "You predict 6. Now run on."


@pytest.mark.parametrize(
    "typed",
    [
        *["4,5", "0,500", "1,00", "1,0000", "1000,000", "1,2.5", "1,200 300"],
        *["1 00", "4 5", "1.200.300"],
    ],
)
def test_what_could_mean_two_numbers_is_asked_for_again(typed: str) -> None:
    guess = predict("How many?", "messages")
    clear = "is not clear: write decimals as 4.5 and thousands as 1000 or 1,000"
    assert guess.commit(typed) == f"{typed!r} {clear}"
    assert guess.committed is None
    assert guess.commit("4.5") == "You predict 4.5 messages. Now run on."


@pytest.mark.parametrize("typed", ["1e400", "-1e400", "9" * 400])
def test_what_is_not_finite_is_asked_for_again(typed: str) -> None:
    guess = predict("How many?", "apples")
    assert guess.commit(typed) == f"{typed!r} is too large: write a finite number"
    assert guess.committed is None


@pytest.mark.parametrize("typed", ["", "six", "inf", "nan", "1e", "0x10", "--1", "6 pears"])
def test_what_has_no_number_in_its_digits_is_no_number(typed: str) -> None:
    guess = predict("How many?", "apples")
    assert "is no number" in guess.commit(typed)
    assert guess.committed is None


def test_the_first_prediction_counts() -> None:
    guess = predict("How many?", "bytes")
    guess.commit("500")
    guess.commit("528")
    assert guess.compare(528) == "It is 528 bytes; you said 500: not what was predicted."


def test_comparison_with_and_without_a_prediction() -> None:
    guess = predict("How many?", "messages")
    assert guess.compare(6) == "It is 6 messages. (No prediction was made.)"
    guess.commit("6")
    assert guess.compare(6) == "It is 6 messages; you said 6: as predicted."


@pytest.mark.parametrize(
    ("said", "actual", "verdict"),
    [
        *[
            (3.25, 3.16, "nearly"),
            (2, 1.94, "nearly"),
            (515, 528, "nearly"),
            (-95, -97.5, "nearly"),
        ],
        *[(95, 100, "nearly"), (105, 100, "nearly"), (94.9, 100, "not"), (105.1, 100, "not")],
        *[(3, 3.16, "not"), (3.4, 3.16, "not"), (0.001, 0.0, "not"), (-3.25, 3.25, "not")],
        *[(6.1, 6, "not"), (19.5, 19, "not"), (20.5, 20, "nearly"), (19.5, 19.5, "as")],
        *[(0.333333, 1 / 3, "as"), (528, 528, "as"), (0, 0.0, "as"), (0, 1e-9, "not")],
    ],
)
def test_nearly_is_within_five_percent_and_no_small_count(said, actual, verdict) -> None:
    guess = predict("How many?", "seconds")
    guess.commit(said)
    told = str(guess.compare(actual))
    endings = {"nearly": told.startswith("Nearly: you said "), "as": ": as predicted." in told,
               "not": ": not what was predicted." in told}  # fmt: skip
    assert [name for name, is_so in endings.items() if is_so] == [verdict], told


def test_nearly_says_both_numbers() -> None:
    guess = predict("How many gradients a second?", "gradients")
    guess.commit("3.25")
    assert guess.compare(3.16) == "Nearly: you said 3.25, it is 3.16 gradients."


def test_it_shows_a_form_whose_text_is_the_same_in_every_run() -> None:
    texts = {predict("How many?", "messages")._repr_mimebundle_()["text/plain"] for _ in range(2)}
    assert texts == {"Your prediction: How many? ____ messages"}
    assert "application/vnd.jupyter.widget-view+json" in predict("How many?")._repr_mimebundle_()


def test_pressing_the_button_commits_and_closes_the_form() -> None:
    guess = predict("How many?", "messages")
    guess._repr_mimebundle_()
    box, button, said = guess._form.children[1].children
    box.value = "no idea"
    button.click()
    assert not box.disabled
    assert "is no number" in said.value
    box.value = "6"
    button.click()
    assert box.disabled
    assert button.disabled
    assert said.value == "You predict 6 messages. Now run on."


def test_the_enter_key_commits_as_the_button_does() -> None:
    guess = predict("How many?")
    guess._repr_mimebundle_()
    box, button, said = guess._form.children[1].children
    box.value = "1"

    async def press_keys() -> None:
        box._handle_custom_msg({"event": "something else"}, [])
        await asyncio.sleep(0.3)
        assert guess.committed is None
        box._handle_custom_msg({"event": "submit"}, [])
        box.value = "12"  # as it comes from a browser: after the key that ends it
        while guess.committed is None:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(press_keys(), 20))
    assert guess.committed == 12
    assert box.disabled
    assert button.disabled
    assert said.value == "You predict 12. Now run on."


@pytest.mark.parametrize("bad", [{"question": 5}, {"question": "x", "unit": None}])
def test_texts_must_be_texts(bad: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="must be a str"):
        predict(**bad)  # type: ignore[arg-type]


def test_a_comparison_is_a_sentence_wherever_it_is_printed_or_shown() -> None:
    guess = predict("How many?", "messages")
    guess.commit("12")
    came_out = guess.compare(6)
    assert (
        str(came_out) == f"{came_out}" == "It is 6 messages; you said 12: not what was predicted."
    )
    assert repr(came_out) == str(came_out)
    assert (came_out.said, came_out.came_out) == (12.0, 6)


def test_the_bars_of_a_comparison_are_as_long_as_its_numbers() -> None:
    guess = predict("How many?", "<messages>")
    guess.commit("12")
    drawn = guess.compare(6)._repr_html_()
    wide = [float(found) for found in re.findall(r"width: ([\d.]+)em", drawn)]
    assert wide[0] == 2 * wide[1] > 0
    assert "6 &lt;messages&gt;" in drawn
    assert "<messages>" not in drawn
    assert "#" not in drawn, "no colour of its own: it follows the theme"


@pytest.mark.parametrize("actual", [0, -3.0, 1e300])
def test_any_number_can_be_drawn(actual: float) -> None:
    guess = predict("How many?")
    guess.commit("0")
    assert "it is" in str(guess.compare(actual)._repr_html_())


def test_without_a_prediction_the_answer_is_folded_away() -> None:
    came_out = predict("How many?", "<messages>").compare(6)
    assert repr(came_out) == "(no prediction was made)"
    seen, _, folded = came_out._repr_html_().partition("</summary>")
    assert seen.startswith("<details><summary")
    assert re.sub("<.*?>", "", seen) == "no prediction was made: the answer", "one short line"
    assert folded == "It is 6 &lt;messages&gt;.</details>"
