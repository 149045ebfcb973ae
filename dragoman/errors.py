"""The exceptions that are told in one line: a fault of the user's input, and the wish that a process ends."""


class UserError(Exception):
    """A fault of the user's input, told in one line that names file, line, key and what was expected.

    The command line prints the message alone and exits with status 1; everything else that escapes is a bug.
    """


class Terminated(KeyboardInterrupt):
    """The system, or another program, asked this process to end (SIGTERM, SIGHUP). `number` is the signal's."""

    def __init__(self, number: int, *words: str) -> None:
        super().__init__(*words)
        self.number = number
