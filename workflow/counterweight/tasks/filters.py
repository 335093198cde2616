"""Studies of balanced filters: proxies, acceptance by leaf, the filter to take away.

Protocol: see `counterweight.tasks`. The sensitive groups of the test rows are what is hidden; the
selection models are proxies, and the weights are the acceptance of their leaves.
"""

from dataclasses import replace

from counterweight.errors import CounterweightError, listed
from counterweight.plan import components
from counterweight.plan.jobs import Job, draws, labeling_of, protocol_of, roles_of
from counterweight.plan.mistakes import nearest
from counterweight.tasks.beside_answers import (
    asked_rehearsal,
    check_own_table,
    plan_collection,
    plan_copy,
)
from counterweight.tasks.beside_answers import copies as rehearsals
from counterweight.tasks.beside_answers import plan_summed_up as plan_rehearsed
from counterweight.tasks.own_studies import balanced as own_study

WORDS = "studies of balanced filters"
ASKS = "a filter that balances groups"
ROLES = ("balance",)
KEYS = frozenset({"selection", "weighting", "target", "filter", "paired_with", "score"})
KEYS |= {"rehearse", "collect", "collected"}
#: Whose group to ask for goes by the filter that is delivered.
COLLECTS_LAST = True
#: Roles whose columns new rows need besides the features.
NEW_ROWS_NEED = ("id",)
#: What a table of one's own asks for in parts of a study, by the names that it has there.
CARRIED = {
    "weighting": {key: key for key in ("min_acceptance_rate", "max_distortion")},
    "filter": {key: key for key in ("alpha", "release", "min_cell_count", "epsilon")}
    | {"confidence": "level"},
}
PAGE = {
    "table": "counterweight.reporting.pages.filters_page:table",
    "page": "counterweight.reporting.pages.filters_page:PAGE",
}
__all__ = ["own_study", "plan_rehearsed", "rehearsals"]
_HERE = "counterweight.tasks.filters"
#: Setting that promises how much a filter tells about groups at most; others only trade.
LIMIT = "alpha"


def complete(name, study, plan):
    study |= {"targets": ["general"], "columns": ["imbalance"]}
    study["rehearse"] = asked_rehearsal(name, study, plan, ("assumed",))
    check_own_table(name, study, plan)


def finish(name, study):
    """Check the methods of a study of balanced filters, and find the filter that it delivers.

    Only the weightings that a method uses are kept: a proxy with each way to weigh it would be
    many more than anybody asked for.
    """
    methods = study["methods"]
    for identity, method in methods.items():
        if not method["weights"]:
            raise CounterweightError(
                f"studies.{name}.models: {identity} has no weights, and a filter accepts by them: "
                "add weights, e.g. weights: quadratic, and the selector that it goes by."
            )
        if _sees_groups(identity, study):
            method["role"] = "bound"
    used = {method["weights"] for method in methods.values()}
    study["weightings"] = {key: spec for key, spec in study["weightings"].items() if key in used}
    kept = {spec["selector"] for spec in study["weightings"].values()}
    study["selectors"] = {key: spec for key, spec in study["selectors"].items() if key in kept}
    target = study.setdefault("target", None)
    if target:
        # YAML reads groups that are numbers as numbers; groups are texts in all files.
        study["target"] = {str(group): share for group, share in target.items()}
        if len(study["target"]) < len(target):
            raise CounterweightError(
                f"studies.{name}.target names a group twice, as a number and as text "
                f"({listed(study['target'])}): leave one of them out."
            )
    given = study.setdefault("filter", None)
    if not study.get("main"):  # what is delivered, else the first that promises a limit
        promising = [method for method in methods if _swept_by(method, study) == LIMIT]
        study["main"] = given["method"] if given else next(iter(promising), None)
    if given:
        _check_filter(f"studies.{name}.filter", given, study)


def _check_filter(where, given, study):
    """Refuse a filter of no method or setting, or with a promise that its making would break."""
    methods, method = study["methods"], given["method"]
    ways = [way for way in ("setting", "certified", "chosen") if given.get(way) is not None]
    if method not in methods:
        raise CounterweightError(
            f"{where}.method is {method!r}, which is none of its methods"
            f"{nearest(method, methods) or '.'} Methods: {', '.join(methods)}."
        )
    if len(ways) != 1:
        raise CounterweightError(
            f"{where} needs setting, certified or chosen, one of the three: a setting is delivered "
            "as it is, certified chooses one that keeps its alpha for new people, chosen one that "
            "keeps it on held-out rows."
        )
    (way,) = ways
    if way != "setting" and given["refit"]:
        raise CounterweightError(
            f"{where}.refit cannot be combined with {way}: what is fitted again on all rows "
            "has no rows left that could say what it tells. Leave one of them out."
        )
    named = [one for one in (method, *_others(given)) if one in methods]
    seeing = [one for one in named if _sees_groups(one, study)]
    if seeing:
        raise CounterweightError(
            f"{where} names {seeing[0]}, which sees everybody's group: it is there "
            "to compare with, and cannot be delivered. Name another method."
        )
    if given["repeat"] >= study["repeats"]:
        raise CounterweightError(
            f"{where}.repeat is {given['repeat']}, and the study has the repeats 0 "
            f"to {study['repeats'] - 1}: choose one of them."
        )
    if way == "setting":
        known = filter_settings(*_options(method, study))
        if given["setting"] not in known:
            words = listed([repr(setting) for setting in known], 30)
            raise CounterweightError(
                f"{where}.setting is {given['setting']!r}, which {method} does "
                f"not have{nearest(given['setting'], known) or '.'} Its settings: {words}."
            )
        return
    if _swept_by(method, study) != LIMIT:
        raise CounterweightError(
            f"{where}.{way} is for methods that promise an {LIMIT}, and "
            f"{method} has none: name another method."
        )
    for one in _others(given):
        if one not in methods or _swept_by(one, study) != LIMIT:
            raise CounterweightError(
                f"{where}.{way}.among names {one!r}, which is no method "
                f"with an {LIMIT}: choose among {', '.join(methods)}."
            )


def _chain(study, method):
    """Specs of a method's weighting and of the selector that it goes by."""
    weighting = study["weightings"][study["methods"][method]["weights"]]
    return weighting, study["selectors"][weighting["selector"]]


def _options(method, study):
    """Options of a method's proxy and of its weighting."""
    weighting, selector = _chain(study, method)
    return selector["options"], weighting["options"]


def _sees_groups(method, study):
    selector = _chain(study, method)[1]["selector"]
    return components.declared("selector", selector, "SEES_GROUPS", False)


def swept(proxy, weighting):
    """The option that a method's settings go by, and its values, by those of proxy and weighting.

    A proxy over a grid has a setting for each alpha, its limit; another has one for each eta of
    the weighting, or the one setting "" without any.
    """
    if proxy.get(LIMIT + "s") is not None:
        return LIMIT, proxy[LIMIT + "s"]
    etas = weighting.get("etas", ())
    return ("eta", etas) if etas else ("", ())


def _swept_by(method, study):
    return swept(*_options(method, study))[0]


def filter_settings(proxy, weighting):
    """Settings of a method by the options of its proxy and of its weighting; see `swept`."""
    name, values = swept(proxy, weighting)
    return [f"{name}={round(float(value), 10):g}" for value in values] or [""]


def _filter_of(study, method, at):
    """The filter of a method: the selector that is its proxy, and the files that hold it by role.

    With them the rows that it was fitted on.
    """
    weighting, selector = _chain(study, method)
    inputs = {
        "features": at.features,
        "labels": at.labels,
        "proxy": at.selection_model(weighting["selector"]),
        "weights": at.weights(study["methods"][method]["weights"]),
    }
    return selector["selector"], inputs


def plan_label(plan, study, at):
    parts, uses = labeling_of(study)
    given = {key: study[key] for key in ("target", "repeats", "test_share")}
    given["certified"] = (study["filter"] or {}).get("certified")
    given |= roles_of(plan, study)
    inputs = {"table": at.table, "columns": at.columns}
    return Job(f"{_HERE}:label", inputs, parts | given | draws(plan, study), uses)


def label(job):
    import numpy as np

    from counterweight.labeling.columns import copies_of, once, types_of
    from counterweight.labeling.sensitive import describe_groups, label_groups
    from counterweight.labeling.split import prepared_rows, write_rows
    from counterweight.tables.parquet import read_table

    given = job.given
    frame, features, _, rule, outcome = prepared_rows(job, ordered=True)
    copies = copies_of(job, frame)
    columns = getattr(job.input, "columns", None)
    labels, truth = label_groups(
        frame,
        features,
        once(rule, copies),
        outcome,
        seed=given["seed"],
        study=given["stream"],
        repeats=given["repeats"],
        test_share=given["test_share"],
        certified=given["certified"],
        types=types_of(read_table(columns)) if columns else {},
    )
    kept = frame["row"].isin(labels["row"]).to_numpy()
    if copies is not None:
        kept = np.isin(copies, copies[kept])
    dropped = len(frame) - int(kept.sum())
    job.log.info("%d rows with a group, %d left out", len(frame) - dropped, dropped)
    write_rows(job, features, labels, truth)
    return describe_groups(labels, truth, dropped, given["target"])


def plan_select(plan, study, selector, at):
    spec = study["selectors"][selector]
    inputs = {"features": at.features, "labels": at.labels}
    # The first repeats, as many as some method needs of the proxy.
    repeats = max(
        study["methods"][method]["repeats"]
        for method in study["methods"]
        if _chain(study, method)[0]["selector"] == selector
    )
    given = {"selector": spec, "target": study["target"], "repeats": repeats}
    uses = (("selector", spec["selector"]),)
    return Job(f"{_HERE}:select", inputs, given | draws(plan, study), uses)


def select(job):
    """Fit a proxy in every repeat; the table is that of its leaves."""
    import pyarrow as pa

    from counterweight.numerics.groups import group_names, leaf_table, memberships, target_shares
    from counterweight.selection.group_proxies import leaf_columns, reach_sentence
    from counterweight.tables import parquet
    from counterweight.tables.jobs import over_repeats
    from counterweight.tables.study_data import StudyData, generator

    given, spec = job.given, job.given["selector"]
    data = StudyData.read(job.input.features, job.input.labels)
    classes = data.group_columns
    seen = {  # Test rows have no group here; every group has training rows in every repeat.
        repeat: [part[f"group_{name}"][part["role"] == "train"] for name in classes]
        for repeat, part in data.labels.items()
        if repeat < given["repeats"]
    }
    names, groups = group_names(seen[0], classes)
    sizes = [len(block) for block in names]
    target = target_shares(given["target"], groups, sizes)

    def one(repeat):
        X = data.X[data.positions(repeat, data.role(repeat, "train"))]
        Z = memberships(seen[repeat], names)
        rng = generator(given["seed"], given["stream"], repeat, "selection")
        proxy = components.load("selector", spec["selector"])(**spec["options"])
        X = Z if getattr(proxy, "sees_groups", False) else X
        proxy.fit(X, Z, classes=sizes, target=target, rng=rng)
        leaves = [
            leaf_columns(repeat, setting, *leaf_table(member, Z), groups, classes, sizes)
            for setting, member in proxy.leaves(X)
        ]
        records = [record | {"repeat": repeat, "rows": len(X)} for record in proxy.describe()]
        values = {(r["metric"], r["setting"]): r["value"] for r in records}
        reach = [[values[key, s] for s in proxy.settings_] for key in ("distance", "reached")]
        far = reach_sentence(proxy.settings_, *reach, abs(Z.mean(axis=0) - target).max())
        job.log.info("repeat %d: %d settings; %s", repeat, len(leaves), far)
        return parquet.model_table(proxy.to_arrays(), repeat, ""), leaves, records

    models, leaves, records = zip(*over_repeats(one, seen, job.threads), strict=True)
    leaves = [pa.table(part) for parts in leaves for part in parts]
    parquet.write_table(job.output.model, parquet.stacked(models), parquet.MODEL)
    parquet.write_table(job.output.table, parquet.stacked(leaves))
    return [record for part in records for record in part]


def plan_weigh(plan, study, weighting, at):
    spec = study["weightings"][weighting]
    given = {
        "weighting": {key: spec[key] for key in ("weighting", "options")},
        "target": study["target"],
    }
    inputs = {"leaves": at.selection(spec["selector"])}
    return Job(f"{_HERE}:weigh", inputs, given, (("weighting", spec["weighting"]),))


def weigh(job):
    """The probability of acceptance in each leaf of a proxy."""
    import numpy as np

    from counterweight.numerics.geometry import realised
    from counterweight.numerics.groups import disclosivity, imbalance, target_shares
    from counterweight.selection.group_proxies import leaf_tables, setting_of
    from counterweight.tables.parquet import joined, read_columns, write_table

    spec = job.given["weighting"]
    weights_of = components.load("weighting", spec["weighting"])
    tables, records = [], []
    for part in leaf_tables(read_columns(job.input.leaves)):
        target = target_shares(job.given["target"], part.groups, part.sizes)
        base = part.mass @ part.shares
        etas = () if part.setting else spec["options"]["etas"]
        options = spec["options"] | {"etas": etas}
        for made in weights_of(part.mass, part.shares, target, **options):
            setting = part.setting if made.eta is None else setting_of("eta", made.eta)
            leaves = len(made.mass)
            place = {"repeat": np.full(leaves, part.repeat, "int16")}
            place |= {"setting": np.full(leaves, setting, object)}
            place |= {"leaf": np.arange(leaves, dtype="int16")}
            tables.append(place | {"mass": made.mass, "q": made.q, "acceptance": made.rho})
            accepted = realised(made.rho, made.mass, made.shares)
            values = {
                "acceptance_rate": made.rate,
                "distance": made.distance,
                "imbalance_expected": imbalance(accepted, target),
                "disclosivity_expected": disclosivity(made.mass, made.shares, base),
            }
            records += [
                {"repeat": part.repeat, "setting": setting, "metric": metric, "value": value}
                for metric, value in values.items()
            ]
    rates = [record["value"] for record in records if record["metric"] == "acceptance_rate"]
    text = "%d settings and repeats: %.2g to %.2g of the rows accepted"
    job.log.info(text, len(rates), min(rates), max(rates))
    write_table(job.output.table, joined(tables))
    return records


def plan_train(plan, study, method, at):
    spec = study["methods"][method]
    proxy, inputs = _filter_of(study, method, at)
    given = {
        "method": {key: spec[key] for key in ("model", "options")},
        "selector": proxy,
        "repeats": spec["repeats"],
    }
    uses = (("model", spec["model"]), ("selector", proxy))
    return Job(f"{_HERE}:train", inputs, given | draws(plan, study), uses)


def train(job):
    from counterweight.models.balanced_filter import acceptances, train_filter_repeat
    from counterweight.tables.jobs import train_repeats
    from counterweight.tables.parquet import model_table, read_columns, read_models
    from counterweight.tables.study_data import StudyData

    given = job.given
    data = StudyData.read(job.input.features, job.input.labels)
    proxies = read_models(job.input.proxy)
    accepted = acceptances(read_columns(job.input.weights))
    proxy = components.load("selector", given["selector"])

    def one(repeat):
        arrays, predictions = train_filter_repeat(
            data,
            given["method"],
            repeat,
            proxy=proxy.from_arrays(proxies[repeat, ""], data.names),
            acceptance=accepted[repeat],
            seed=given["seed"],
            study=given["stream"],
        )
        return [model_table(arrays, repeat, "")], [predictions]

    train_repeats(job, one)


def plan_evaluate(plan, study, method, at):
    parts, uses = protocol_of(study)
    proxy, inputs = _filter_of(study, method, at)
    inputs |= {"truth": at.truth, "model": at.model(method), "predictions": at.predictions(method)}
    given = {"selector": proxy, "target": study["target"]}
    uses += (("selector", proxy),)
    return Job(f"{_HERE}:evaluate", inputs, parts | given | draws(plan, study), uses)


def evaluate(job):
    from counterweight.models.balanced_filter import acceptances
    from counterweight.tables.jobs import over_repeats
    from counterweight.tables.parquet import read_columns, read_models
    from counterweight.tables.study_data import StudyData, by_repeat

    given = job.given
    data = StudyData.read(job.input.features, job.input.labels, truth=job.input.truth)
    proxy = components.load("selector", given["selector"])
    fitted = read_models(job.input.proxy)
    accepted = acceptances(read_columns(job.input.weights))
    models = read_models(job.input.model)
    predictions = by_repeat(read_columns(job.input.predictions))
    protocol = components.configured("protocol", given["protocol"])

    def one(repeat):
        return protocol(
            data,
            lambda number: proxy.from_arrays(fitted[number, ""], data.names),
            accepted,
            models,
            predictions,
            target=given["target"],
            seed=given["seed"],
            stream=given["stream"],
            repeats=[repeat],
        )

    done = over_repeats(one, sorted(repeat for repeat, _ in models), job.threads)
    records = [record for part in done for record in part]
    job.log.info("%d measurements", len(records))
    return records


def _key_of(plan, study):
    """What a study draws decisions by: the key of one's own, or the seed of a shipped study."""
    dataset = plan["datasets"][study["dataset"]]
    own = "path" in dataset or "query" in dataset
    return {"file": plan["filter_key"]} if own else {"seed": plan["seed"]}


def _others(given):
    """Methods that may be delivered in place of the one that a study names."""
    among = (given["certified"] or given["chosen"] or {}).get("among", ())
    return [name for name in dict.fromkeys(among) if name != given["method"]]


def plan_deliver(plan, study, at):
    given = study["filter"]
    if not given:
        return None
    proxy, inputs = _filter_of(study, given["method"], at)
    inputs |= {"table": at.table, "metrics": at.metrics(given["method"]), "columns": at.columns}
    inputs["truth"] = at.truth
    rules, _ = labeling_of(study)
    weighting, selector = _chain(study, given["method"])
    uses = (("selector", proxy), ("weighting", weighting["weighting"]))
    told = {
        "study": study["id"],
        "title": study["title"],
        "filter": given,
        "recipe": rules["features"],
        "outcome": rules["outcome"],
        "selector": {"selector": proxy},
        "target": study["target"],
        "key": _key_of(plan, study),
        "among": {},
        "max_distortion": {
            one: _options(one, study)[1]["max_distortion"]
            for one in (given["method"], *_others(given))
        },
    }
    if given["certified"] or given["chosen"]:
        leaves = [_options(one, study)[0] for one in told["max_distortion"]]
        least = min(one["min_samples_leaf"] for one in leaves)
        told["filter"] = given | {"least_leaf": least}
    for i, other in enumerate(_others(given), 1):
        told["among"][other], own = _filter_of(study, other, at)
        own["metrics"] = at.metrics(other)
        inputs |= {f"{name}_{i}": own[name] for name in ("proxy", "weights", "metrics")}
    uses += tuple(("selector", name) for name in told["among"].values() if name != proxy)
    if given["refit"]:
        told["selector"] = selector
        told["weighting"] = {key: weighting[key] for key in ("weighting", "options")}
    outputs = {"filter": f"{at.folder}/filter.parquet", "metrics": at.metrics("delivered")}
    if not _asks(study):  # else it is written once it is known what those who were asked say
        outputs["card"] = f"{at.folder}/filter.md"
    # For people of one's own table: who of them is accepted, and no more than is released.
    person = plan["datasets"][study["dataset"]].get("roles", {}).get("id")
    told["person"] = given["id"] or person or "id"
    if person:
        outputs |= {"table": f"{at.folder}/accepted.parquet", "csv": f"{at.folder}/accepted.csv"}
    told, key = told | draws(plan, study), told["key"].get("file", "")
    return Job(f"{_HERE}:deliver", inputs, told, uses, outputs, key=key)


def deliver(job):
    from counterweight.delivery.final_filters import delivered_records, final_filter
    from counterweight.delivery.saved_filters import decided
    from counterweight.models.filter_card import TOO_SMALL, card
    from counterweight.numerics.coins import key_of_seed, own_key
    from counterweight.tables import parquet
    from counterweight.tables.saved_form import write_answers

    given, told = job.given, job.given["key"]
    key = own_key(told["file"]) if "file" in told else key_of_seed(told["seed"])
    frame = parquet.read_table(job.input.table)
    saved = final_filter(job, frame, key)
    saved.save(job.output.filter)
    few = [name for name, share in zip(saved.groups, saved.base, strict=True) if share != share]
    if few:
        job.log.warning(
            "Groups of fewer than %g people in the fit are among %s. %s",
            saved.facts["min_cell_count"],
            listed(few),
            TOO_SMALL,
        )
    if hasattr(job.output, "card"):
        parquet.write_text(job.output.card, card(saved, own=hasattr(job.output, "csv")))
    records = delivered_records(saved)
    table = parquet.metrics_table(given["study"], "delivered", records)
    parquet.write_table(job.output.metrics, table, parquet.METRICS)
    if hasattr(job.output, "table"):
        released = saved.released(frame, decided(frame, saved, key))
        write_answers(job.output.table, job.output.csv, released)
    job.log.info(
        "%s at %s: %d leaves, %.3g of the training rows accepted; no leaf tells more than %.3f "
        "with confidence %g",
        saved.facts["method"],
        saved.facts["setting"] or "its only setting",
        len(saved.mass),
        saved.rate,
        saved.held["disclosivity", "bound", -1] if saved.held else float("nan"),
        saved.held["level", "value", -1] if saved.held else float("nan"),
    )


def plan_apply(plan, study, at):
    if not study["filter"]:
        return None
    proxy, _ = _filter_of(study, study["filter"]["method"], at)
    score = study.get("score")
    people = score or plan["candidates"] or []
    inputs = {"model": f"{at.folder}/filter.parquet", "score": people}
    inputs["columns"] = at.columns
    given = {"key": _key_of(plan, study)}
    given["reading"] = plan["datasets"][study["dataset"]].get("reading", {})
    name = f"{at.folder}/new_accepted" if score else f"{plan['results']}/filtered"
    outputs = {"table": f"{name}.parquet", "csv": f"{name}.csv"}
    if score:
        outputs["metrics"], given["study"] = at.metrics("new_rows"), study["id"]
    uses, own = (("selector", proxy),), (people,) if people else ()
    key = given["key"].get("file", "")
    return Job(f"{_HERE}:apply", inputs, given, uses, outputs, own=own, key=key)


def apply(job):
    from counterweight.delivery.saved_filters import SavedFilter, decided, new_records, tell_drift
    from counterweight.tables.parquet import METRICS, metrics_table, read_table, write_table
    from counterweight.tables.saved_form import write_answers
    from counterweight.tables.table_reader import read_people

    if not job.input.score:
        raise CounterweightError(
            "There is no table of candidates: name one, as in "
            "snakemake apply --config candidates=people.csv."
        )
    saved = SavedFilter.read(job.input.model)
    if job.input.columns:
        report = read_table(job.input.columns)
        frame = saved.new_rows(str(job.input.score), report, job.given["reading"])
    else:
        advice = "give the table of candidates as --config candidates=people.csv"
        frame = read_people(str(job.input.score), absent=advice, nameless=True)
    told = job.given["key"]
    found = decided(frame, saved, told.get("seed", told.get("file")))
    accepted = found["accepted"]
    job.log.info(
        "%d of %d candidates accepted; %.1f were to be expected, and %.3g of all as in training "
        "would be %.1f",
        accepted.sum(),
        len(accepted),
        found["probability"].sum(),
        saved.rate,
        saved.rate * len(accepted),
    )
    tell_drift(saved, found)
    job.log.info("%d candidates are unlike the rows of the fit", (found["unlike"] != "").sum())
    if hasattr(job.output, "metrics"):
        table = metrics_table(job.given["study"], "new rows", new_records(saved, found))
        write_table(job.output.metrics, table, METRICS)
    write_answers(job.output.table, job.output.csv, saved.released(frame, found))


def _asks(study):
    """Whether people are asked for their group, or have answered."""
    return bool(study["collect"] or study["collected"])


def plan_collect(plan, study, at):
    if not _asks(study):
        return None
    inputs = {"table": at.table, "columns": at.columns, "model": f"{at.folder}/filter.parquet"}
    run, given = "counterweight.tasks.beside_answers:collect_groups", {"study": study["id"]}
    used = [study["filter"]["method"], *_others(study["filter"])]
    uses = dict.fromkeys(("selector", _chain(study, one)[1]["selector"]) for one in used)
    job = plan_collection(plan, study, at, inputs, given, tuple(uses), run)
    return replace(job, outputs=job.outputs | {"card": f"{at.folder}/filter.md"})


def plan_rehearse(plan, study, copy, at):
    inputs = {"table": at.table, "columns": at.columns, "model": f"{at.folder}/filter.parquet"}
    return plan_copy("counterweight.rehearsal:rehearse_filter", plan, study, copy, at, inputs)


def shown(study):
    # What is balanced: columns, wanted shares by group (none: equal), what is delivered, and what
    # the settings of each method are.
    group = study["labeling"]["options"]["group"]
    return {
        "filter": {
            "group": [group] if isinstance(group, str) else group,
            "target": study["target"],
            "given": study["filter"],
            "swept": {name: _swept_by(name, study) for name in study["methods"]},
            "limit": LIMIT,
        }
    }
