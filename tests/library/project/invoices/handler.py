"""Reads the stream of the orders; what it does with them is nobody's affair here."""


def handler(event: object, context: object) -> None: ...
