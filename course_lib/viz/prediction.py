"""A small form in which a learner commits to a number before the cell below is run."""

import asyncio
import html
import math
import re
from typing import Any

__all__ = ["Comparison", "Prediction", "predict"]

_TEXT_COMES_S = 0.2
_BAR_EM = 18
_NONE_MADE = "(no prediction was made)"
_NEAR = 0.05  # of what came out
_FEW = 20  # a count below it is right or wrong: near to 6 is 5 or 7, and that is another answer
_PALE, _FULL = "background: transparent", "background: currentColor"
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}((,\d{3})+|(\s\d{3})+)(\.\d*)?")


class Comparison(str):
    """The sentence that compares a prediction with what came out; a notebook draws it as two bars.

    Where no prediction was made, a notebook keeps the answer folded: it is not to be read by those
    who still think.

    Parameters
    ----------
    sentence : str
        What it says.
    said, came_out : float or None
        The two numbers; ``said`` is None where no prediction was made.
    unit : str, default: ""
        What is counted.
    """

    said: float | None
    came_out: float
    unit: str

    def __new__(
        cls, sentence: str, said: float | None, came_out: float, unit: str = ""
    ) -> "Comparison":
        """Make the sentence, and keep the numbers beside it."""
        made = super().__new__(cls, sentence)
        made.said, made.came_out, made.unit = said, came_out, unit
        return made

    def __repr__(self) -> str:
        """Say the sentence; without a prediction no more than that there is none."""
        return _NONE_MADE if self.said is None else str(self)

    def _repr_html_(self) -> str:
        """Draw both numbers to one scale; without a prediction fold the one away."""
        if self.said is None:
            answer = html.escape(_with_unit(self.came_out, self.unit))
            return (
                "<details><summary><small>no prediction was made: the answer</small></summary>"
                f"It is {answer}.</details>"
            )
        longest = max(abs(self.said), abs(self.came_out)) or 1.0
        rows = []
        for name, value, fill in (("you said", self.said, _PALE), ("it is", self.came_out, _FULL)):
            wide = f"{abs(value) / longest * _BAR_EM:.2f}em"
            text = html.escape(_with_unit(value, self.unit))
            rows.append(
                f'<tr><th scope="row" style="text-align: right">{name}</th>'
                f'<td style="text-align: left"><span style="display: inline-block; height: 0.9em; '
                f"width: {wide}; margin-right: 0.6em; vertical-align: middle; "
                f'border: 1px solid currentColor; {fill}"></span>{text}</td></tr>'
            )
        sentence = html.escape(self)
        return f"<div>{sentence}</div>\n<table>\n{chr(10).join(rows)}\n</table>"


class Prediction:
    """A question with a number as its answer, and later the comparison with what came out.

    Attributes
    ----------
    question : str
        What is to be predicted.
    unit : str
        What is counted, in the plural: ``"messages"``.
    committed : float or None
        The learner's number, None until the button was pressed.
    """

    def __init__(self, question: str, unit: str = "") -> None:
        for name, value in (("question", question), ("unit", unit)):
            if not isinstance(value, str):
                raise TypeError(f"{name} must be a str, got {value!r} ({type(value).__name__})")
        self.question = question
        self.unit = unit
        self.committed: float | None = None
        self._form: Any = None

    def commit(self, text: str | float) -> str:
        """Keep a prediction, and answer with what the form then says.

        The first number counts: a second one does not change it. What is no finite number, or
        could mean two numbers, is asked for again.

        Parameters
        ----------
        text : str or float
            What the learner typed. The decimal sign is a point. A comma or a space may part
            thousands, in groups of three: "4.5", "1,200", "1 200" and "1e3" are numbers, "4,5" is
            asked for again. The unit may follow.

        Returns
        -------
        str
            One sentence.
        """
        if self.committed is None:
            number = _read(str(text).strip().removesuffix(self.unit or " ").rstrip())
            if isinstance(number, str):
                return number
            self.committed = number
        return f"You predict {_with_unit(self.committed, self.unit)}. Now run on."

    def compare(self, actual: float) -> Comparison:
        """Say how the prediction and the measured number compare.

        As predicted is what is written alike. Nearly is what lies within 5 % of what came out;
        not of a whole number below 20, which is counted: that is as predicted or not.

        Parameters
        ----------
        actual : float
            What the run gave.

        Returns
        -------
        Comparison
            One sentence, a ``str``; as a cell's last line it is drawn, too.
        """
        came_out = _with_unit(actual, self.unit)
        sentence = f"It is {came_out}. (No prediction was made.)"
        if self.committed is not None:
            said = _number(self.committed)
            if said == _number(actual):
                sentence = f"It is {came_out}; you said {said}: as predicted."
            elif _is_near(self.committed, actual):
                sentence = f"Nearly: you said {said}, it is {came_out}."
            else:
                sentence = f"It is {came_out}; you said {said}: not what was predicted."
        return Comparison(sentence, self.committed, actual, self.unit)

    def __repr__(self) -> str:
        """Show the question, the same in every run."""
        return f"Your prediction: {self.question} ____ {self.unit}".rstrip()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        if self._form is None:
            self._form = self._make_form()
        bundle: dict[str, Any] = self._form._repr_mimebundle_()
        bundle.pop("text/html", None)
        return bundle | {"text/plain": repr(self)}

    def _make_form(self) -> Any:
        import ipywidgets as widgets

        question = widgets.HTML(f"<b>Your prediction:</b> {self.question}")
        # Text that is sent with every key would lag behind while a cell is running.
        box = widgets.Text(
            placeholder="a number", continuous_update=False, layout=widgets.Layout(width="9em")
        )
        button = widgets.Button(description="Commit", layout=widgets.Layout(width="7em"))
        said = widgets.Label(self.unit)

        def press(_: Any) -> None:
            said.value = self.commit(box.value)
            box.disabled = button.disabled = self.committed is not None

        def enter(_: Any, content: dict[str, Any], __: Any) -> None:
            if content.get("event") == "submit":  # it comes a moment before the text that it ends
                asyncio.get_running_loop().call_later(_TEXT_COMES_S, press, button)

        button.on_click(press)
        box.on_msg(enter)  # the key; on_submit, which is made for it, is deprecated
        return widgets.VBox([question, widgets.HBox([box, button, said])])


def predict(question: str, unit: str = "") -> Prediction:
    """Ask for a prediction; show the result as the last line of a cell.

    Parameters
    ----------
    question : str
        What is to be predicted, a question with a number as its answer.
    unit : str, default: ""
        What is counted, in the plural.

    Returns
    -------
    Prediction
        A form with a button; its ``compare(actual)`` is for a later cell.

    Examples
    --------
    >>> guess = predict("How many messages in one step?", "messages")
    >>> guess
    Your prediction: How many messages in one step? ____ messages
    >>> guess.compare(6)
    (no prediction was made)
    """
    return Prediction(question, unit)


def _is_near(said: float, actual: float) -> bool:
    is_few = abs(actual) < _FEW and float(actual).is_integer()
    return not is_few and abs(said - actual) <= _NEAR * abs(actual)


def _with_unit(value: float, unit: str) -> str:
    return f"{_number(value)} {unit}".rstrip()


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"


def _read(text: str) -> float | str:
    """Return the number that was typed, or the sentence that asks for it again."""
    if _PLAIN.fullmatch(text) or _GROUPED.fullmatch(text):
        number = float(re.sub(r"[,\s]", "", text))
        return number if math.isfinite(number) else f"{text!r} is too large: write a finite number"
    if re.fullmatch(r"[+-]?\d[\d,.\s]*", text):
        return f"{text!r} is not clear: write decimals as 4.5 and thousands as 1000 or 1,000"
    return f"{text!r} is no number: write digits, for example 12"
