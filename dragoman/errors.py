"""Exceptions that are reported without a traceback: a fault of the user's input, and a request to end."""


class UserError(Exception):
    """A fault of the user's input. The message is one line that names file, line, key and what was expected.

    The command line prints only the message and exits with status 1; any other uncaught exception is a bug.
    """


class Terminated(KeyboardInterrupt):
    """The system or another program has asked this process to end (SIGTERM, SIGHUP). `number` is that of the signal."""

    def __init__(self, number: int, *words: str) -> None:
        super().__init__(*words)
        self.number = number
