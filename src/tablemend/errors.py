"""The one exception that a user is meant to see."""


class TablemendError(Exception):
    """Input that is refused: one line saying what, where and how to mend it.

    Scripts print it without a traceback and exit with status 2.
    """
