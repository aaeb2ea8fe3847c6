"""The built-in functions of the SQL language: one file for each family, one registry.

    found = FUNCTIONS.get(name.upper())      Function(name, least, most, call, deterministic, needs_context)
    why = UNSUPPORTED.get(name.upper())      what is known by name and not built: Unbuilt(least, most, what)

The laws: names are looked up in capitals; the right number of arguments is the caller's check; a function never raises,
an argument of the wrong type makes the answer undefined; time and chance come in a `Context`. Leaves out: aggregates,
which are no functions of one row.
"""

from typing import Final

from armillary.query.functions.arrays import ARRAYS
from armillary.query.functions.conditional import CONDITIONAL
from armillary.query.functions.conversion import CONVERSION
from armillary.query.functions.dates import DATES
from armillary.query.functions.function import UNBOUNDED, Context, Function
from armillary.query.functions.integers import INTEGERS
from armillary.query.functions.item import ITEM
from armillary.query.functions.matching import MATCHING
from armillary.query.functions.mathematics import MATHEMATICS
from armillary.query.functions.strings import STRINGS
from armillary.query.functions.types import TYPES
from armillary.query.functions.unsupported import SCORES, UNSUPPORTED

_FAMILIES: Final = (
    *(ARRAYS, CONDITIONAL, CONVERSION, DATES, INTEGERS),
    *(ITEM, MATCHING, MATHEMATICS, STRINGS, TYPES),
)
FUNCTIONS: Final[dict[str, Function]] = {row.name.upper(): row for family in _FAMILIES for row in family}

__all__ = ["FUNCTIONS", "SCORES", "UNBOUNDED", "UNSUPPORTED", "Context", "Function"]
