"""The tasks: what a study asks. One module each, all with the same protocol.

The labeling rule of a study declares its task (`TASK`), and so do the components that fit only one
task. Nothing outside this package knows a task by name. A new task is one module and one entry.

A module is read in two places. When a run is planned (no numpy there):

``WORDS``
    What its studies are called in sentences, e.g. "studies of classifiers".
``KEYS``
    Keys of a study that have a meaning for it, of those that not every task has
    (`counterweight.plan.tasks.OWN_KEYS`). Others are refused.
``complete(name, study, plan)``
    Fixes what its studies have no choice in, and checks what is its own. Changes `study`.
``plan_label(plan, study, at)``, ``plan_select(plan, study, selector, at)``,
``plan_weigh(plan, study, weighting, at)``, ``plan_train(plan, study, method, at)``,
``plan_evaluate(plan, study, method, at)``
    The `counterweight.plan.jobs.Job` of each stage: its inputs (`at` has the paths), what it is
    told, the components that it looks up. Selectors, weightings and methods are given by id.
``PAGE``
    Its pages in the report, each as ``module:function``: ``table`` gives its table for one target,
    ``sections`` what stands on its page.

And what it may leave out where there is nothing of the sort (`counterweight.plan.tasks.LEFT_OUT`):

``ROLES``, ``ASKS``, ``ALSO``, ``own_study(entry)``
    For a table of one's own: the keys that ask for this task, what is then asked, in words,
    further keys that do, with their words, and the study that is made of the entry
    (`counterweight.plan.own`).
``CARRIED``
    By part of that study: which keys of the entry it holds, by their names there ("" for none). Who
    replaces the part by ``study`` has to say them again.
``NEW_ROWS_NEED``
    Roles whose columns new rows must have beside the features; ``"roles"`` for all, where new rows
    are asked for nothing else.
``TAKES``
    Task whose components fit as well, by part: ``{"selector": "classification"}``.
``ITEM_KEYS``
    Keys of single entries, beyond a component's options, with their defaults:
    ``{"selection": {...}}``.
``STREAMS``
    Whether its jobs read their rows in batches, so that they ask for no more memory for more rows.
``MEMORY``
    By stage, numbers of its own for those of `counterweight.plan.stages.MEMORY`.
``HINT``
    What to do instead of a key that is refused.
``finish(name, study)``
    As ``complete``, once selectors, weightings and methods are spelled out.
``parts(plan, study)``, ``plan_sum(plan, study, part, at)``
    Names of the partitions of its table that are summed by jobs of their own, before labeling and
    in place of a prepared table, and the job of each; none by default.
``plan_collect(plan, study, at)``, ``plan_deliver(plan, study, at)``,
``plan_apply(plan, study, at)``
    The job of which labels to buy next, of what a study delivers, and of its use on new rows, with
    their outputs, as many as the task likes; None for a study that has none.
``COLLECTS_LAST``
    Whether which labels to buy goes by what is delivered, and not the other way round.
``rehearsals(study)``, ``plan_rehearse(plan, study, copy, at)``, ``plan_rehearsed(plan, study, at)``
    Names of the synthetic copies of its table on which its answer is made again, the job of each,
    and the job that sums them up; none by default.
``shown(study)``
    What its pages of the report need to know of a study beyond what all do.

When a job runs: ``label(job)``, ``select(job)``, ``weigh(job)``, ``train(job)``,
``evaluate(job)``, ``deliver(job)``, ``apply(job)``: each reads ``job.input``, goes by
``job.given``, and writes ``job.output`` except for metrics: label, select, weigh and evaluate
return those as records (see `counterweight.tables.parquet.metrics_table`). These functions import
what they need themselves, so that the digest of a job holds that and no more. Work in parts
(repeats, or partitions of a log) goes side by side by `counterweight.tables.jobs.over_repeats`,
which takes any list of parts; merging them is the function's own.
"""

TASKS = {
    "classification": "counterweight.tasks.classification",
    "log": "counterweight.tasks.logs",
    "prediction_logs": "counterweight.tasks.prediction_logs",
    "offers": "counterweight.tasks.offers",
    "filter": "counterweight.tasks.filters",
    "missing_outcomes": "counterweight.tasks.missing_outcomes",
}
