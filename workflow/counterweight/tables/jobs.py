"""What every script needs: a log, errors told in one sentence, repeats in parallel."""

import contextlib
import ctypes
import errno
import hashlib
import logging
import os
import re
import signal
import sys
import threading
import time
import traceback

from counterweight.errors import CounterweightError
from counterweight.plan import components

# One thread for each linear-algebra call: sums then have one order, so the bytes of
# a result do not depend on the number of cores. Parallel work is over repeats.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

log = logging.getLogger("counterweight")

#: Variable that names the process with which a job ends, where one began it on this machine.
PARENT = "COUNTERWEIGHT_PARENT"
#: Variable that names the folder in which the jobs of a run note what the terminal was told.
TOLD = "COUNTERWEIGHT_TOLD"
#: Numbers of a sentence; not those in names or quotes.
NUMBER = re.compile(r"(?<![\w'\"])-?\d[\d.,]*(e-?\d+)?")


def told_before(text, told):
    """Whether a text was given to this function before: by this run (`TOLD`), else in `told`.

    Who is not the first is counted: see `repeats_told`.
    """
    if not (folder := os.environ.get(TOLD)):
        again = text in told
        told.add(text)
        return again
    path = os.path.join(folder, hashlib.sha256(text.encode()).hexdigest())
    try:
        with open(path, "ab", buffering=0) as file:
            file.write(b".")
            return file.tell() > 1
    except OSError:  # rather twice than not at all
        return False


def repeats_told(folder):
    """How many texts of a run's jobs the terminal was spared, as `told_before` noted them."""
    return sum(entry.stat().st_size - 1 for entry in os.scandir(folder))


@contextlib.contextmanager
def logged(path, where=()):
    """Log to the file `path` while the block runs; warnings and errors to the terminal, too.

    On the terminal, where many jobs write, a warning begins with `where` it comes from, such as
    ``{"study": "adult", "method": "logistic"}``, and of which split it is (`train_repeats`). It is
    told once a run of the first name there (the study) where only numbers differ, as between
    repeats and methods; an error is told once where no word differs. What ends the block (see
    `_told`) is logged and ends the process with status 1; a request to stop (SIGTERM, SIGINT) is
    logged with the memory used. Where the disk is full the log ends early; the terminal has the
    sentence.
    """
    place = ", ".join(f"{name} {value}" for name, value in dict(where).items())
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        handlers = [logging.FileHandler(path, mode="w"), logging.StreamHandler(sys.stderr)]
    except OSError as error:
        sys.exit(
            f"ERROR: The log {path} cannot be written ({error.strerror}): free some space, or make "
            "its folder writable, then run again."
        )

    told = set()

    def placed(record):
        warns, text = record.levelno == logging.WARNING, record.getMessage()
        record.place = f"{place}{_split}: " if place and warns else ""
        of = next(iter(dict(where).values()), "") if warns else ""
        text = NUMBER.sub("", text) if warns else text.removeprefix(f"{place}: ")
        return not told_before(f"{of}: {text}", told)

    handlers[1].addFilter(placed)
    handlers[1].setLevel(logging.WARNING)
    for handler, shown in zip(handlers, ("", "%(place)s"), strict=True):
        handler.setFormatter(logging.Formatter(f"%(levelname)s: {shown}%(message)s"))
        handler.handleError = lambda record: None
        log.addHandler(handler)
    level = log.level
    log.setLevel(logging.INFO)
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").addHandler(handlers[0])
    in_main = threading.current_thread() is threading.main_thread()
    asked = (signal.SIGTERM, signal.SIGINT) if in_main else ()
    before = {number: signal.signal(number, _stopped) for number in asked}
    try:
        yield log
    except Exception as error:
        log.error(_told(error, place))
        sys.exit(1)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        log.setLevel(level)
        logging.getLogger("py.warnings").removeHandler(handlers[0])
        for handler in handlers:
            log.removeHandler(handler)
            with contextlib.suppress(OSError):
                handler.flush()
        with contextlib.suppress(OSError):
            handlers[0].close()


def _told(error, place):
    """What the log says of an error: a sentence of what is known, else the traceback."""
    if isinstance(error, CounterweightError):
        return f"{place}: {error}" if place else str(error)
    if isinstance(error, MemoryError):
        return "Out of memory: raise mem_mb of this rule, or use fewer rows."
    if isinstance(error, ImportError):
        return (
            f"A library cannot be loaded ({error}): the environment is not complete or was changed "
            "during the run; make it anew (make clean env), then run again."
        )
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        where = f" while writing {error.filename}" if error.filename else ""
        return f"The disk is full{where}: free some space, then run again."
    return f"unexpected error\n{traceback.format_exc().rstrip()}"


def _stopped(number, _):
    log.error(
        "Stopped from outside by %s, with %d MB of memory in use at most: %s.",
        signal.Signals(number).name,
        largest_memory(),
        "by Ctrl-C; run again to go on"
        if number == signal.SIGINT
        else "by hand, or by a cluster whose limit of time or memory was reached",
    )
    sys.exit(128 + number)


def end_with(parent):
    """Have the system end this process when its parent (a number) ends, in whatever way.

    What goes on for a parent that was killed would write into the run that comes next.
    """
    if sys.platform == "linux":
        # The request PR_SET_PDEATHSIG (1) is kept by the process, and not by those that it forks.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return

    def watch():
        while os.getppid() == parent:
            time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


#: Parameters of ``mallopt`` and their values: bytes at the end of the heap that are kept, bytes by
#: which it grows beside what is asked for, and from which on an array has a mapping of its own.
KEPT_MEMORY = {-1: 256 << 20, -2: 16 << 20, -3: 32 << 20}


def keep_memory():
    """Keep memory that was given back for the arrays that come next, as far as `KEPT_MEMORY` says.

    Steps of a fit make arrays of some MB anew each time. By itself the C library of Linux gives
    their memory back to the system each time, which has to clear it for the next: up to a fifth of
    a job's CPU time. Elsewhere nothing is changed.
    """
    if sys.platform == "linux" and hasattr(system := ctypes.CDLL(None), "mallopt"):
        for parameter, value in KEPT_MEMORY.items():
            system.mallopt(parameter, value)


def _begin_part(parent):
    """What a process of `over_repeats` begins with: it has no log of its own to end."""
    end_with(parent)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def largest_memory(of_children=False):
    """Most memory, in MB, that this process, or any that it started and saw end, had at a time."""
    import resource

    who = resource.RUSAGE_CHILDREN if of_children else resource.RUSAGE_SELF
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit // 10**6


class Running:
    """A job as the function that it runs sees it.

    ``input`` and ``output`` have paths by role; ``given`` is what the job is told (see
    `counterweight.plan.jobs.Job`), ``content`` has digests of files of one's own by path.
    """

    def __init__(self, job):
        self.input, self.output, self.threads = job.input, job.output, job.threads
        self.given, self.log = job.params.job["given"], log
        self._run, self._uses = job.params.job["run"], job.params.job["uses"]
        self._modules = job.params.job.get("modules", ())
        self.content = job.params.job.get("content", {})

    def run(self):
        """Call the function of the job; what it did not declare cannot be looked up by name."""
        function = components.reference(self._run)
        with components.only(self._uses, self._modules):
            return function(self)


@contextlib.contextmanager
def running(job):
    """The job that Snakemake gives a script, with its spec, logged while the block runs."""
    if parent := os.environ.pop(PARENT, None):
        end_with(int(parent))
    keep_memory()
    given = job.params.job["given"]
    names = {"dataset": "data set", "study": "study"}
    where = {names[key]: given[key] for key in names if key in given}
    with logged(job.log[0], dict(job.wildcards) or where):
        yield Running(job)


#: Of which split a warning is, on the terminal: a model that is delivered has a fit of its own.
_split = ""
_work = None


def _run(item):
    return _work(item)


def over_repeats(function, repeats, threads=1):
    """``[function(r) for r in repeats]``, on `threads` processes.

    The result does not depend on `threads`: every repeat draws from its own random stream, and each
    process computes with one thread. The function and its data reach the processes by fork,
    uncopied; what it gives must be picklable.
    """
    global _work
    repeats = list(repeats)
    if threads <= 1 or len(repeats) <= 1 or not hasattr(os, "fork"):
        return [function(repeat) for repeat in repeats]
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    _work = function
    try:
        with ProcessPoolExecutor(
            min(threads, len(repeats)),
            mp_context=multiprocessing.get_context("fork"),
            initializer=_begin_part,
            initargs=(os.getpid(),),
        ) as pool:
            return list(pool.map(_run, repeats))
    except BrokenProcessPool:
        raise CounterweightError(
            f"One of the {min(threads, len(repeats))} processes of this job was killed, most often "
            f"since memory ran out (at most {largest_memory(of_children=True)} MB in one of them): "
            "give its rule fewer threads, or use fewer rows."
        ) from None
    finally:
        _work = None


def train_repeats(job, one, repeats=None):
    """Train every repeat of a job, side by side; write its models and predictions.

    ``one(repeat)`` gives both, two lists of Arrow tables; `repeats` is how many there are, or
    which.
    """
    from counterweight.tables.parquet import MODEL, stacked, write_table

    repeats = repeats or job.given["repeats"]
    of = f" of {repeats}" * isinstance(repeats, int)
    repeats = range(repeats) if of else repeats

    def trained(repeat):
        global _split
        _split = f", split {repeat + 1}{of}" if of and len(repeats) > 1 else ""
        tables = one(repeat)
        _split = ""
        log.info("repeat %d of %d done", repeat + 1, len(repeats))
        return tables

    models, predictions = zip(*over_repeats(trained, repeats, job.threads), strict=True)
    write_table(job.output.model, stacked([table for part in models for table in part]), MODEL)
    write_table(job.output.predictions, stacked([table for part in predictions for table in part]))
