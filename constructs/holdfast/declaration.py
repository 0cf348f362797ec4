"""What every declaration has in common: it is refused at once, in one line that says the way out."""


class DeclarationError(ValueError):
    """A declaration that AWS or the conventions would refuse; the message says the way out."""
