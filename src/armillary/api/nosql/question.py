"""The body of a query: its text and the values of its parameters."""

from collections.abc import Mapping
from typing import NamedTuple

from armillary.api.nosql.call import Call
from armillary.errors import Kind, Refusal
from armillary.json import parse


class Question(NamedTuple):
    """A text and the values of its parameters."""

    text: str
    parameters: Mapping[str, object]


def read_question(call: Call) -> Question:
    """The query of the body: an object with its parameters, or the bare text."""
    body = parse(call.request.body)
    if isinstance(body, str):
        return Question(body, {})
    text = body.get("query") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(text, str):
        raise Refusal(Kind.BAD_REQUEST, reason="The body of a query is an object with the text as its 'query'.")
    listed = body.get("parameters")
    if not isinstance(listed, list | None):
        raise Refusal(Kind.BAD_REQUEST, reason="The 'parameters' of a query are a list.")
    return Question(text, dict(map(_read_parameter, listed or ())))


def _read_parameter(found: object) -> tuple[str, object]:
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        raise Refusal(Kind.BAD_REQUEST, reason="A parameter of a query is an object with a name and a value.")
    return found["name"], found.get("value")
