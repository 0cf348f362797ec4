"""What is said to the user in one line. Imports nothing, so that everything may import it."""


class InputError(ValueError):
    """Input that cannot be worked with; the message is one line that says what to do."""
