"""What a client sent, taken apart: each part knows the policy it belongs to and its place in it.

A part of the wrong shape is refused with the service's words, the place and what would be right. Nothing is converted:
5.0 is no whole number here, and a boolean is no number. Leaves out: what the values mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from armillary.errors import Kind, Refusal

_LONGEST_REASON: Final = 1000  # what was sent stands in it, and may be as long as a body


@dataclass(frozen=True, slots=True)
class Part:
    """A value in a definition; None stands for null and for what was not sent."""

    policy: str
    place: str
    value: object

    @property
    def is_sent(self) -> bool:
        return self.value is not None

    def at(self, name: str) -> "Part":
        """A property of this object."""
        return Part(self.policy, f"{self.place}.{name}", self.fields().get(name))

    def fields(self) -> Mapping[str, object]:
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object")
        return self.value

    def each(self) -> list["Part"]:
        """The members of this list; none when it was not sent."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise self.wrong("a list")
        return [Part(self.policy, f"{self.place}[{at}]", member) for at, member in enumerate(self.value)]

    def some(self, most: int) -> list["Part"]:
        """The same with a limit."""
        parts = self.each()
        if len(parts) > most:
            raise self.refuse(f"{self.place} has {len(parts)} members, the limit is {most}")
        return parts

    def text(self, default: str | None = None) -> str:
        value = self.value if self.is_sent else default
        if not isinstance(value, str):
            raise self.wrong("a text")
        return value

    def words(self) -> str:
        """A text that is not empty."""
        text = self.text()
        if not text.strip():
            raise self.wrong("a text that is not empty")
        return text

    def whole(self, low: int, high: int) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not low <= self.value <= high:
            raise self.wrong(f"a whole number from {low} to {high}")
        return self.value

    def flag(self, *, default: bool) -> bool:
        value = self.value if self.is_sent else default
        if not isinstance(value, bool):
            raise self.wrong("true or false")
        return value

    def choice(self, *choices: str) -> str:
        """One of these, in any case; the first when nothing was sent."""
        text = self.text(choices[0])
        for choice in choices:
            if text.lower() == choice.lower():
                return choice
        raise self.wrong(f"one of {', '.join(choices)}")

    def wrong(self, expected: str) -> Refusal:
        sent = "missing" if self.value is None else repr(self.value)
        return self.refuse(
            f"One of the specified inputs is invalid: {self.place} must be {expected}, it is {sent:.100}"
        )

    def refuse(self, reason: str) -> Refusal:
        return Refusal(Kind.BAD_DEFINITION, what=self.policy, reason=reason[:_LONGEST_REASON])
