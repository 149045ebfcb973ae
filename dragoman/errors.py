"""The one exception that a fault of the user's input raises."""


class UserError(Exception):
    """A fault of the user's input, told in one line that names file, line, key and what was expected.

    The command line prints the message alone and exits with status 1; everything else that escapes is a bug.
    """
