"""Trees to plans: names become slots, aggregates become groups, and what cannot mean anything is refused.

    FROM c.items i JOIN t IN i.tags         Unnest t IN i.tags
                                              Bind i = c.items
                                                Scan c

In the query itself the first name after FROM is the container, whatever it is called; in an inner query every name must
be one that the outer queries have bound. A query with aggregates sees only the keys of its groups, so an expression
that is written like a key is that key, and a name that is left over is refused.

The law: a plan has the meaning of the text, and nothing is refused later that could be refused here. Leaves out: which
index serves it (`query.rules` and the source), and the counts of TOP, OFFSET and LIMIT, which may be parameters.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from armillary.errors import Kind, Refusal
from armillary.lang.sql import scopes
from armillary.lang.sql.errors import (
    ARGUMENT_COUNT,
    MISPLACED,
    NESTED_AGGREGATE,
    NOT_GROUPED,
    UNKNOWN_FUNCTION,
    UNRESOLVED,
    Problem,
    refuse_query,
)
from armillary.lang.sql.naming import name_columns, name_of
from armillary.lang.sql.syntax import (
    ArrayOf,
    Between,
    Binary,
    Call,
    Conditional,
    Expression,
    In,
    Index,
    Like,
    Literal,
    Logical,
    Member,
    Name,
    ObjectOf,
    Parameter,
    Placeholder,
    Query,
    Source,
    Subquery,
    Unary,
    walk,
)
from armillary.lang.sql.text import write_expression
from armillary.query import plan as plans
from armillary.query import scalars
from armillary.query.aggregates import AGGREGATES
from armillary.query.functions import FUNCTIONS, UNSUPPORTED
from armillary.query.plan import Plan
from armillary.query.scalars import Scalar
