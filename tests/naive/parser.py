"""Tokens to a tree, by recursive descent. Every level of precedence is one method; `LEVELS` holds the binary ones."""

from typing import Final

from tests.naive import tree
from tests.naive.tokens import Token, read_tokens
from tests.naive.tree import Node
from tests.naive.values import UNDEFINED, QueryError

# Loosest first, as the grammar gives them; all of them lean to the left.
LEVELS: Final = (
    ("||",), ("|",), ("^",), ("&",), ("=", "!=", "<>"), ("<", "<=", ">", ">="), ("<<", ">>", ">>>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
CONSTANTS: Final = {"NULL": None, "TRUE": True, "FALSE": False, "UNDEFINED": UNDEFINED}
FORMS: Final = ("EXISTS", "ARRAY", "ALL", "FIRST", "LAST")
RESERVED: Final = frozenset(
    [
        "SELECT",
        "DISTINCT",
        "TOP",
        "VALUE",
        "AS",
        "FROM",
        "JOIN",
        "IN",
        "WHERE",
        "GROUP",
        "BY",
        "ORDER",
        "ASC",
        "DESC",
        "OFFSET",
        "LIMIT",
        "AND",
        "OR",
        "NOT",
        "BETWEEN",
        "LIKE",
        "ESCAPE",
        "EXISTS",
        "ARRAY",
        "NULL",
        "TRUE",
        "FALSE",
        "UNDEFINED",
    ]
)


def parse(text: str) -> tree.Query:
    """The tree of a query, or QueryError("syntax")."""
    parser = Parser(read_tokens(text))
    query = parser.query()
    if parser.token.kind != "end":
        raise parser.unexpected()
    return query


class Parser:
    """A place in a list of tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.place = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def unexpected(self) -> QueryError:
        return QueryError("syntax", f"unexpected {self.token.text or 'end'!r}")

    def next(self) -> Token:
        token = self.token
        self.place += token.kind != "end"
        return token

    def sees(self, *texts: str, ahead: int = 0) -> bool:
        """Whether a sign or keyword stands here."""
        token = self.tokens[min(self.place + ahead, len(self.tokens) - 1)]
        return token.kind in ("word", "sign") and token.text.upper() in texts

    def accept(self, *texts: str) -> str:
        """Take one of these if it stands here; what was taken, in upper case."""
        return self.next().text.upper() if self.sees(*texts) else ""

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.unexpected()

    def word(self) -> str:
        if self.token.kind != "word":
            raise self.unexpected()
        return self.next().text

    def identifier(self) -> str:
        if self.sees(*RESERVED):
            raise self.unexpected()
        return self.word()

    def alias(self) -> str | None:
        """`AS name`, `name` or nothing."""
        if self.accept("AS"):
            return self.identifier()
        return self.word() if self.token.kind == "word" and not self.sees(*RESERVED) else None

    # Queries

    def query(self) -> tree.Query:
        self.expect("SELECT")
        distinct = bool(self.accept("DISTINCT"))
        top = self.count() if self.accept("TOP") else None
        select = self.select()
        sources: list[tree.Source] = []
        if self.accept("FROM"):
            sources.append(self.source())
            while self.accept("JOIN"):
                sources.append(self.source())
        where = self.expression() if self.accept("WHERE") else None
        group = self.listed() if self.accept_by("GROUP") else ()
        order = self.order() if self.accept_by("ORDER") else ()
        offset = limit = None
        if self.accept("OFFSET"):
            offset = self.count()
            self.expect("LIMIT")
            limit = self.count()
        return tree.Query(select, distinct, top, tuple(sources), where, group, order, offset, limit)

    def accept_by(self, word: str) -> bool:
        if not self.accept(word):
            return False
        self.expect("BY")
        return True

    def count(self) -> Node:
        if self.token.kind not in ("number", "parameter"):
            raise self.unexpected()
        return self.primary()

    def select(self) -> tree.Select:
        if self.accept("*"):
            return tree.Select(None, None)
        if self.accept("VALUE"):
            return tree.Select(self.expression(), None)
        columns: list[tuple[str, Node]] = []
        unnamed = 0
        while True:
            node = self.expression()
            alias = self.alias() or last_name(node)
            if alias is None:
                unnamed += 1
                alias = f"${unnamed}"
            columns.append((alias, node))
            if not self.accept(","):
                return tree.Select(None, tuple(columns))

    def source(self) -> tree.Source:
        if self.token.kind == "word" and self.sees("IN", ahead=1):
            name = self.identifier()
            self.expect("IN")
            return tree.Source(self.collection(), each=True, alias=name)
        of = self.collection()
        alias = self.alias() or (None if isinstance(of, tree.Query) else last_name(of))
        return tree.Source(of, each=False, alias=alias)

    def collection(self) -> "Node | tree.Query":
        if self.accept("("):
            query = self.query()
            self.expect(")")
            return query
        return self.members(tree.Name(self.identifier()))

    def order(self) -> tuple[tuple[Node, bool], ...]:
        keys = []
        while True:
            node = self.expression()
            keys.append((node, self.accept("ASC", "DESC") == "DESC"))
            if not self.accept(","):
                return tuple(keys)

    # Expressions

    def listed(self) -> tuple[Node, ...]:
        nodes = [self.expression()]
        while self.accept(","):
            nodes.append(self.expression())
        return tuple(nodes)

    def expression(self) -> Node:
        test = self.coalesced()
        if not self.accept("?"):
            return test
        then = self.expression()
        self.expect(":")
        return tree.Conditional(test, then, self.expression())

    def coalesced(self) -> Node:
        node = self.either()
        while self.accept("??"):
            node = tree.Binary("??", node, self.either())
        return node

    def either(self) -> Node:
        node = self.both()
        while self.accept("OR"):
            node = tree.Binary("OR", node, self.both())
        return node

    def both(self) -> Node:
        node = self.tested()
        while self.accept("AND"):
            node = tree.Binary("AND", node, self.tested())
        return node

    def tested(self) -> Node:
        """IN, BETWEEN, LIKE and their NOT forms."""
        node = self.binary(0)
        negated = self.sees("NOT") and self.sees("IN", "BETWEEN", "LIKE", ahead=1)
        if negated:
            self.next()
        if self.accept("IN"):
            self.expect("(")
            node = tree.Among(node, self.listed())
            self.expect(")")
        elif self.accept("BETWEEN"):
            low = self.binary(0)
            self.expect("AND")
            node = tree.Between(node, low, self.binary(0))
        elif self.accept("LIKE"):
            node = tree.Like(node, self.binary(0), self.escape())
        return tree.Unary("NOT", node) if negated else node

    def escape(self) -> str:
        if not self.accept("ESCAPE"):
            return ""
        token = self.next()
        if token.kind != "string" or len(token.value) != 1:
            raise QueryError("syntax", "ESCAPE takes one character")
        return str(token.value)

    def binary(self, level: int) -> Node:
        if level == len(LEVELS):
            return self.unary()
        node = self.binary(level + 1)
        while operator := self.accept(*LEVELS[level]):
            node = tree.Binary("!=" if operator == "<>" else operator, node, self.binary(level + 1))
        return node

    def unary(self) -> Node:
        if operator := self.accept("+", "-", "~", "NOT"):
            return tree.Unary(operator, self.unary())
        return self.members(self.primary())

    def members(self, node: Node) -> Node:
        while True:
            if self.accept("."):
                node = tree.Member(node, tree.Literal(self.word()))
            elif self.accept("["):
                node = tree.Member(node, self.expression())
                self.expect("]")
            else:
                return node

    def primary(self) -> Node:
        token = self.token
        match token.kind:
            case "number" | "string":
                return tree.Literal(self.next().value)
            case "parameter":
                return tree.Parameter(self.next().text)
            case "word":
                return self.named()
        if self.accept("("):
            return self.bracketed()
        if self.accept("["):
            items = () if self.sees("]") else self.listed()
            self.expect("]")
            return tree.MakeArray(items)
        if self.accept("{"):
            return self.object()
        raise self.unexpected()

    def named(self) -> Node:
        """A word: a constant, a form of subquery, a function or an alias."""
        called = self.sees("(", ahead=1)
        if self.sees(*CONSTANTS):
            return tree.Literal(CONSTANTS[self.next().text.upper()])
        if self.sees(*FORMS) and called:
            form = self.next().text.upper()
            self.next()
            query = self.query()
            self.expect(")")
            return tree.Subquery(form, query)
        if self.token.text.lower() == "udf" and self.sees(".", ahead=1):
            raise QueryError("function", "no user-defined functions here")
        if called and not self.sees(*RESERVED):
            name = self.word().upper()
            self.next()
            arguments = () if self.sees(")") else self.listed()
            self.expect(")")
            return tree.Call(name, arguments)
        return tree.Name(self.identifier())

    def bracketed(self) -> Node:
        node = tree.Subquery("", self.query()) if self.sees("SELECT") else self.expression()
        self.expect(")")
        return node

    def object(self) -> Node:
        pairs: list[tuple[str, Node]] = []
        while not self.accept("}"):
            if pairs:
                self.expect(",")
            name = str(self.next().value) if self.token.kind == "string" else self.word()
            self.expect(":")
            pairs.append((name, self.expression()))
        return tree.MakeObject(tuple(pairs))


def last_name(node: Node) -> str | None:
    """The name that a path gives to its column or alias, if it gives one."""
    match node:
        case tree.Name(name):
            return name
        case tree.Member(_, tree.Literal(str(key))):
            return key
    return None
