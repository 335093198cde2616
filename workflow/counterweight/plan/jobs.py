"""What a job is: which function it runs, what it reads, what it is told, what it looks up."""

from dataclasses import dataclass, field

from counterweight.plan import digests


@dataclass(frozen=True)
class Job:
    """One job of a stage, as a kind of study (or a source of data) plans it.

    Attributes
    ----------
    run : str
        ``module:function`` that the script of the stage calls.
    inputs : dict of str to (str or list of str)
        Files that it reads by role; an empty list where it needs none of that role.
    given : dict
        What it is told, JSON-able and no more than it needs: what stands here decides whether
        the job runs again.
    uses : tuple of (str, str)
        Kind and name of each component that it looks up by name. Any other look-up is refused.
    outputs : dict of str to str
        Files that it writes by role, for stages whose files differ by study.
    files : tuple of str
        Files that count as its code, e.g. templates.
    modules : tuple of str
        Modules that it imports by a text that it is told. Any other such import is refused.
    copies : bool
        Whether it hands on bytes as they are: then no version of a library makes it run again.
    own : tuple of str
        Files and folders of a person's own that it reads, most of them among its inputs: their
        content decides whether the job runs again, and never their date.
    key : str
        File of the secret that coins are drawn by; "" where none are.
    """

    run: str
    inputs: dict = field(default_factory=dict)
    given: dict = field(default_factory=dict)
    uses: tuple = ()
    outputs: dict = field(default_factory=dict)
    files: tuple = ()
    modules: tuple = ()
    copies: bool = False
    own: tuple = ()
    key: str = ""

    def spec(self, script, content=None):
        """The job spec, for params: what it runs, is told and looks up, its code and libraries.

        Parameters
        ----------
        script : str or Path
        content : dict of str to str, optional
            Digests of files of one's own, by path.
        """
        parts = script, self.run, self.uses
        return {
            "run": self.run,
            "given": self.given,
            "uses": [list(pair) for pair in self.uses],
            "modules": list(self.modules),
            "code": digests.code(*parts, self.files, self.modules),
            "libraries": {} if self.copies else digests.libraries(*parts, self.modules),
        } | ({"content": content} if content else {})


def chosen(part, key):
    """A component of a study with its options, for a job spec."""
    return {"name": part[key], "options": part["options"]}


def draws(plan, study):
    """What every random stream of a study derives from."""
    return {"seed": plan["seed"], "stream": study["stream"]}


def columns_job(dataset, plan, paths):
    """The job that tells what each column of a table of one's own is; None for other data sets."""
    settings = plan["datasets"][dataset]
    if not paths.columns(dataset):
        return None
    given = {key: settings[key] for key in ("path", "reading") if key in settings}
    return Job(
        "counterweight.labeling.own_columns:tell_columns",
        {"table": paths.prepared(dataset)},
        given
        | {"roles": settings.get("roles", {}), "keep": settings.get("columns", {}).get("keep", [])},
        outputs={"columns": paths.columns(dataset), "csv": paths.columns_read(dataset)},
    )


def roles_of(plan, study):
    """The roles of columns of a study's own table, for a job that reads its column report."""
    roles = plan["datasets"][study["dataset"]].get("roles")
    return {"roles": roles} if roles else {}


def labeling_of(study):
    """Rules of the labeling stage with their options, and as look-ups.

    Returns
    -------
    given : dict
    uses : tuple
    """
    keys = {"features": "recipe", "outcome": "rule", "labeling": "rule"}
    given = {part: chosen(study[part], key) for part, key in keys.items()}
    return given, tuple((part, rules["name"]) for part, rules in given.items())


def weighing_of(plan, study, weighting):
    """What a job that computes weights is told, and as a look-up."""
    spec = study["weightings"][weighting]
    told = {key: value for key, value in spec.items() if key not in ("name", "selector")}
    return {"weighting": told} | draws(plan, study), (("weighting", spec["weighting"]),)


def protocol_of(study):
    """The protocol of a study with its options, and as a look-up."""
    given = {"protocol": chosen(study["evaluation"], "protocol")}
    return given, (("protocol", given["protocol"]["name"]),)
