"""What every script needs: a log, errors told in one sentence, repeats in parallel."""

import contextlib
import ctypes
import errno
import importlib.machinery
import logging
import os
import signal
import sys
import threading
import time
import traceback
import types

from counterweight.errors import CounterweightError
from counterweight.plan import components

# One thread for each linear-algebra call: sums then have one order, so the bytes of
# a result do not depend on the number of cores. Parallel work is over repeats.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

log = logging.getLogger("counterweight")

#: Variable that names the process with which a job ends, where one began it on this machine.
PARENT = "COUNTERWEIGHT_PARENT"

#: What scikit-learn and SciPy import for a few of their functions. It takes twice as long to load
#: as all the rest of them, which is most of what a short job does.
DEFERRED = ("numpy.f2py", "numpy.testing", "pandas", "scipy.stats")


class _Deferred(types.ModuleType):
    """A module that is loaded when something of it is first asked for."""

    _loading = threading.RLock()

    def __getattr__(self, name):
        with _Deferred._loading:
            if "_real" in self.__dict__:
                loader = self.__dict__.pop("_real")
                self.__path__ = self.__spec__.submodule_search_locations
                loader.exec_module(self)
                self.__class__ = types.ModuleType
        return object.__getattribute__(self, name)


class _Deferring:
    """Finder and loader of the modules of `DEFERRED`.

    ``importlib.util.LazyLoader`` does not serve: in Python 3.11 a second ``import`` of its module
    loads it.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in DEFERRED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader_state, spec.loader = spec.loader, _Deferring
        return spec

    @staticmethod
    def create_module(spec):
        return _Deferred(spec.name)

    @staticmethod
    def exec_module(module):
        spec = module.__spec__
        module.__loader__ = spec.loader = module._real = spec.loader_state
        # Without a path, the import of a submodule asks for it, and so loads the module.
        del module.__path__


def defer():
    """From here on, load the modules of `DEFERRED` when they are first used, not when imported."""
    if _Deferring not in sys.meta_path:
        sys.meta_path.insert(0, _Deferring)


class _Placed(logging.Formatter):
    """Lines of a terminal that many jobs share: a warning says which job it is of."""

    def __init__(self, place):
        super().__init__("%(levelname)s: %(message)s")
        self._place = place

    def format(self, record):
        line = super().format(record)
        if record.levelno != logging.WARNING or not self._place:
            return line
        return line.replace(": ", f": {self._place}: ", 1)


@contextlib.contextmanager
def logged(path, where=()):
    """Log to the file `path` while the block runs; warnings and errors to the terminal, too.

    On the terminal, where many jobs write, a warning begins with `where` it comes from, such as
    ``{"study": "adult", "method": "logistic"}``. A `CounterweightError` is logged as one sentence
    that begins with it, want of memory or space and a library that cannot be loaded as one
    sentence, too, anything else with its traceback; all end the process with status 1. A request to
    stop (SIGTERM, SIGINT) is logged with the memory used. Where the disk is full the log ends
    early; the terminal has the sentence.
    """
    place = ", ".join(f"{name} {value}" for name, value in dict(where).items())
    handlers = [_log_file(path), logging.StreamHandler(sys.stderr)]
    handlers[0].setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handlers[1].setFormatter(_Placed(place))
    handlers[1].setLevel(logging.WARNING)
    for handler in handlers:
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
    except CounterweightError as error:
        log.error("%s%s", f"{place}: " if place else "", error)
        sys.exit(1)
    except MemoryError:
        log.error("Out of memory: raise mem_mb of this rule, or use fewer rows.")
        sys.exit(1)
    except Exception as error:
        if sentence := _of_surroundings(error):
            log.error(sentence)
            sys.exit(1)
        log.error("unexpected error\n%s", traceback.format_exc().rstrip())
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


def _log_file(path):
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        return logging.FileHandler(path, mode="w")
    except OSError as error:
        sys.exit(
            f"ERROR: The log {path} cannot be written ({error.strerror}): free some space, or make "
            "its folder writable, then run again."
        )


def _of_surroundings(error):
    """One sentence on an error that lies in the machine or its libraries; None of any other."""
    if isinstance(error, ImportError):
        return (
            f"A library cannot be loaded ({error}): the environment is not complete or was changed "
            "during the run; make it anew (make clean env), then run again."
        )
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        where = f" while writing {error.filename}" if error.filename else ""
        return f"The disk is full{where}: free some space, then run again."
    return None


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
    else:
        threading.Thread(target=_ended_without, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _ended_without(parent):
    while os.getppid() == parent:
        time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)


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
    defer()
    given = job.params.job["given"]
    names = {"dataset": "data set", "study": "study"}
    where = {names[key]: given[key] for key in names if key in given}
    with logged(job.log[0], dict(job.wildcards) or where):
        yield Running(job)


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

    ``one(repeat)`` gives both, two lists of Arrow tables.
    """
    from counterweight.tables.parquet import MODEL, stacked, write_table

    repeats = repeats or job.given["repeats"]

    def trained(repeat):
        tables = one(repeat)
        log.info("repeat %d of %d done", repeat + 1, repeats)
        return tables

    models, predictions = zip(*over_repeats(trained, range(repeats), job.threads), strict=True)
    write_table(job.output.model, stacked([table for part in models for table in part]), MODEL)
    write_table(job.output.predictions, stacked([table for part in predictions for table in part]))
