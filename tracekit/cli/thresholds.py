"""How long waits may last in this project: the table `stuck` of its configuration, and the defaults for what it leaves out."""

from tracekit.analysis.stuck.limits import Limits, limits_of
from tracekit.cli.configuration import find_configuration


def thresholds() -> Limits:
    """Read them for the working directory.

    Raises:
        TracekitError: `configuration-invalid`, with file and line, where a threshold is unknown or no positive number.
    """
    configuration = find_configuration()
    try:
        return limits_of(configuration.section("stuck"))
    except ValueError as error:
        message, *words = error.args
        raise configuration.complaint(str(message), str(words[0]) if words else "") from None
