"""The built-in functions of the SQL language: one file for each family, one registry.

    found = FUNCTIONS.get(name.upper())      Function(name, least, most, call, deterministic, needs_context)
    why = UNSUPPORTED.get(name.upper())      what is known by name and not built, in words for the caller

The laws: names are looked up in capitals; the right number of arguments is the caller's check; a function never raises,
an argument of the wrong type makes the answer undefined; time and chance come in a `Context`. Leaves out: aggregates,
which are no functions of one row.
"""

from typing import Final

from armillary.query.functions.conditional import CONDITIONAL
from armillary.query.functions.function import UNBOUNDED, Context, Function
from armillary.query.functions.types import TYPES
from armillary.query.functions.unsupported import UNSUPPORTED

FUNCTIONS: Final[dict[str, Function]] = {row.name.upper(): row for row in (*TYPES, *CONDITIONAL)}

__all__ = ["FUNCTIONS", "UNBOUNDED", "UNSUPPORTED", "Context", "Function"]
