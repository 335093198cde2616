"""`python -m snakemake` in a fork of a process that has it loaded: see `Copy.run`.

`CALL` is given: folder, environment, path, arguments, and the file that takes what is printed. The
server of jobs (`fork_server.py` of the copy) is a second fork, which has its libraries loaded, too.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys


def spare(searched):
    """A socket to a process that becomes a program of Python once it is told which: see `lent`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork():
        theirs.close()
        return ours
    ours.close()
    message, given, _, _ = socket.recv_fds(theirs, 1 << 20, 1)
    if not message:  # no job needed it
        os._exit(0)
    told = json.loads(message)
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    added = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*filter(None, added), *searched]
    script, _, *arguments = told["arguments"]
    sys.argv = [script, str(given[0]), *arguments]
    # As a Python that begins imports it.
    with contextlib.suppress(ImportError):
        importlib.import_module("sitecustomize")
    runpy.run_path(script, run_name="__main__")
    os._exit(0)


def lent(process):
    """Have the server of jobs be that process, and not a Python that loads all by itself."""
    begin = subprocess.Popen.__init__

    def begun(self, args, *further, **told):
        if args[4:5] != ["serve"]:
            return begin(self, args, *further, **told)
        here = {"environment": dict(os.environ), "folder": os.getcwd(), "arguments": args[2:]}
        socket.send_fds(process, [json.dumps(here).encode()], told["pass_fds"])
        self.returncode = 0

    subprocess.Popen.__init__ = begun


if __name__ == "__main__":
    call = globals()["CALL"]
    with open(call["printed"], "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if "--dry-run" not in call["arguments"]:
        lent(spare(call["searched"]))
    os.environ.clear()
    os.environ.update(call["environment"])
    os.chdir(call["folder"])
    sys.path[:] = [*call["path"], *call["searched"]]
    sys.argv = ["snakemake", *call["arguments"]]
    from snakemake.cli import main

    # These runs are small: to look for garbage takes a fifth of one, and finds next to none.
    gc.disable()
    main()
