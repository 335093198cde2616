"""What a run says in the terminal: one line that moves, warnings, errors, and how it ends.

A logger plugin of Snakemake, chosen by ``--logger counterweight`` as make does; without it
Snakemake's own lines are shown. Everything else that Snakemake says stands in its log.
"""

import sys
import time

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

#: Where a line cannot move, one on how far it is: after so many seconds at least, and so many of
#: the jobs.
TOLD_EVERY, TOLD_SHARE = 60, 0.1
#: A failed job says itself why, in a line of its own, and the end of the run says which failed:
#: these are Snakemake's ways to say it again.
AGAIN = (
    "RuleException",
    "Exiting because a job execution failed",
    "WorkflowError:\nAt least one job did not complete",
)
#: Lines on where in the rules a mistake was found, which is no matter of who wrote a config.
PLACES = ("WorkflowError in file ", "  File ")


def progress(done, total, seconds):
    """``12 of 21 jobs done in 3 minutes``; of less than a minute no time is told.

    None is foretold: a job may take a hundred times as long as the one before.
    """
    text, minutes = f"{done} of {total} jobs done", round(seconds / 60)
    return text if not minutes else f"{text} in {minutes} minute{'s' * (minutes > 1)}"


def without_places(text):
    """A mistake of a config without the lines of the rules in which it was found."""
    if not text.startswith(PLACES[0]):
        return text
    return "\n".join(line for line in text.split("\n") if not line.startswith(PLACES))


class LogHandler(LogHandlerBase):
    """Writes to the terminal in place of Snakemake's own handler."""

    writes_to_stream, writes_to_file = True, False
    has_filter = has_formatter = True
    needs_rulegraph = False

    def __post_init__(self):
        self.begun = self.told = time.monotonic()
        self.done = 0
        self.moves = sys.stderr.isatty()

    def emit(self, record):
        """Show what a person needs of a record."""
        event = getattr(record, "event", None)
        if event == LogEvent.PROGRESS:
            self._move(record.done, record.total)
        elif self.common_settings.verbose or self.common_settings.dryrun:
            self._say(record.getMessage())
        elif record.levelno >= 30 and event != LogEvent.JOB_ERROR:
            text = record.getMessage().strip()
            if text and not text.startswith(AGAIN):
                self._say(without_places(text))

    def _say(self, text):
        # The line that moves is wiped; it stands again with the next job that is done.
        print(f"\r\x1b[2K{text}" if self.moves else text, file=sys.stderr, flush=True)

    def _move(self, done, total):
        now = time.monotonic()
        text = progress(done, total, now - self.begun)
        if self.moves:
            # What jobs say in between begins where the line does.
            print(f"\r\x1b[2K{text}\r", end="", file=sys.stderr, flush=True)
        elif now - self.told >= TOLD_EVERY and done - self.done >= TOLD_SHARE * total:
            self.told, self.done = now, done
            print(text, file=sys.stderr, flush=True)
        if done == total and self.moves:
            print("\x1b[2K", end="", file=sys.stderr, flush=True)
