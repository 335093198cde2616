"""Mistakes of people who write a config: each is told in one sentence, and nothing is left behind.

Configs are planned as `python -m counterweight.plan.reading` does, with the functions that the
workflow plans by; some go through Snakemake itself. Mistakes in tables stand in `test_own.py` and
`tests/unit/files/test_type_inference.py`, those of single options in `tests/unit/plan`.
"""

from pathlib import Path

import pytest
import yaml
from counterweight.plan import reading

ROOT = Path(__file__).resolve().parents[2]
STUDY = """\
studies:
  mine:
    dataset: adult
    features: {recipe: one_hot}
    outcome: {rule: equals, column: income, value: ">50K"}
    labeling: {rule: married}
    selection: [{selector: logistic}]
    weighting: [{weighting: lemma2}]
    models: [{model: logistic, FIRST}, {model: logistic, weights: lemma2}]
"""


def study(old="FIRST", new="label: First"):
    """The study with one thing changed."""
    assert old in STUDY
    return STUDY.replace(old, new).replace("FIRST", "label: First")


def own(keys):
    """A table of one's own with some keys."""
    return f"tables: {{mine: {{table: mine.csv, {keys}}}}}\n"


def promise(text):
    """A table whose decisions are to keep one promise."""
    return own(f"outcome: y, groups: {{few: {{a: 2}}, many: {{a: 3}}}}, promises: [{text!r}]")


def bought(keys, more="title: t"):
    """A table whose labels are to be bought."""
    return own(f"id: a, outcome: y, collect: {{{keys}}}, {more}")


def laughing(form):
    """Anchors in anchors: forty lines that stand for 3^40 entries."""
    lines = ["a0: &a0 {x: 1}"]
    for at in range(1, 40):
        before = ", ".join([f"*a{at - 1}"] * 3)
        made = {"list": f"[{before}]", "merge": f"{{<<: [{before}]}}"}
        made["map"] = "{" + ", ".join(f"{key}: *a{at - 1}" for key in "xyz") + "}"
        lines.append(f"a{at}: &a{at} {made[form]}")
    return "\n".join(lines) + "\n"


MANY = str([number + 2 for number in range(130)])
OFFER = "answer: y, offer: {column: a, direction: up, LOWHIGH}"
FEES = OFFER.replace("LOWHIGH", "low: 1, high: 5")
LOG = "reward: r, propensity: p, policies: {new: q}"
EXPLORE = "explore: {share: 0.1, monthly: 9}"
EVENTS = "id: a, reward: r, predictions: {p: p}, "

#: Name of a mistake: what stands in the file, and words of the sentence.
MISTAKES = {
    # The file.
    "empty file": ("", "case.yaml must have keys and values"),
    "a list": ("- a\n- b\n", "must have keys and values"),
    "a word": ("hello\n", "must have keys and values"),
    "tab": ("studies:\n\tmine: 3\n", "is not valid YAML near line 2"),
    "utf-16": (STUDY.encode("utf-16"), "case.yaml is not UTF-8 text (byte 0xff at 0): save"),
    "latin-1": ("families: {a: café}\n".encode("latin1"), "is not UTF-8 text (byte 0xe9 at "),
    "nul": (b"repeats: 3\x00\n", "special characters are not allowed."),
    "cut off": ("studies: {mine: \n", "is not valid YAML"),
    "two documents": ("repeats: 3\n---\nrepeats: 4\n", "found another document"),
    "unknown anchor": ("studies: *a\n", "undefined alias"),
    "an anchor within itself": ("studies: &a\n  mine: *a\n", "has an anchor within itself"),
    "nested 5,000 deep": ("a: " + "[" * 5000 + "]" * 5000, "is nested too deeply"),
    "code in a tag": ("seed: !!python/object/apply:os.getpid []\n", "not determine a constructor"),
    "key twice": ("repeats: 3\nrepeats: 4\n", "the key repeats stands there a second time"),
    "study twice": (STUDY + STUDY.partition("\n")[2], "the key mine stands there a second time"),
    "table twice": (
        "tables:\n  a: {table: mine.csv, outcome: y}\n  a: {table: mine.csv, outcome: y}\n",
        "the key a stands there a second time",
    ),
    "option twice": (study(new="l2: 1, l2: 2"), "the key l2 stands there a second time"),
    "JSON": ('{"repeats": 0}', "repeats is 0"),
    "byte order mark": ("\ufeffrepeats: 0\n", "repeats is 0"),
    "Windows lines": (b"repeats: 0\r\n", "repeats is 0"),
    # Names.
    "a number": (study("mine:", "7:"), "has the name 7, which YAML does not read as text"),
    "a date": (study("mine:", "2024-01-01:"), "does not read as text"),
    "yes": (study("mine:", "yes:"), "has the name True"),
    "nothing": (study("mine:", "~:"), "has the name None"),
    "capital": (study("mine:", "Mine:"), "has the name 'Mine': begin with a small letter"),
    "300 letters": (study("mine:", "a" * 300 + ":"), "has a name of 300 letters"),
    "line break": (study("mine:", '"a\\nb":'), "begin with a small letter"),
    "slash": (study("mine:", "../mine:"), "has the name '../mine': begin with"),
    "umlaut": (study("mine:", "größe:"), "small letters, figures and _ only"),
    "space": (study("mine:", "my study:"), "small letters, figures and _ only"),
    "HTML": (study("mine:", "<b>a</b>:"), "small letters, figures and _ only"),
    "method a number": (study(new="name: 5"), "models[0].name must be of type text"),
    "method with a slash": (study(new='name: "a/b"'), "models[0].name is 'a/b': begin with"),
    "method with a line break": (study(new='name: "a\\nb"'), "begin with a letter"),
    "method of 300 letters": (study(new=f"name: {'m' * 300}"), "has a name of 300 letters"),
    "method like a file": (study(new="name: labels"), "and not labels"),
    "method twice": (study(new="name: logistic-lemma2"), "second method called"),
    "selector twice": (
        study("[{selector: logistic}]", "[{selector: logistic}, {selector: logistic}]"),
        "two entries called 'logistic'",
    ),
    "table a number": ("tables: {5: {table: mine.csv, outcome: y}}\n", "A table is called '5'"),
    "table like a data set": (
        "tables: {adult: {table: mine.csv, outcome: y}}\n",
        "so is a data set of the library",
    ),
    # Folders.
    "braces": ('results: "res{x}"\n', "leave braces out"),
    "results a number": ("results: 3\n", "results must be of type text"),
    "results empty": ('results: ""\n', "results is empty"),
    "results nothing": ("results:\n", "results must be of type text, not empty"),
    "results of two lines": ('results: "a\\nb"\n', "without line breaks"),
    "results in a file": ("results: config.yaml/x\n", "cannot be written"),
    "data in a file": ("data: config.yaml\n", "cannot be written"),
    "no such mirror": ("data_mirror: nowhere\n", "data_mirror is 'nowhere', which is no folder"),
    "mirror a number": ("data_mirror: 3\n", "data_mirror must be of type text"),
    # Numbers.
    "not a number": ("test_share: .nan\n", "test_share is nan"),
    "infinite": ("seed: .inf\n", "seed is inf"),
    "huge": (f"repeats: {10**30}\n", "it must be at most 10000"),
    "none": ("repeats: 0\n", "repeats is 0"),
    "negative": ("seed: -1\n", "seed is -1"),
    "half": ("repeats: 2.5\n", "repeats must be of type integer, not number"),
    "truth": ("repeats: true\n", "repeats must be of type integer, not boolean"),
    "quoted": ('repeats: "3"\n', "Write 3 without quotes"),
    "a name that is a word of YAML": ("table: t.csv\nid: no\n", "write it in quotes"),
    "a name of digits": ("table: t.csv\nid: 12\n", 'Write it in quotes: "12"'),
    "1e-1": ("test_share: 1e-1\n", "YAML reads 1e-7 as text"),
    "decimal comma": ("test_share: 0,4\n", "test_share must be of type number, not text"),
    "share of nothing": ("test_share: 0\n", "test_share is 0"),
    "share of all": ("test_share: 1\n", "test_share is 1"),
    "option not a number": (study(new="l2: .nan"), "models[0].l2 is nan"),
    "option infinite": (study(new="l2: .inf"), "models[0].l2 is inf"),
    "option negative": (study(new="l2: -1"), "models[0].l2 is -1"),
    "option a word": (study(new="l2: big"), "models[0].l2 must be of type number"),
    "too few rows": ("datasets: {adult: {rows: 0}}\n", "datasets.adult.rows is 0"),
    # What to run.
    "unknown key": ("repeets: 3\n", "did you mean 'repeats'"),
    "unknown key of a study": (study() + "    pared_with: b\n", "did you mean 'paired_with'"),
    "only a word": ("only: adult\n", "only must be of type list"),
    "only nothing": ("only:\n", "only must be of type list, not empty"),
    "only nobody": ("only: [adult_maried]\n", "did you mean 'adult_married'"),
    "only twice": ("only: [curved, curved]\n", "only names something twice"),
    "only without its pair": ("only: [adult_kept]\n", "which only leaves out: add adult_married"),
    "studies a list": ("studies: [adult]\n", "studies must be of type mapping"),
    "studies nothing": ("studies:\n", "studies must be of type mapping"),
    "study nothing": ("studies:\n  mine:\n", "studies.mine must be of type mapping"),
    "study a word": ("studies: {mine: adult}\n", "studies.mine must be of type mapping"),
    "files a word": ("studies_of: smith\n", "studies_of must be a list"),
    "no such file": ("studies_of: [smith]\n", "there is no file smith.yaml"),
    "no such path": ("studies_of: [./x.yaml]\n", "which is no file"),
    "file twice": ("studies_of: [noor_2014, noor_2014]\n", "which studies_of lists twice"),
    "no studies": ("studies_of: []\n", "The config has no studies"),
    "source": ("data_source: dowload\n", "did you mean 'download'"),
    "metrics without accuracy": ("metrics: [auc]\n", "add accuracy"),
    "unknown metric": ("metrics: [accuracy, acc]\n", "metrics[1] is 'acc'"),
    "no metric": ("metrics: []\n", "metrics is empty"),
    "image a number": ("container: 3\n", "container must be of type text"),
    "defaults of nobody": ("model_defaults: {generativ: {components: 3}}\n", "'generative'"),
    "default of no option": ("model_defaults: {generative: {component: 3}}\n", "'components'"),
    "default none": ("model_defaults: {generative: {components: 0}}\n", "components is 0"),
    # A study.
    "unknown data set": (study("dataset: adult", "dataset: adlut"), "did you mean 'adult'"),
    "data set a list": (study("dataset: adult", "dataset: [adult]"), "must be of type text"),
    "no data set": (study("    dataset: adult\n", ""), "studies.mine lacks the key 'dataset'"),
    "recipe": (study("recipe: one_hot", "recipe: onehot"), "did you mean 'one_hot'"),
    "option of a recipe": (study("one_hot}", "one_hot, nosie: 1}"), "did you mean 'noise'"),
    "value nothing": (study('value: ">50K"', "value: null"), "outcome.value must be of type"),
    "rule": (study("rule: married", "rule: maried"), "did you mean 'married'"),
    "selector": (study("selector: logistic", "selector: logstic"), "did you mean 'logistic'"),
    "selector a word": (study("[{selector: logistic}]", "[logistic]"), "must be of type mapping"),
    "weighting": (study("{weighting: lemma2}", "{weighting: lemma3}"), "did you mean 'lemma2'"),
    "weights of nobody": (study("weights: lemma2", "weights: lemma1"), "does not compute"),
    "model": (study("{model: logistic, FIRST}", "{model: logistik}"), "did you mean 'logistic'"),
    "models nothing": (study()[: study().index("models:")] + "models:\n", "must be of type list"),
    "no models": (study()[: study().index("models:")] + "models: []\n", "models is empty"),
    "unknown option": (study(new="l22: 1"), "did you mean 'l2'"),
    "nobody's baseline": (study() + "    baseline: nobody\n", "is none of its methods"),
    "paired with itself": (study() + "    paired_with: mine\n", "which is no other study"),
    "paired with nobody": (study() + "    paired_with: you\n", "which is no other study"),
    "sweep of nothing": (study(new="sweep: {}"), "sweep is empty"),
    "sweep without values": (study(new="sweep: {l2: []}"), "sweep.l2 is empty"),
    "sweep of one": (study(new="sweep: {l2: 1}"), "sweep.l2 must be of type list"),
    "sweep twice": (study(new="sweep: {l2: [1, 1.0]}"), "twice: each is one setting"),
    "sweep not a number": (study(new="sweep: {l2: [.nan]}"), "sweep.l2[0] is nan"),
    "sweep of no option": (study(new="sweep: {l22: [1]}"), "did you mean 'l2'"),
    "sweep of 16,900": (
        study("logistic, FIRST", f"gradient_boosting, sweep: {{trees: {MANY}, leaves: {MANY}}}"),
        "has 16900 settings",
    ),
    # A table of one's own.
    "no such table": ("table: nothere.csv\noutcome: y\n", "nothere.csv', which is no file"),
    "no question": ("table: mine.csv\n", "has no question yet"),
    "unknown role": (own("outcme: y"), "did you mean 'outcome'"),
    "outcome a number": (own("outcome: 3"), "outcome must be of type text or mapping"),
    "no new rows": (own("outcome: y, score: nope.csv"), "nope.csv', which is no file"),
    "keys beside tables": (own("outcome: y") + "id: customer\n", "id stands beside tables"),
    "alpha": (own("balance: [region], alpha: 2"), "alpha is 2"),
    "offers upside down": (own(OFFER.replace("LOWHIGH", "low: 5, high: 1")), "must be below high"),
    "offers of one level": (own(OFFER.replace("LOWHIGH", "low: 5, high: 5")), "must be below high"),
    "offers not a number": (own(OFFER.replace("LOWHIGH", "low: .nan, high: 1")), "low is nan"),
    "half a promise": (
        own('outcome: y, groups: {women: {sex: F}}, promises: ["coverage(women) >= 2 *"]'),
        "position 23: expected a rate",
    ),
    "promise to nobody": (
        own('outcome: y, groups: {women: {sex: F}}, promises: ["coverage(wmen) >= 0.5"]'),
        "did you mean women",
    ),
    "no policies": (own(LOG.replace("{new: q}", "{}")), "policies is empty"),
    "keep rate none": (own(f"{LOG}, keep_rate: 0"), "The keep rate is 0"),
    "keep rate of two": (own(f"{LOG}, keep_rate: 2"), "(2 per cent are 0.02)"),
    "keep rate with a comma": (own(f'{LOG}, keep_rate: "0,1"'), "has a point, 0.1"),
    # What has no end, or is read as something else.
    "laughs in lists": (laughing("list"), "anchors in anchors make too many entries"),
    "laughs in mappings": (laughing("map"), "anchors in anchors make too many entries"),
    "laughs in merges": (laughing("merge"), "anchors in anchors make too many entries"),
    "nested 150 deep": ("a: " + "[" * 150 + "]" * 150, "nested too deeply: write it flatter"),
    "6,000 digits": (f"repeats: {'1' * 6000}\n", "a number has 6000 digits"),
    "a text without end": (f"only: [{'a' * 200_000}]\n", "only[0] has 200000 letters"),
        "octal": ("repeats: 010\n", "010 is read as 8: write 10, or put it in quotes"),
    "octal in a list": ("only: [0777]\n", "0777 is read as 511"),
    "to the base of sixty": ("seed: 1:30\n", "1:30 is read as 90: put it in quotes"),
    "a quoted octal": ('repeats: "010"\n', "Write 10 without quotes"),
    "a point in a count": ("repeats: 3.0\n", "repeats must be of type integer, not number (3.0)"),
    "a seed of forty figures": (f"seed: {'9' * 40}\n", "it must be at most"),
    "a sign that is not seen": (study(new='label: "a\\u202eb"'), "not seen (U+202E)"),
    "an escape": (study() + '    title: "a\\u001b[31mb"\n', "not seen (U+001B)"),
    # Names of files and folders.
    "table like a part": (own("outcome: y").replace("mine:", "run:"), "is a part of the results"),
    "study like a part": (study("mine:", "tables:"), "is called 'tables', and so is a part"),
    "family above": (study() + "    family: ../x\n", "family is '../x': begin with"),
    "family in braces": (study() + '    family: "{x}"\n', "family is '{x}': begin with"),
    "family of two lines": (study() + '    family: "a\\nb"\n', "family is 'a\\nb': begin with"),
    "families above": ('families: {"../x": {title: X}}\n', "has the name '../x': begin with"),
    "results at home": ("results: ~/out\n", "write the whole path"),
    "results in git": ("results: .git\n", ".git belongs to the checkout"),
    "results in the code": ("results: workflow/x\n", "workflow belongs to the checkout"),
    "results at the root": ("results: /\n", "which holds the workflow itself"),
    "results here": ("results: data/..\n", "which holds the workflow itself"),
    "results on Windows": ("results: 'C:\\out'\n", "parts of a path have / between them"),
    "results as data": ("results: both\ndata: ./both/\n", "results and data are both 'both'"),
    "results of 300 letters": (f"results: {'r' * 300}\n", "cannot be written (File name too long)"),
    "results beside parts": (
        "results: parts/out\n" + own("outcome: y").replace("mine.csv", "parts"),
        "the folder parts holds a table that is read",
    ),
    # What is there, and nothing in it.
    "score of nothing": (own("outcome: y, score: hollow"), "there is nothing in it"),
    "score of no bytes": (own("outcome: y, score: empty.csv"), "there is nothing in it"),
    "table of nothing": (own("outcome: y").replace("mine.csv", "hollow"), "there is nothing in it"),
    "settings of no data set": ("datasets: {adlut: {rows: 500}}\n", "did you mean 'adult'"),
    "a path and a query": (
        study("dataset: adult", "dataset: own_table")
        + "datasets: {own_table: {path: mine.csv, query: {sql: select 1, url: 'sqlite://'}}}\n",
        "names a path and a query",
    ),
    "no such encoding": (own("outcome: y, reading: {encoding: utf-99}"), "no encoding of texts"),
    "encoding of bytes": (own("outcome: y, reading: {encoding: base64}"), "no encoding of texts"),
    "date without signs": (own("outcome: y, columns: {dates: {a: yyyy}}"), "the signs of strptime"),
    "column without a name": (own("outcome: ''"), "outcome is empty"),
    # Promises and groups.
    "weighted promises": (
        own("outcome: y, weight: w, promises: [error(labeled) <= .2]"),
        "leave weight out",
    ),
    "divides by nothing": (promise("coverage(few) >= 1/0"), "divides by 0"),
    "divides by a difference": (promise("coverage(few) >= 1 / (2 - 2)"), "divides by 0"),
    "no number": (promise("coverage(few) >= 1e999"), "a number is too large"),
    "80 of 1": (promise("coverage(few) >= 80"), "no decisions can keep it"),
    "below nothing": (promise("coverage(few) <= -0.1"), "no decisions can keep it"),
    "the same twice": (promise("coverage(few) >= coverage(few)"), "the rates cancel out"),
    "level of five": (promise("parity(few, many, 5)"), "above 0 and at most 1, not 5"),
    "churn of nobody": (promise("churn(everyone) <= 0.1"), "name the column of its decisions"),
    "promise twice": (
        own("outcome: y, promises: [error(labeled) <= .1, error(labeled) <= .1]"),
        "promises names something twice",
    ),
    "group of a word": (
        own('outcome: y, groups: {few: a}, promises: ["coverage(few) >= 0.5"]'),
        "groups.few must be of type mapping",
    ),
    "group of nobody": (
        promise("coverage(few) >= .5").replace("{a: 2}", "{a: {at_least: 5, below: 3}}"),
        "which nothing is",
    ),
    # Logs, offers, targets, filters.
    "the log's own policy": (own(LOG.replace("{new: q}", "{new: p}")), "the log's own policy"),
    "a policy twice": (own(LOG.replace("{new: q}", "{a: q, b: q}")), "one and the same"),
    "policy of two lines": (own(LOG.replace("new", '"a\\nb"')), "letters that are seen"),
    "rewards upside down": (
        own(LOG.replace("reward: r", "reward: {column: r, low: 1, high: 0}")),
        "low must be below high",
    ),
    "offers of words": (own(OFFER.replace("LOWHIGH", "low: a, high: 5")), "'a' is none"),
    "offers beyond": (
        own(OFFER.replace("LOWHIGH", "low: 1, high: 5, grid: [1, 100]")),
        "has the offer 100, which is not between",
    ),
    "offers in disorder": (
        own(OFFER.replace("LOWHIGH", "low: 1, high: 5, grid: [3, 1]")),
        "from the least to the largest",
    ),
    "chances of more than all": (
        own(OFFER.replace("LOWHIGH", "low: 1, high: 5") + ", experiment: {least: 0.3}"),
        "chances sum to 1",
    ),
    "shares of 1.2": (
        own("outcome: y, target: {margins: {a: {x: 0.6, z: 0.6}}}"),
        "neither shares that sum to 1 nor totals",
    ),
    "margins of the outcome": (
        own("outcome: y, target: {margins: {y: {mean: 1}}}"), "the outcome or the id"
    ),
    "a class of numbers": (
        own("outcome: {column: y, kind: number, positive: 1}"), "leave one of them out"
    ),
    "the largest of a class": (
        own('outcome: {column: y, most: 1}, promises: ["error(everyone) <= 0.5"]'),
        "is one of two values: leave most out",
    ),
    # Labels to buy.
    "labels without an id": (own("outcome: y, collect: {budget: 20}"), "needs the key id"),
    "no amount of labels": (bought("by: a"), "by budget (how many labels"),
    "two amounts of labels": (bought("budget: 20, half_width: 0.1"), "give one of the two"),
    "a budget of nothing": (bought("budget: 0"), "budget is 0"),
    "a key of labels": (bought("bugdet: 20"), "did you mean 'budget'"),
    "labels with a tilt": (bought("budget: 20", "tilt: {times: 2}"), "collect and tilt stand"),
    "labels with weights": (bought("budget: 20", "weight: p"), "collect and weight stand"),
    "labels of other people": (
        bought("budget: 20", "target: {table: mine.csv}"), "target names other people"
    ),
    "labels for an AUC of numbers": (
        own("id: a, outcome: {column: y, kind: number}, collect: {budget: 20, for: auc}"),
        "which is of a class",
    ),
    "labels for an AUC by group": (
        bought("budget: 20, for: auc, by: r"), "collect.by is of the mean"
    ),
    "cost of the outcome": (bought("budget: 20, cost: y"), "the outcome or the id"),
    "cost that is ignored": (
        bought("budget: 20, cost: r", "columns: {ignore: [r]}"), "which columns.ignore names"
    ),
    "cost of no column": (bought("budget: 20, cost: z"), "which collect.cost names"),
    "groups of no column": (bought("budget: 20, by: z"), "which collect.by names"),
    "labels that are not there": (
        own("id: a, outcome: y, collected: nowhere.csv"), "collected is 'nowhere.csv'"
    ),
    "labels of a log": (own(LOG + ", collected: mine.csv"), "collected is for tables whose"),
    "highest of an outcome": (bought("budget: 20, for: top"), "of the highest predictions"),
    "events without an id": (
        own("reward: r, predictions: {a: p}, collect: {budget: 20}"), "needs the key id"
    ),
    "events that were dropped": (
        own(EVENTS + "collect: {budget: 20}, keep_rate: 0.5"), "chances go by single events"
    ),
    "the mean of predictions": (
        own(EVENTS + "collect: {budget: 20, for: mean}"), "it is auc, calibration or top"
    ),
    "cost of events": (
        own(EVENTS + "collect: {budget: 20, cost: c}"), "collect.cost is for tables with"
    ),
    "no amount of events": (own(EVENTS + "collect: {for: auc}"), "give one of the two"),
    "events with numbers": (
        own("id: a, reward: {column: r, low: 0}, predictions: {a: p}, collect: {budget: 20}"),
        "is for rewards of 0 and 1",
    ),
    # Groups to ask for.
    "groups without an id": (own("balance: [r], collect: {budget: 20}"), "needs the key id"),
    "a cost of groups": (
        own("id: a, balance: [r], collect: {budget: 20, cost: c}"), "collect.cost is for tables"
    ),
    "a width of groups": (
        own("id: a, balance: [r], collect: {half_width: 0.1}"), "collect.half_width is for tables"
    ),
    "no amount of groups": (own("id: a, balance: [r], collect: {batches: 2}"), "give it; the page"),
    "groups that weigh": (
        own("id: a, balance: [r], weight: w, collected: mine.csv"), "each of whom counts once"
    ),
    # Offers to make.
    "offers without an id": (own(FEES + ", collect: {budget: 20}"), "needs the key id"),
    "a cost of offers": (
        own("id: a, " + FEES + ", collect: {budget: 20, cost: c}"), "this one is of offers"
    ),
    "no amount of offers": (own("id: a, " + FEES + ", collect: {floor: 0.5}"), "give one of the"),
    # Decisions by chance.
    "exploring without an id": (own("outcome: y, " + EXPLORE), "explore needs the key id"),
    "exploring beside a plan": (
        bought("budget: 20", EXPLORE), "explore and collect stand together"
    ),
    "exploring without a share": (
        own("id: a, outcome: y, explore: {monthly: 9}"), "lacks the key 'share'"
    ),
    "exploring everybody twice": (
        own("id: a, outcome: y, explore: {share: 2, monthly: 9}"), "share is 2"
    ),
    "shares of no strata": (
        own("id: a, outcome: y, explore: {share: {north: 0.1}, monthly: 9}"), "explore.by"
    ),
    "a gain without a loss": (
        own("id: a, outcome: y, explore: {share: 0.1, monthly: 9, gain: 3}"), "give both"
    ),
    "strata of no column": (
        own("id: a, outcome: y, explore: {share: 0.1, monthly: 9, by: z}"), "which explore.by names"
    ),
    "strata of the id": (
        own("id: a, outcome: y, explore: {share: 0.1, monthly: 9, by: a}"), "is the outcome or the"
    ),
    "exploring numbers": (
        own("id: a, outcome: {column: y, kind: number}, " + EXPLORE), "outcome.kind is number"
    ),
    "exploring a log": (own(LOG + ", " + EXPLORE), "explore is for tables whose outcome"),
    "release of the group": (own("balance: [r], release: [r]"), "keeps to itself"),
    "another table's study": (
        own("outcome: y, study: {dataset: adult}"), "this study is of the table"
    ),
    "deletes": (
        own("outcome: y").replace("mine.csv", "{sql: delete from x, url: 'sqlite://'}"),
        "begin it with select",
    ),
    "another database": (
        own("outcome: y").replace("mine.csv", "{sql: select 1, url: 'mysql://host/base'}"),
        "not read here",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A checkout that lists two papers, and a folder to work in."""
    home = tmp_path_factory.mktemp("home")
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["studies_of"] = ["smith_elkan_2007", "mineiro_2010"]
    (home / "config.yaml").write_text(yaml.safe_dump(config))
    (home / "workflow").mkdir()
    (home / "workflow" / "studies").symlink_to(ROOT / "workflow" / "studies")
    (home / "mine.csv").write_text("y,a,r,p,q\n1,2,0,0.5,0.5\n")
    (home / "empty.csv").touch()
    (home / "hollow" / "below").mkdir(parents=True)
    (home / "parts").mkdir()
    (home / "parts" / "one.csv").write_text("y,a\n1,2\n")
    return home


def planned(home, content, monkeypatch):
    """Exit status and what is printed; nothing but the file may be left in the folder."""
    monkeypatch.chdir(home)
    monkeypatch.setattr(reading, "HOME", home)
    file = home / "case.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(home.rglob("*"))
    status = reading.main([file])
    assert sorted(home.rglob("*")) == before
    return status


@pytest.mark.parametrize(("content", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_sentence_and_leaves_nothing(home, content, words, monkeypatch, capsys):
    assert planned(home, content, monkeypatch) == 1
    told = capsys.readouterr().err
    assert words in told
    assert len(told.splitlines()) == 1 and len(told) < 700


@pytest.mark.parametrize(
    "content",
    [STUDY.replace("FIRST", f"sweep: {{l2: {MANY}}}"), study() + "    title: <b>\n", "seed: 5\n"],
    ids=["a sweep of 130 settings", "HTML in a title", "one key"],
)
def test_what_is_no_mistake_is_planned(home, content, monkeypatch, capsys):
    assert planned(home, content, monkeypatch) == 0
    assert "The config holds together" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        # Snakemake's own: its last line says what it is, and docs/troubleshooting.md what to do.
        (("--configfile", "utf16.yaml"), "can't decode byte 0xff"),
        (("--configfile", "fine.yaml", "results/x.html"), "file or directory: 'results/x.html'"),
        (("--configfile", "nobody.yaml"), "No such file or directory: 'nobody.yaml'"),
        (("results/reprot.html",), "results/reprot.html"),
        # Ours.
        (("--config", "only=[adult_kept]"), "which only leaves out: add adult_married"),
        (("--config", "results=res{x}"), "leave braces out"),
    ],
)  # fmt: skip
def test_mistakes_on_the_command_line_leave_nothing(copied, arguments, words):
    copy = copied()
    (copy.folder / "utf16.yaml").write_bytes("repeats: 2\n".encode("utf-16"))
    (copy.folder / "fine.yaml").write_text("repeats: 2\n")
    run = copy.run(*arguments)
    assert run.status != 0 and not run.jobs
    assert words in run.output
    assert not copy.results.exists() and not (copy.folder / "data").exists()
