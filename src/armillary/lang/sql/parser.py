"""The parser: recursive descent for clauses, precedence climbing for expressions.

    query      = select [from] [where] [group] [order] [offset] ;
    select     = "SELECT" ["DISTINCT"] ["TOP" count] ( "*" | "VALUE" expression | column {"," column} ) ;
    column     = expression [["AS"] name] ;
    from       = "FROM" source {"JOIN" source} ;
    source     = name "IN" ( path | "(" query ")" ) | path [["AS"] name] | "(" query ")" [["AS"] name] ;
    path       = name { "." name | "[" ( string | integer ) "]" } ;
    where      = "WHERE" expression ;
    group      = "GROUP" "BY" expression {"," expression} ;
    order      = "ORDER" "BY" ( key {"," key} | "RANK" score {"," score} ) ;
    score      = word "(" [expression {"," expression}] ")" ["ASC" | "DESC"] ;
    key        = expression ["ASC" | "DESC"] ;
    offset     = "OFFSET" count "LIMIT" count ;
    count      = integer | parameter ;
    expression = coalesce ["?" expression ":" expression] ;
    coalesce   = or {"??" or} ;
    or         = and {"OR" and} ;
    and        = test {"AND" test} ;
    test       = concat { ["NOT"] "IN" "(" expression {"," expression} ")" | ["NOT"] "BETWEEN" concat "AND" concat
                        | ["NOT"] "LIKE" concat ["ESCAPE" string] } ;
    concat     = bitor {"||" bitor} ;
    bitor      = bitxor {"|" bitxor} ;
    bitxor     = bitand {"^" bitand} ;
    bitand     = equality {"&" equality} ;
    equality   = relation {("=" | "!=" | "<>") relation} ;
    relation   = shift {("<" | "<=" | ">" | ">=") shift} ;
    shift      = sum {("<<" | ">>" | ">>>") sum} ;
    sum        = product {("+" | "-") product} ;
    product    = unary {("*" | "/" | "%") unary} ;
    unary      = ("-" | "+" | "~" | "NOT") unary | postfix ;
    postfix    = primary { "." name | "[" expression "]" } ;
    primary    = number | string | "true" | "false" | "null" | "undefined" | parameter | placeholder | call | name
               | "(" expression ")" | "(" query ")" | ("EXISTS" | "ARRAY" | "ALL" | "FIRST" | "LAST") "(" query ")"
               | "[" [expression {"," expression}] "]" | "{" [member {"," member}] "}" ;
    call       = word "(" [expression {"," expression}] ")" | "udf" "." name "(" [expression {"," expression}] ")" ;
    member     = (string | name) ":" expression ;

A word is letters, digits and `_` that are no keyword; a name is a word, or one of ALL, FIRST, LAST and RANK.

The law: what this grammar makes, the parser reads, and `text.write_query` writes what is read as the same tree (a test
makes texts from the lines above). Precedence is that of the service's own grammar: NOT binds as tightly as a minus.
Nesting is bounded, so that no text can exhaust the stack of whatever walks the tree. Names are not resolved here.
"""

from typing import Final

from armillary.errors import Refusal
from armillary.lang.sql.errors import SYNTAX, TOO_LARGE, Problem, refuse_query, refuse_syntax
from armillary.lang.sql.syntax import (
    ArrayOf,
    Between,
    Binary,
    Call,
    Column,
    Conditional,
    Count,
    Expression,
    Form,
    In,
    Index,
    Key,
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
    Span,
    Subquery,
    Unary,
)
from armillary.lang.sql.tokens import Token, read_tokens
from armillary.values import UNDEFINED

MOST_CHARACTERS: Final = 512 * 1024
MOST_LEVELS: Final = 100
MOST_ITEMS: Final = 16_000

_CONDITIONAL, _COALESCE, _OR, _AND, _TEST, _CONCAT = range(1, 7)
# How tightly each operator binds its left operand; the right one must bind more tightly.
BINDING: Final = {
    "?": _CONDITIONAL, "??": _COALESCE, "OR": _OR, "AND": _AND,
    "IN": _TEST, "BETWEEN": _TEST, "LIKE": _TEST, "NOT": _TEST, "||": _CONCAT, "|": 7, "^": 8, "&": 9,
    "=": 10, "!=": 10, "<>": 10, "<": 11, "<=": 11, ">": 11, ">=": 11, "<<": 12, ">>": 12, ">>>": 12,
    "+": 13, "-": 13, "*": 14, "/": 14, "%": 14,
}  # fmt: skip
_CONSTANTS: Final = {
    "true": Literal(True),
    "false": Literal(False),
    "null": Literal(None),
    "undefined": Literal(UNDEFINED),
}
_FORMS: Final = {form.value: form for form in Form if form.value}
# Keywords that are names where a name is expected; the service's own grammar has the first three.
_NAMES: Final = frozenset(("NAME", "ALL", "FIRST", "LAST", "RANK"))
_NEGATABLE: Final = frozenset(("IN", "BETWEEN", "LIKE"))


def parse_query(text: str) -> Query:
    """The tree of a query text; refused with place and expectation where the grammar ends."""
    if len(text) > MOST_CHARACTERS:
        message = f"The query text has {len(text)} characters; the limit is {MOST_CHARACTERS}."
        raise refuse_query(Problem(TOO_LARGE, 0, len(text), message))
    parser = _Parser(text)
    query = parser.read_query()
    parser.expect("END", parser.continuation_of(query))
    return query


def parse_condition(text: str) -> Query:
    """A filter as patch operations carry it, `from c where c.a = 1`, as the query that selects by it."""
    parser = _Parser(text)
    query = parser.read_clauses(Query())
    parser.expect("END", parser.continuation_of(query))
    return query


class _Parser:
    """A place in a list of tokens: the methods read what their names say and move it on."""

    __slots__ = ("_at", "_depth", "_text", "_tokens")

    def __init__(self, text: str) -> None:
        self._text = text
        tokens = read_tokens(text)
        self._tokens = [*tokens, tokens[-1]]  # so that there is always a token after the present one
        self._at = 0
        self._depth = 0

    # tokens

    def take(self, kind: str) -> bool:
        if self._tokens[self._at][0] == kind:
            self._at += 1
            return True
        return False

    def expect(self, kind: str, expected: str = "") -> Token:
        token = self._tokens[self._at]
        if token[0] != kind:
            raise self.fail(expected or f"'{kind}'")
        self._at += 1
        return token

    def fail(self, expected: str) -> Refusal:
        token = self._tokens[self._at]
        return refuse_syntax(self._text, token[2], token[3], expected)

    def read_name(self) -> str:
        token = self._tokens[self._at]
        if token[0] not in _NAMES:
            is_word = str(token[1]).isidentifier() and token[0] != "STRING"
            raise self.fail(f'a name; {token[1]} is a keyword, ["{token[1]}"] its property' if is_word else "a name")
        self._at += 1
        return str(token[1])

    def span_from(self, start: int) -> Span:
        return start, self._tokens[self._at - 1][3]

    # clauses

    def continuation_of(self, query: Query) -> str:
        """What may follow what has been read, in words."""
        if query.limit:
            return "the end of the query"
        if query.order:
            return "ASC, DESC, ',', OFFSET or the end of the query"
        if query.sources:
            return "an operator, another clause or the end of the query"
        return "an operator, ',', AS, FROM or the end of the query"

    def read_query(self) -> Query:
        self._enter()
        self.expect("SELECT")
        distinct = self.take("DISTINCT")
        spans: list[tuple[str, Span]] = []
        top = self._read_count("TOP", spans)
        start = self._tokens[self._at][2]
        value: Expression | None = None
        columns: tuple[Column, ...] = ()
        if self.take("VALUE"):
            value = self.read_expression()
        elif not self.take("*"):
            columns = self._read_columns()
        spans.append(("SELECT", self.span_from(start)))
        query = self.read_clauses(Query(value, columns, distinct, top, spans=tuple(spans)))
        self._depth -= 1
        return query

    def read_clauses(self, query: Query) -> Query:
        """FROM and what follows it."""
        spans = list(query.spans)
        sources: list[Source] = []
        if self.take("FROM"):
            sources.append(self._read_source())
            while self.take("JOIN"):
                sources.append(self._read_source())
        where = self.read_expression() if self.take("WHERE") else None
        group: tuple[Expression, ...] = ()
        if self.take("GROUP"):
            self.expect("BY")
            group = self._read_list()
        start = self._tokens[self._at][2]
        order: tuple[Key, ...] = ()
        rank = False
        if self.take("ORDER"):
            self.expect("BY")
            rank = self._tokens[self._at][0] == "RANK" and self._tokens[self._at + 1][0] == "NAME" and self.take("RANK")
            order = self._read_keys()
            spans.append(("ORDER", self.span_from(start)))
        offset = self._read_count("OFFSET", spans)
        limit = None
        if offset:
            limit = self._read_count("LIMIT", spans)
            if limit is None:
                raise self.fail("LIMIT")
        return Query(
            query.value, query.columns, query.distinct, query.top, tuple(sources), where, group, order, rank, offset,
            limit, tuple(spans),
        )  # fmt: skip

    def _read_columns(self) -> tuple[Column, ...]:
        columns = []
        while True:
            of = self.read_expression()
            alias = self._read_alias()
            columns.append(Column(of, alias))
            if not self.take(","):
                return tuple(columns)

    def _read_alias(self) -> str | None:
        if self.take("AS") or self._tokens[self._at][0] in _NAMES:
            return self.read_name()
        return None

    def _read_source(self) -> Source:
        start = self._tokens[self._at][2]
        if self.take("("):
            of: Expression | Query = self.read_query()
            self.expect(")")
        elif self._tokens[self._at + 1][0] == "IN":
            alias = self.read_name()
            self._at += 1
            if self.take("("):
                of = self.read_query()
                self.expect(")")
            else:
                of = self._read_path()
            return Source(of, alias, True, self.span_from(start))
        else:
            of = self._read_path()
        span = self.span_from(start)
        return Source(of, self._read_alias(), False, span)

    def _read_path(self) -> Expression:
        start = self._tokens[self._at][2]
        path: Expression = Name(self.read_name(), self.span_from(start))
        while True:
            if self.take("."):
                path = Member(path, self.read_name(), self.span_from(start))
            elif self.take("["):
                token = self._tokens[self._at]
                if token[0] != "STRING" and not (token[0] == "NUMBER" and isinstance(token[1], int)):
                    raise self.fail("a text or a whole number")
                self._at += 1
                self.expect("]")
                path = Index(path, Literal(token[1]), self.span_from(start))
            else:
                return path

    def _read_keys(self) -> tuple[Key, ...]:
        keys = []
        while True:
            start = self._tokens[self._at][2]
            of = self.read_expression()
            span = self.span_from(start)
            direction = "ASC" if self.take("ASC") else "DESC" if self.take("DESC") else ""
            keys.append(Key(of, direction, span))
            if not self.take(","):
                return tuple(keys)

    def _read_count(self, clause: str, spans: list[tuple[str, Span]]) -> Count | None:
        if not self.take(clause):
            return None
        token = self._tokens[self._at]
        self._at += 1
        spans.append((clause, (token[2], token[3])))
        if token[0] == "PARAMETER":
            return Parameter(str(token[1]), (token[2], token[3]))
        if token[0] == "NUMBER":
            return Literal(token[1])
        self._at -= 1
        raise self.fail("a whole number or a parameter")

    # expressions

    def read_expression(self, binding: int = 0) -> Expression:
        """An expression whose operators all bind more tightly than `binding`."""
        self._enter()
        left = self._read_unary()
        tokens, depth = self._tokens, self._depth
        while True:
            op = tokens[self._at][0]
            found = BINDING.get(op, 0)
            if found <= binding:
                break
            self._at += 1
            if found >= _CONCAT:
                self._enter()  # the tree grows to the left, one level with each operator
                left = Binary("!=" if op == "<>" else op, left, self.read_expression(found))
            elif found == _TEST:
                self._enter()
                left = self._read_test(left, op)
            elif found in (_AND, _OR):
                right = self.read_expression(found)
                more = left.operands if isinstance(left, Logical) and left.op == op else (left,)
                left = Logical(op, (*more, right)) if len(more) < 8 else self._read_logical(op, [*more, right], found)
            elif found == _COALESCE:
                self._enter()
                left = Binary(op, left, self.read_expression(found))
            else:
                yes = self.read_expression()
                self.expect(":")
                left = Conditional(left, yes, self.read_expression())
        self._depth = depth - 1
        return left

    def _read_logical(self, op: str, operands: list[Expression], binding: int) -> Expression:
        """The rest of a long AND or OR, without copying its operands each time."""
        while self.take(op):
            operands.append(self.read_expression(binding))
        return Logical(op, tuple(operands))

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MOST_LEVELS:
            token = self._tokens[self._at]
            message = f"The query is nested more than {MOST_LEVELS} levels deep."
            raise refuse_query(Problem(SYNTAX, token[2], token[3], message))

    def _read_test(self, value: Expression, op: str) -> Expression:
        negated = op == "NOT"
        if negated:
            op = self._tokens[self._at][0]
            if op not in _NEGATABLE:
                raise self.fail("IN, BETWEEN or LIKE")
            self._at += 1
        if op == "IN":
            self.expect("(")
            start = self._tokens[self._at][2]
            items = self._read_list()
            self.expect(")")
            if len(items) > MOST_ITEMS:
                message = f"IN has {len(items)} items; the limit is {MOST_ITEMS}."
                raise refuse_query(Problem(TOO_LARGE, *self.span_from(start), message))
            return In(value, items, negated)
        if op == "BETWEEN":
            low = self.read_expression(_TEST)
            self.expect("AND")
            return Between(value, low, self.read_expression(_TEST), negated)
        pattern = self.read_expression(_TEST)
        escape = str(self.expect("STRING", "a text")[1]) if self.take("ESCAPE") else None
        return Like(value, pattern, escape, negated)

    def _read_list(self) -> tuple[Expression, ...]:
        items = [self.read_expression()]
        while self.take(","):
            items.append(self.read_expression())
        return tuple(items)

    def _read_items(self, close: str) -> tuple[Expression, ...]:
        """A list that may be empty, and what closes it."""
        if self.take(close):
            return ()
        items = self._read_list()
        self.expect(close, f"',' or '{close}'")
        return items

    def _read_unary(self) -> Expression:
        token = self._tokens[self._at]
        op = token[0]
        if op not in ("-", "+", "~", "NOT"):
            return self._read_postfix()
        self._at += 1
        number = self._tokens[self._at]
        if op == "-" and number[0] == "NUMBER":
            self._at += 1
            value = number[1]
            assert not isinstance(value, str)
            return self._read_suffixes(Literal(-value), token[2])
        self._enter()
        of = self._read_unary()
        self._depth -= 1
        return _negate(of) if op == "-" and isinstance(of, Literal) else Unary(op, of)

    def _read_postfix(self) -> Expression:
        start = self._tokens[self._at][2]
        return self._read_suffixes(self._read_primary(), start)

    def _read_suffixes(self, left: Expression, start: int) -> Expression:
        tokens = self._tokens
        depth = self._depth
        while True:
            op = tokens[self._at][0]
            if op == ".":
                self._at += 1
                self._enter()
                left = Member(left, self.read_name(), self.span_from(start))
            elif op == "[":
                self._at += 1
                self._enter()
                at = self.read_expression()
                self.expect("]")
                left = Index(left, at, self.span_from(start))
            else:
                self._depth = depth
                return left

    def _read_primary(self) -> Expression:
        token = self._tokens[self._at]
        kind, value, start, end = token
        self._at += 1
        if kind == "NAME":
            if self._tokens[self._at][0] == "(":
                self._at += 1
                name = str(value)
                return Call(name.upper(), self._read_items(")"), False, self.span_from(start), name)
            return Name(str(value), (start, end))
        if kind in ("NUMBER", "STRING"):
            return Literal(value)
        if kind == "PARAMETER":
            return Parameter(str(value), (start, end))
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == "(":
            return self._read_parenthesis(start)
        if kind == "[":
            return ArrayOf(self._read_items("]"))
        if kind == "{":
            return ObjectOf(self._read_members())
        if kind in _FORMS and self._tokens[self._at][0] == "(":
            self._at += 1
            query = self.read_query()
            self.expect(")")
            return Subquery(_FORMS[kind], query, self.span_from(start))
        if kind == "udf":
            return self._read_udf(start)
        if kind == "PLACEHOLDER":
            return Placeholder(str(value))
        self._at -= 1
        if kind in _NAMES:
            return Name(self.read_name(), (start, end))
        raise self.fail("an expression")

    def _read_parenthesis(self, start: int) -> Expression:
        if self._tokens[self._at][0] == "SELECT":
            query = self.read_query()
            self.expect(")")
            return Subquery(Form.SCALAR, query, self.span_from(start))
        inner = self.read_expression()
        self.expect(")", "an operator or ')'")
        return inner

    def _read_members(self) -> tuple[tuple[str, Expression], ...]:
        members: list[tuple[str, Expression]] = []
        if self.take("}"):
            return ()
        while True:
            token = self._tokens[self._at]
            if token[0] == "STRING":
                self._at += 1
                name = str(token[1])
            else:
                name = self.read_name()
            self.expect(":")
            members.append((name, self.read_expression()))
            if not self.take(","):
                self.expect("}", "',' or '}'")
                return tuple(members)

    def _read_udf(self, start: int) -> Expression:
        self.expect(".")
        name = self.read_name()
        self.expect("(")
        return Call(name, self._read_items(")"), True, self.span_from(start), name)


def _negate(literal: Literal) -> Expression:
    """A minus before a number is part of it."""
    value = literal.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Literal(-value)
    return Unary("-", literal)


__all__ = ["BINDING", "MOST_CHARACTERS", "MOST_ITEMS", "MOST_LEVELS", "parse_condition", "parse_query"]
