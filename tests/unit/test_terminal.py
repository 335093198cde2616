"""What a run says in the terminal: one line that moves, what went wrong once, the end."""

import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_logger_plugin_counterweight import LogHandler, progress, without_places


def say(capsys, message, level=logging.INFO, moves=False, **extra):
    """What is shown of one record."""
    handler = LogHandler(SimpleNamespace(verbose=False, dryrun=False), None)
    handler.moves = moves
    if "told" in extra:
        handler.told -= extra.pop("told")
    record = logging.makeLogRecord({"msg": message, "levelno": level} | extra)
    handler.emit(record)
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (0, 21, 5, "0 of 21 jobs done"),
        (21, 21, 60, "21 of 21 jobs done in 1 minute"),
        (1, 3, 29, "1 of 3 jobs done"),
        (1, 3, 31, "1 of 3 jobs done in 1 minute"),
        (100, 400, 120, "100 of 400 jobs done in 2 minutes"),
    ],
)
def test_how_far_a_run_is_says_what_was_and_foretells_no_time(done, total, seconds, text):
    assert progress(done, total, seconds) == text


def test_a_line_moves_where_it_can_and_comes_once_a_minute_elsewhere(capsys):
    event = {"event": LogEvent.PROGRESS, "done": 3, "total": 9}
    moved = say(capsys, "3 of 9 steps", moves=True, **event)
    assert moved.startswith("\r\x1b[2K3 of 9 jobs done") and moved.endswith("\r")
    assert say(capsys, "3 of 9 steps", **event) == ""
    assert say(capsys, "3 of 9 steps", told=61, **event).startswith("3 of 9 jobs done")


def test_where_lines_cannot_move_progress_is_told_ten_times_at_most(capsys):
    handler = LogHandler(SimpleNamespace(verbose=False, dryrun=False), None)
    handler.moves = False
    for done in range(1, 1207):
        handler.told -= 61
        handler.emit(
            logging.makeLogRecord({"event": LogEvent.PROGRESS, "done": done, "total": 1206})
        )
    assert 5 < len(capsys.readouterr().err.splitlines()) <= 10


def test_what_snakemake_says_of_itself_is_left_to_its_log(capsys):
    assert say(capsys, "Select jobs to execute...") == ""
    assert say(capsys, "Finished jobid: 3", event=LogEvent.JOB_FINISHED) == ""


def test_warnings_and_errors_are_shown_and_a_failure_not_again(capsys):
    assert say(capsys, "Mind the gap.", logging.WARNING) == "Mind the gap.\n"
    assert say(capsys, "No space left", logging.ERROR, event=LogEvent.ERROR) == "No space left\n"
    again = 'RuleException:\nWorkflowError in file "rules", line 3:\nNo row has 7.'
    assert say(capsys, again, logging.ERROR, event=LogEvent.ERROR) == ""
    assert say(capsys, "Error in rule x", logging.ERROR, event=LogEvent.JOB_ERROR) == ""


def test_a_mistake_in_a_config_is_told_without_lines_of_the_rules():
    text = 'WorkflowError in file "a.smk", line 5:\nThe config has a mistake.\n  File "a.smk"'
    assert without_places(text) == "The config has a mistake."
    assert without_places("Traceback\n  File x") == "Traceback\n  File x"
