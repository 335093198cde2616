"""`python -m snakemake` in a fork of a process that has it loaded: see `Copy.run`.

`CALL` is given: folder, environment, path, arguments, and the file that takes what is printed.
"""

import os
import sys

if __name__ == "__main__":
    call = globals()["CALL"]
    with open(call["printed"], "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.clear()
    os.environ.update(call["environment"])
    os.chdir(call["folder"])
    sys.path[:] = call["path"]
    sys.argv = ["snakemake", *call["arguments"]]
    from snakemake.cli import main

    main()
