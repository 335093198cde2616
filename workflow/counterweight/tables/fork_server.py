"""Scripts as forks of one process that has the large libraries loaded already.

To load NumPy, pyarrow, pandas, SciPy and scikit-learn takes a second, which is most of what a
short job does. Here one process loads them once; it does nothing else, and no other thread of
Python runs in it. The library itself is not loaded there: each script reads it as it is then.

This file is also the program of that process, and of a script that begins without it: it imports
nothing of the library. Processes talk by sockets that have no names, so that no folder matters.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import NamedTuple

#: What the scripts use; what is not installed is passed over. ``snakemake.cli`` is what the program
#: ``snakemake`` imports, and a fork begins with the imports of the program.
LOADED = (
    *("jinja2", "jsonschema", "matplotlib.backends.backend_svg", "matplotlib.figure", "pandas"),
    *("pyarrow.compute", "pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet", "scipy.optimize"),
    *("scipy.sparse", "scipy.special", "scipy.stats", "sklearn.ensemble", "sklearn.isotonic"),
    *("sklearn.linear_model", "sklearn.model_selection", "sklearn.preprocessing", "sklearn.svm"),
    *("sklearn.tree", "snakemake.cli", "snakemake.script"),
)
#: From so many jobs on the modules of this project are loaded, too: each job loads some 40 in 0.03
#: CPU s (0.09 where nothing that is compiled is kept), and all take 0.4 (1.1).
LIBRARY_FROM = 15
#: Variable that tells a script with which process it ends: see `jobs.end_with`.
PARENT = "COUNTERWEIGHT_PARENT"
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP")


def loaded_for(jobs):
    """Modules that the process loads of which so many jobs are forks."""
    if jobs < LIBRARY_FROM:
        return LOADED
    package = Path(__file__).resolve().parents[1]
    files = sorted(path.relative_to(package.parent) for path in package.rglob("*.py"))
    return *LOADED, *(".".join(file.with_suffix("").parts) for file in files)


class Ended(NamedTuple):
    """How a script ended: ``status``, the negative number of a signal that ended it.

    ``seconds`` of CPU and most MB of ``memory`` at a time are of it and the processes that it saw
    end; None where the process that it was a fork of was ended, too. ``raised`` is an exception
    that nobody caught; ``out_of_memory`` says whether the system ended processes for want of memory
    meanwhile.
    """

    status: int
    seconds: float | None = None
    memory: float | None = None
    raised: str = ""
    out_of_memory: bool = False

    @property
    def reason(self):
        """Why it ended, and what to do, in one sentence; "" after a good end."""
        if self.status == 0:
            return ""
        held = "" if self.memory is None else f" with {self.memory:.0f} MB of memory at most"
        if self.status > 0 and self.raised:
            return f"The job ended by an error that it does not know: {self.raised}."
        if self.status > 0:
            return f"The job ended with status {self.status}{held}: its log says why."
        try:
            name = signal.Signals(-self.status).name
        except ValueError:
            name = f"signal {-self.status}"
        if name == "SIGKILL" and self.memory is None:
            return (
                "The job was killed (SIGKILL) together with the process that it was a fork of: run "
                "again; what is done is kept."
            )
        if name == "SIGKILL" and self.out_of_memory:
            return (
                f"The system killed the job{held}, since memory ran out: use fewer cores at a "
                "time, or fewer rows."
            )
        if name == "SIGKILL":
            return (
                f"The job was killed from outside (SIGKILL){held}, while the system had memory "
                "left: by hand, or by a container or queue whose limit was reached. Run again."
            )
        if name in ("SIGINT", "SIGTERM", "SIGHUP"):
            return f"The job was stopped from outside ({name}){held}: run again to go on."
        if name in _CRASHES:
            return (
                f"The job crashed ({name}){held} in compiled code of a library: run again; if it "
                "ends so once more, install the versions of constraints.txt."
            )
        if name == "SIGXCPU":
            return f"The job reached the limit of CPU time ({name}): raise it (ulimit -t)."
        return f"The job was ended by {name}{held}: run again."


class Forks:
    """Runs scripts, each in a fork of a process of its own that has `LOADED` loaded.

    Scripts may be begun and awaited from many threads at a time. Where no fork can begin, or is not
    wanted, a script is a Python of its own. Where this process ends, however that may be, the
    scripts that run end.
    """

    def __init__(self, forking=True, loaded=LOADED):
        self._server, self._lock, self._forking = None, threading.Lock(), forking
        self._loaded = loaded
        self._running = set()

    def begun(self, script, environment=()):
        """Begin to run the file `script` in the current folder: its number, and a function.

        The function lets the script run, waits for its end, and gives it as `Ended`. `environment`
        has variables beside those that this process had at the first script.
        """
        told = {"script": script, "folder": os.getcwd(), "environment": dict(environment)}
        before = _ended_for_memory()
        begun = self._fork(told) if self._forking else None
        pid, end = begun or self._plain(told)

        def ended():
            self._running.add(pid)
            try:
                found = end()
            finally:
                self._running.discard(pid)
            return found._replace(out_of_memory=_ended_for_memory() > before)

        return pid, ended

    def kill(self):
        """End the scripts that run at once."""
        for pid in list(self._running):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _fork(self, told):
        """Number of a fork and what awaits it; None where none can begin."""
        ours, theirs = socket.socketpair()
        try:
            with theirs, self._lock:
                if self._server is None:
                    # It ends when the socket to it is closed.
                    self._server, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    with other:
                        _python(other, "serve", json.dumps(self._loaded))
                socket.send_fds(self._server, [json.dumps(told).encode()], [theirs.fileno()])
            lines = ours.makefile("r", encoding="utf-8")
            pid = json.loads(lines.readline() or "{}").get("pid")
        except OSError:
            pid = None
        if pid is None:
            # It has ended, or has no process left to give: no more of it.
            self._forking = False
            ours.close()
            return None

        def end():
            with ours, lines:
                found = {}
                with contextlib.suppress(ConnectionError):
                    ours.sendall(b"!")
                    for line in lines:
                        found |= json.loads(line)
            return Ended(**{"status": -signal.SIGKILL} | found)

        return pid, end

    def _plain(self, told):
        ours, theirs = socket.socketpair()
        with theirs:
            process = _python(theirs, "one", json.dumps(told))

        def end():
            with ours:
                with contextlib.suppress(ConnectionError):
                    ours.sendall(b"!")
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                said = b""
                with contextlib.suppress(BlockingIOError, ConnectionError):
                    # A process that outlives the script may hold the other end.
                    said = ours.recv(1 << 16, socket.MSG_DONTWAIT)
            return Ended(**(json.loads(said) if said else {}) | _used(status, used))

        return process.pid, end


#: What a fork of a script goes by: arguments of Snakemake's own class.
_OF_SCRIPTS = {"resources", "log", "conda_env", "container_img", "env_modules", "bench_record"}


def known_scripts(script):
    """Snakemake's class of Python scripts, in whose place forks go; `script` is its module.

    None where it has no such class, or one of other arguments than those that we know: they are no
    interface, and a Snakemake that has them otherwise runs scripts by itself.
    """
    import inspect

    try:
        scripts = script.PythonScript
        runs, made = (
            [*inspect.signature(one).parameters]
            for one in (scripts.execute_script, scripts.__init__)
        )
    except (AttributeError, TypeError, ValueError):
        return None
    return scripts if runs == ["self", "fname", "edit"] and {*made} >= _OF_SCRIPTS else None


def tell(log, ended):
    """Why a script ended, in one sentence, which its log has then, too.

    What has a sentence of its own in the log stays as it is.
    """
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(log) or ".", exist_ok=True)
        with open(log, "a+", encoding="utf-8", errors="replace") as file:
            file.seek(0)
            errors = [line for line in file if line.startswith("ERROR: ")]
            if errors and errors[-1].strip() != "ERROR: unexpected error":
                return errors[-1].removeprefix("ERROR: ").strip()
            if not errors:
                file.write(f"ERROR: {ended.reason}\n")
    return ended.reason


def _ended_for_memory():
    """How many processes the system has ended for want of memory, as far as it says so."""
    number = 0
    for path in ("/proc/vmstat", "/sys/fs/cgroup/memory.events"):
        with contextlib.suppress(OSError), open(path) as lines:
            number += sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return number


def _python(end, *arguments):
    """This file as a program of its own, which has one end of a pair of sockets."""
    # -P: what stands beside this file are no libraries.
    return subprocess.Popen(
        [sys.executable, "-P", __file__, str(end.fileno()), *arguments],
        pass_fds=[end.fileno()],
        stdin=subprocess.DEVNULL,
    )


def _serve(end, loaded):
    """Fork for each message, and tell how each fork ended; at the end of messages end them all."""
    # Ctrl-C and a request to stop reach the whole group: this ends with the last who asks.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for name in loaded:
        # A module that does not load is told by the jobs that need it.
        with contextlib.suppress(Exception):
            importlib.import_module(name.removesuffix(".__init__"))
    # What is loaded stays: no fork looks for garbage in it, nor copies its memory to do so.
    gc.freeze()
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    heard, forks, me = selectors.DefaultSelector(), {}, os.getpid()
    for one in (end, woken):
        heard.register(one, selectors.EVENT_READ)
    while True:
        ready = {key.fileobj for key, _ in heard.select()}
        if woken in ready:
            woken.recv(4096)
            _tell_ended(forks)
        if end not in ready:
            continue
        message, given, _, _ = socket.recv_fds(end, 1 << 20, 1)
        if not message:
            for pid in forks:
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        answers = socket.socket(fileno=given[0])
        try:
            pid = os.fork()
        except OSError:
            answers.close()
            continue
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for one in (end, woken, wakes, heard, *forks.values()):
                one.close()
            _run(answers, json.loads(message), me)
        forks[pid] = answers
        with contextlib.suppress(OSError):
            answers.sendall(json.dumps({"pid": pid}).encode() + b"\n")


def _tell_ended(forks):
    while forks:
        pid, status, used = os.wait4(-1, os.WNOHANG)
        if not pid:
            return
        with forks.pop(pid) as answers, contextlib.suppress(OSError):
            answers.sendall(json.dumps(_used(status, used)).encode() + b"\n")
            # Also where a process that outlives the script holds the other end.
            answers.shutdown(socket.SHUT_RDWR)


def _used(status, used):
    """Status, seconds of CPU, and most MB at a time, of a process and those it saw end."""
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return {
        "status": os.waitstatus_to_exitcode(status),
        "seconds": used.ru_utime + used.ru_stime,
        "memory": used.ru_maxrss / unit,
    }


def _run(answers, told, parent):
    """Run a script, when it is let, and end this process."""
    # Until the script has its own words for it, a request to stop ends it without any.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if not answers.recv(1):
        os._exit(0)
    status, raised = 0, ""
    try:
        os.environ.update(told["environment"] | {PARENT: str(parent)})
        tempfile.tempdir = None
        os.chdir(told["folder"])
        script = told["script"]
        sys.path.insert(0, os.path.dirname(script))
        sys.argv = [script]
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        status, raised = 1, f"{type(error).__name__}: {error}"[:2000]
        if not isinstance(error, (ImportError, MemoryError, OSError)):
            traceback.print_exc()
    with contextlib.suppress(OSError):
        if raised:
            answers.sendall(json.dumps({"raised": raised}).encode() + b"\n")
    _leave(status)


def _leave(status):
    """End this process as a program ends, without what those that it is a fork of left to do."""
    from multiprocessing import util

    with contextlib.suppress(BaseException):
        util._exit_function()
        threading._shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    handle = socket.socket(fileno=int(sys.argv[1]))
    if sys.argv[2] == "serve":
        _serve(handle, json.loads(sys.argv[3]))
    _run(handle, json.loads(sys.argv[3]), os.getppid())
