"""Scripts as forks of one process that has the large libraries loaded already.

To load NumPy, pyarrow, pandas, SciPy and scikit-learn takes a second, which is most of what a
short job does. Here one process loads them once; it does nothing else, and no other thread of
Python runs in it. The library itself is not loaded there: each script reads it as it is then.
"""

import multiprocessing
import os
import resource
import runpy
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import wait

#: What the scripts use; what is not installed is passed over. ``snakemake.cli`` is what the program
#: ``snakemake`` imports, and a fork begins with the imports of the program.
LOADED = [
    "jinja2",
    "jsonschema",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "pandas",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "sklearn.ensemble",
    "sklearn.isotonic",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.preprocessing",
    "sklearn.svm",
    "sklearn.tree",
    "snakemake.cli",
    "snakemake.script",
]


class Forks:
    """Runs scripts, each in a fork of a process of its own that has `LOADED` loaded.

    Scripts may be begun and awaited from many threads at a time. Where this process ends, the
    scripts that run go on to their end, as processes of their own would.
    """

    def __init__(self):
        self._context = multiprocessing.get_context("forkserver")
        # `multiprocessing` looks after all processes at each start, from whatever thread.
        self._lock = threading.Lock()

    def begun(self, script, environment=()):
        """Begin to run the file `script` in the current folder.

        Parameters
        ----------
        script : str
        environment : mapping of str, optional
            Variables beside those that this process had at the first script.

        Returns
        -------
        pid : int
        ended : callable
            Lets the script run, waits for its end, and gives its status (the negative number of
            a signal that ended it), its seconds of CPU and the most MB of memory that it had; the
            last two are None after a signal.
        """
        ours, theirs = self._context.Pipe()
        with self._lock:
            self._context.set_forkserver_preload(LOADED)
            process = self._context.Process(target=_run, args=(theirs, dict(environment)))
            process.start()
        theirs.close()

        def ended():
            with suppress(ConnectionError):
                ours.send((script, os.getcwd()))
            wait([process.sentinel])
            with self._lock:
                process.join()
            try:
                used = ours.recv()
            except (EOFError, ConnectionError):
                used = None, None
            ours.close()
            return process.exitcode, *used

        return process.pid, ended


def _run(pipe, environment):
    script, folder = pipe.recv()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path.insert(0, os.path.dirname(script))
    sys.argv = [script]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        pipe.send(_used())


def _used():
    """Seconds of CPU, and most MB of memory at a time, of this process and those it saw end."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(part.ru_utime + part.ru_stime for part in parts)
    return seconds, max(part.ru_maxrss for part in parts) / 1024
