"""Queries without a language and without a store: plans, rules over them, expressions, functions, execution."""
