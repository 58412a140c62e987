"""The errors that a user sees. Each has a slug; `tracekit explain SLUG` says more than fits in one line."""


class TracekitError(Exception):
    """What happened, where, and what to do, in one sentence or two.

    Attributes:
        slug: Names the page that `tracekit explain` prints.
        exit_code: What the command line ends with: 2, a usage or data error, unless said otherwise.
    """

    def __init__(self, message: str, *, slug: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.slug = slug
        self.exit_code = exit_code
