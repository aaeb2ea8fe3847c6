"""Moments as text, `YYYY-MM-DDThh:mm:ss.fffffffZ`, and as units of 100 ns since 1970."""


def read_moment(value: object) -> int | None:
    """The moment that a text names; None where it names none."""
    return None
