"""The config as people write it: the files of studies that it lists are read and put under it.

Snakemake merges ``config.yaml`` with what ``--configfile`` and ``--config`` give. What comes out
lists files of studies under ``studies_of``, and has studies, or changes to listed ones, under
``studies`` (titles of their families under ``families``); or it has tables of one's own
(`counterweight.plan.own`). `with_listed_studies` makes one config of it, which
`counterweight.plan.config.resolve` checks.

``python -m counterweight.plan.reading mine.yaml`` reads ``config.yaml`` and, on top of it, the
files that are named, as ``snakemake --configfile mine.yaml`` would, and says what would run, or
what is wrong in a sentence; of tables of one's own it tells all that their headers tell. Snakemake
itself ends with a traceback where a file is not UTF-8 or not there.
"""

import copy
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from counterweight.errors import CounterweightError, listed
from counterweight.plan.config import HOME, check_folders, resolve
from counterweight.plan.mistakes import none_of, refuse_all, secrets_in, unseen_in
from counterweight.plan.own import check_place, name_of, place_of, with_own_tables
from counterweight.plan.renamed import with_new_names

#: Entries that a file may have once its anchors are written out, levels, and digits of a number.
MOST_ENTRIES, MOST_DEPTH, MOST_DIGITS = 1_000_000, 100, 400
#: Numbers that YAML 1.1 reads to another base than people do: 010 is 8, 1:30 is 90.
_NUMBERS = re.compile(r"[-+]?(0[0-7_]*[0-7]|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)")
_READ = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class _Odd(yaml.constructor.ConstructorError):
    """What is valid YAML, and means something else than it looks, or has no end."""


class _Plain(yaml.SafeLoader):
    """Reads YAML in which every key stands once, and numbers are what they look like.

    It is the loader of Snakemake: that in C takes some texts that this one refuses.
    """

    def construct_document(self, node):
        """Refuse what would be read as something else, or would not end, before it is built."""
        sizes, waiting = {}, [(node, False)]
        while waiting:
            part, counted = waiting.pop()
            if id(part) in sizes and not counted:
                if sizes[id(part)] is None:
                    _refuse("it has an anchor within itself: write it out", part)
                continue
            below = self._below(part)
            if below and not counted:
                sizes[id(part)] = None
                waiting += [(part, True), *((one, False) for one in below)]
                continue
            known = [sizes[id(one)] for one in below]
            size = 1 + sum(size for size, _ in known)
            depth = 1 + max((depth for _, depth in known), default=0)
            if size > MOST_ENTRIES:
                _refuse("anchors in anchors make too many entries of it: write less", part)
            if depth > MOST_DEPTH:
                _refuse("it is nested too deeply: write it flatter", part)
            sizes[id(part)] = size, depth
        return super().construct_document(node)

    def _below(self, part):
        """The parts of a part of the text, none of them read otherwise than it looks."""
        if isinstance(part, yaml.SequenceNode):
            return part.value
        if isinstance(part, yaml.MappingNode):
            known = set()
            for key, _ in part.value:
                if isinstance(key.value, str) and key.value in known:
                    _refuse(f"the key {key.value} stands there a second time", key)
                known.add(key.value if isinstance(key.value, str) else id(key))
            return [one for pair in part.value for one in pair]
        if _NUMBERS.fullmatch(part.value) and part.tag in _READ:
            told = f"{part.value} is read as {self.construct_object(part)}"
            plain = part.value.lstrip("+-0").replace("_", "") or "0"
            write = f"write {plain}, or " if plain.isdigit() else ""
            _refuse(f"{told}: {write}put it in quotes where it is a text", part)
        if len(part.value) > MOST_DIGITS and part.tag == _READ[0]:
            _refuse(f"a number has {len(part.value)} digits", part)
        return []


def _refuse(problem, node):
    raise _Odd(problem=problem, problem_mark=node.start_mark)


def with_listed_studies(config, given, folder, beside=()):
    """A config whose studies all stand under ``studies``, without ``studies_of``.

    `config` is as Snakemake merged it, `given` what was given on the command line alone, `folder`
    where the files are that ``studies_of`` names without a path, `beside` the folders of the config
    files.

    The listed files' studies come in the order of the list; those under ``studies`` of the config
    come before them where they are others, and change them key by key where they have the same
    name. Where what is given brings a study that neither a listed file nor ``config.yaml`` has, and
    says neither ``studies_of`` nor ``only``, then ``only`` names the studies that are given and
    those that they are paired with. Beside tables of one's own it does so whatever study is given;
    a listed study that is called as a table is left out.
    """
    files, tables = config.get("studies_of", []), []
    named, chosen = given.get("studies") or {}, {"studies_of", "only"} & given.keys()
    config = with_own_tables(dict(config), given, beside)
    if {"table", "tables"} & given.keys():
        if not isinstance(named, Mapping):
            return config | {"studies": named}  # the schema says what it has to be
        tables = list(config["studies"])
        config["studies"] = updated(config["studies"], named)
        config |= {"only": given.get("only") or []}
        config |= {"studies_of": files} if chosen or named else {}
    entries = config.pop("studies_of", [])
    inline = config.get("studies", {})
    if not isinstance(inline, Mapping):
        return config  # not what the schema asks for, which says so
    listed, families = _listed_studies(entries, Path(folder))
    listed = {name: study for name, study in listed.items() if name not in tables}
    if isinstance(config.get("families", {}), Mapping):
        config["families"] = updated(families, config.get("families", {}))
    # As Snakemake merges files: what is on top decides the order, too.
    studies = updated(updated(copy.deepcopy(dict(inline)), listed), inline)
    if not studies:
        raise CounterweightError(
            "The config has no studies: list files of them under studies_of, or define some under "
            "studies."
        )
    config["studies"] = studies
    if isinstance(named, Mapping) and not chosen:
        # A study that config.yaml has too would have keys besides the given ones.
        own = [name for name in named if name not in listed and inline[name] == named[name]]
        if own or tables:
            wanted = [*tables, *named]
            parts = [studies[name] for name in wanted if isinstance(studies[name], Mapping)]
            wanted += [part.get("paired_with") for part in parts]
            config["only"] = [name for name in studies if name in wanted]
            config["studies"] = {n: s for n, s in studies.items() if not tables or n in wanted}
    return config


def _listed_studies(entries, folder):
    """Studies of all listed files, by name, in the order of the list; and families."""
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise CounterweightError(
            f"studies_of must be a list of names or paths of files of studies, not {entries!r}."
        )
    studies, files, families = {}, {}, {}
    for entry in entries:
        path = _path(entry, folder)
        content = with_new_names(_content_of(path))
        families = updated(families, content.get("families") or {})
        for name, study in content["studies"].items():
            if name in studies:
                where = f"both in {files[name]} and in {path}"
                if files[name] == path:
                    where = f"in {path}, which studies_of lists twice"
                raise CounterweightError(
                    f"The study {name!r} is defined {where}: give one of the two another name, or "
                    "list one file."
                )
            studies[name], files[name] = study, path
    return studies, families


def _path(entry, folder):
    """File that an entry of ``studies_of`` names."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", entry):
        path = folder / f"{entry}.yaml"
        if not path.is_file():
            names = sorted(other.stem for other in folder.glob("*.yaml"))
            lacking = f"studies_of lists {entry!r}, but there is no file {entry}.yaml in {folder}"
            raise none_of(lacking, entry, names, "Files there")
        return path
    path = Path(entry)
    if not path.is_file():
        raise CounterweightError(
            f"studies_of lists {entry!r}, which is no file (looked for at {path.absolute()}): "
            "correct the path."
        )
    return path


def _content_of(path):
    """What a file of studies holds: ``studies``, and maybe ``families``."""
    content = _read(path, "file of studies")
    if not isinstance(content, dict) or {*content} - {"families"} != {"studies"}:
        raise CounterweightError(
            f"The file of studies {path} must have the key studies, with the studies by name under "
            "it, and may have families, with their titles; other settings belong in the config."
        )
    if not isinstance(content["studies"], dict) or not content["studies"]:
        raise CounterweightError(f"The file of studies {path} has no study by name under studies.")
    if not isinstance(content.get("families", {}), dict):
        raise CounterweightError(
            f"families in the file of studies {path} must be a mapping of names to titles."
        )
    return content


def _read(path, what):
    try:
        # A safe loader.
        return yaml.load(Path(path).read_text(encoding="utf-8"), _Plain)
    except UnicodeDecodeError as error:
        raise CounterweightError(
            f"The {what} {path} is not UTF-8 text (byte {error.object[error.start]:#x} at "
            f"{error.start}): save it as UTF-8."
        ) from error
    except OSError as error:
        raise CounterweightError(f"The {what} {path} cannot be read: {error}.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" near line {mark.line + 1}" if mark else ""
        wrong = "cannot be taken as it stands" if isinstance(error, _Odd) else "is not valid YAML"
        told = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise CounterweightError(
            f"The {what} {path} {wrong}{where}: {' '.join(str(told).split())}."
        ) from error
    except (RecursionError, ValueError) as error:
        raise CounterweightError(
            f"The {what} {path} is nested too deeply, or has a value that is none: write it out."
        ) from error


def updated(config, changes):
    """Put changes into a config (in place), key by key: what is no mapping is replaced.

    Mappings of the changes are copied. A config that is no mapping is replaced by a new one.
    """
    if not isinstance(config, dict):
        config = {}
    for key, value in changes.items():
        config[key] = updated(config.get(key, {}), value) if isinstance(value, Mapping) else value
    return config


def planned(config, given, files, home=HOME):
    """The plan of a config: checked, every default spelled out; see `config.resolve`.

    `config` is all files and the command line, merged; `given` what was given on top of
    ``config.yaml``; `files` every config file that was read; `home` the checkout whose studies may
    be listed by name.
    """
    # Also for keys that stand twice, of which Snakemake's reader takes the last.
    read = [_read(file, "config file") for file in files]
    refuse_all(secrets_in(config) or unseen_in(config))
    config, given = with_new_names(config), with_new_names(given, quiet=True)
    beside = [Path(file).parent for file in files]
    plan = resolve(with_listed_studies(config, given, home / "workflow" / "studies", beside))
    # A run of several studies is called as the config file that has them.
    held = zip(files, (part if isinstance(part, dict) else {} for part in read), strict=True)
    keys = ("tables", "table", "studies")
    runs = [name_of(str(file)) for file, part in held if any(part.get(key) for key in keys)]
    plan |= place_of(plan, given, (runs or ["own"])[0])
    check_folders(plan, given, home)
    check_place(plan, config, given)
    return plan


def plan_of_files(files, home=HOME):
    """The plan of ``config.yaml`` with config files on top, in their order."""
    first = home / "config.yaml"
    base, given = _read(first, "config file"), {}
    for file in files:
        other = _read(file, "config file")
        if not isinstance(other, dict):
            raise CounterweightError(
                f"The config file {file} must have keys and values, such as `repeats: 3`; it holds "
                f"{'nothing' if other is None else 'something else'}."
            )
        given = updated(given, other)
    return planned(updated(base, given), given, [first, *files], home)


def main(files):
    """Say what would run, or what is wrong; return the exit status."""
    from counterweight.tasks.own_studies import check_headers

    try:
        plan = plan_of_files(files, HOME)
        check_headers(plan)
    except CounterweightError as error:
        print(error, file=sys.stderr)
        return 1
    studies = plan["studies"]
    read = any(plan["datasets"][one["dataset"]]["source"] == "own" for one in studies.values())
    told = " The values in a table of your own are read by the run." if read else ""
    print(f"The config holds together. {len(studies)} to run: {listed(studies)}.{told}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
