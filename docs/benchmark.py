"""Take the tables of ``make benchmark`` into the repository: ``python docs/benchmark.py [tables]``.

Verdicts of claims by seed (``make seeds``): ``python docs/benchmark.py SEED=claims.csv ...``, the
seed of config.yaml first. The CSV files are copied to where the report finds them, the figures
drawn, and tables and sentences written into `docs/benchmark.md`, `docs/papers.md` and the families'
pages between their marks. Without a folder the pages are made anew from the files that are there.
"""

import re
import shutil
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
#: What is kept of a run.
KEPT = ROOT / "workflow" / "counterweight" / "reporting" / "benchmark"
#: Page of each benchmark's family.
PAGES = {
    "selection": "selection_bias",
    "calibration": "selection_bias",
    "budget": "subsampled_logs",
    "logs": "subsampled_logs",
    "offers": "offers",
    "answers": "offers",
    "filters": "balanced_filters",
    "constraints": "constraints",
}
#: What ranks are of, in words, and the conditions in words.
CONFIG = ROOT / "workflow" / "overlays" / "benchmark.yaml"
#: Verdicts of the standard run by seed: a row a claim, a column a seed, that of config.yaml first.
SEEDS = KEPT / "claims_seeds.csv"
#: Methods of a table; those further behind are counted.
MOST = 40


def config():
    import yaml

    return yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["benchmarks"]


def known(name):
    return (KEPT / f"{name}_methods.csv").exists()


def read(name, role):
    return pd.read_csv(KEPT / f"{name}_{role}.csv", keep_default_na=True)


def labels(benchmark):
    """Names in print of methods, or of estimators."""
    if benchmark.get("estimators"):
        from counterweight.evaluation.resampled_logs import VALUE_LABELS

        return VALUE_LABELS["measure"]
    return {one["name"]: one.get("label", one["name"]) for one in benchmark["study"]["models"]}


def in_print(method, names):
    """A method in print: its label, and the setting that sets it apart."""
    first, _, setting = method.partition(" ")
    return f"{names.get(first, first)} {setting}".strip()


def number(value, digits=2):
    return "" if pd.isna(value) else f"{value:.{digits}f}"


def mean_ranks(told):
    """Mean rank of each ranked method over conditions, best first."""
    ranked = told[told["rank"].notna()]
    return ranked.groupby("method")["rank"].mean().sort_values(kind="stable")


def nearest(told, condition):
    """Ranked methods of a condition, best first, and those that cannot be told from the first."""
    here = told[told["condition"].eq(condition) & told["rank"].notna()].sort_values("rank")
    least = here["rank"].iloc[0] + here["critical_difference"].iloc[0]
    return here, here[here["rank"] <= least]["method"].tolist()[1:]


def best(have):
    """Who is best, a row a benchmark and condition: what the report's index shows."""
    for name, benchmark in have.items():
        told, names = read(name, "methods"), labels(benchmark)
        for condition, one in benchmark["conditions"].items():
            here, near = nearest(told, condition)
            row = {"benchmark": benchmark["title"], "condition": one.get("label", condition)}
            row["best"] = in_print(here["method"].iloc[0], names)
            row["near"] = ", ".join(in_print(method, names) for method in near)
            if here["friedman_p"].iloc[0] >= 0.05:
                row |= {"best": "nobody", "near": "methods cannot be told apart"}
            yield row


def verdict(told, names, condition):
    """One sentence on a condition: who is best, and who cannot be told from it."""
    here, near = nearest(told, condition)
    first, apart = here.iloc[0], here["critical_difference"].iloc[0]
    ahead = f"{in_print(first['method'], names)} has the best mean rank ({first['rank']:.1f})"
    if here["friedman_p"].iloc[0] >= 0.05:
        return f"methods cannot be told apart (Friedman's p = {here['friedman_p'].iloc[0]:.2f})."
    if not near:
        return f"{ahead}, and is told apart from every other method."
    listed = ", ".join(in_print(one, names) for one in near)
    return f"{ahead}; it cannot be told apart from {listed} (critical difference {apart:.1f})."


def share_table(told, benchmark):
    """Share of the loss by selection that is won back, a column a condition."""
    names, dial = labels(benchmark), benchmark["conditions"]
    lost = [one for one in dial if told[told["condition"].eq(one)]["share"].notna().any()]
    wide = told.pivot_table("share", "method", "condition", dropna=False, sort=False)
    lows = told.pivot_table("share_low", "method", "condition", dropna=False, sort=False)
    highs = told.pivot_table("share_high", "method", "condition", dropna=False, sort=False)
    worst = told.groupby("method")["worst_change"].max()
    ranks, seconds = mean_ranks(told), told.groupby("method")["seconds"].mean()
    order = [*ranks.index, *[one for one in wide.index if one not in ranks.index]]
    heads = [dial[one].get("label", one) for one in lost]
    lines = ["| method | mean rank | " + " | ".join(heads) + " | worst change | CPU s |"]
    lines.append("| --- |" + " ---: |" * (len(lost) + 3))
    for one in order[:MOST]:
        cells = []
        for condition in lost:
            ends = lows[condition].get(one), highs[condition].get(one)
            value = number(wide[condition].get(one))
            cells.append(f"{value} [{number(ends[0])}, {number(ends[1])}]" if value else "")
        rank = number(ranks.get(one), 1) or "sees what is hidden"
        cells = [rank, *cells, f"{worst[one]:+.3f}" if pd.notna(worst[one]) else ""]
        cells.append(number(seconds[one]))
        lines.append(f"| {in_print(one, names)} | " + " | ".join(cells) + " |")
    return lines


def rank_table(told, benchmark):
    """Mean rank of each method that is ranked, a column a condition, and where it had no answer."""
    names, dial = labels(benchmark), benchmark["conditions"]
    wide = told.pivot_table("rank", "method", "condition")
    failed = told.groupby("method")["failed"].max()
    heads = [dial[one].get("label", one) for one in dial]
    lines = ["| method | " + " | ".join(heads) + " | all | no answer |"]
    lines.append("| --- |" + " ---: |" * (len(heads) + 2))
    for method, mean in mean_ranks(told).items():
        cells = [number(wide.loc[method, one], 1) for one in dial]
        cells += [number(mean, 1), str(failed[method])]
        lines.append(f"| {in_print(method, names)} | " + " | ".join(cells) + " |")
    return lines


def plain_table(told, benchmark):
    """Mean rank, measures, wins against the plain method and costs, a row a method."""
    names, measures = labels(benchmark), benchmark["measures"]
    lines, dial = [], benchmark["conditions"]
    heads = [one.get("label") or name for name, one in measures.items()]
    plain = in_print(benchmark["plain"], names)
    top = ["condition"] * (len(dial) > 1) + ["method", "mean rank", *heads]
    top += [f"better, alike, worse than {plain}", "worst change", "Holm's p", "no answer", "CPU s"]
    lines = ["| " + " | ".join(top) + " |", "| --- |" + " ---: |" * (len(top) - 1)]
    for condition in dial:
        here = told[told["condition"].eq(condition)].sort_values("rank", kind="stable")
        for row in here.head(MOST).to_dict("records"):
            cells = [dial[condition].get("label", condition)] * (len(dial) > 1)
            cells += [in_print(row["method"], names), number(row["rank"], 1)]
            cells += [f"{row[name]:.4g}" if pd.notna(row[name]) else "" for name in measures]
            cells += [f"{row['better']}, {row['alike']}, {row['worse']}"]
            cells += [f"{row['worst_change']:+.3f}" if pd.notna(row["worst_change"]) else ""]
            chance = "< .001" if row["p_holm"] < 0.001 else number(row["p_holm"], 3)
            cells += [chance, str(row["failed"]), number(row["seconds"])]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def pair_table(pairs, benchmark):
    """Claims that are decided over the data sets."""
    lines = ["| claim | says | sets | for, alike, against | sign p | Wilcoxon p | verdict |"]
    lines.append("| --- | --- | ---: | --- | ---: | ---: | --- |")
    several = pairs["condition"].nunique() > 1
    for row in pairs.to_dict("records"):
        counts = f"{row['wins']}, {row['ties']}, {row['defeats']}"
        chances = f"{row['sign_p']:.2g} | {row['wilcoxon_p']:.2g}"
        claim = row["claim"].replace("_", " ")
        if several:
            claim += f", {benchmark['conditions'][row['condition']].get('label')}"
        lines.append(
            f"| {claim} | {row['says']} | {row['sets']} | {counts} | {chances} | {row['verdict']} |"
        )
    return lines


def told_of(name, benchmark):
    """What a page says of a benchmark: its sentences, its figure, its table."""
    told, dial = read(name, "methods"), benchmark["conditions"]
    names = labels(benchmark)
    failed = told[told["failed"] > 0]
    sets = int((told["sets"] + told["failed"]).max())
    lines = [f"**{benchmark['title']}** ({sets} data sets).", ""]
    for condition in dial:
        label = dial[condition].get("label", condition)
        lines.append(f"- *{label}*: {verdict(told, names, condition)}")
    lines.append("")
    if len(failed):
        count = failed.groupby("method")["failed"].max()
        gone = ", ".join(f"{in_print(one, names)} ({int(n)})" for one, n in count.items())
        lines += [f"Without an answer in some data sets, where they rank last: {gone}.", ""]
    return lines


def figure_of(name, benchmark, page):
    """The figure of a benchmark on a page of docs or of one of its folders."""
    above = "../" * (len(page.relative_to(ROOT / "docs").parts) - 1)
    return [f"![{benchmark['title']}]({above}images/benchmark/{name}.svg)"]


def table_of(name, benchmark):
    told = read(name, "methods")
    make = share_table if benchmark.get("equal") else plain_table
    return make(told, benchmark)


def take_seeds(files):
    """Keep the verdicts of runs that differ by their seed alone, from ``SEED=claims.csv``."""
    runs = dict(file.split("=", 1) for file in files)
    verdicts = {seed: pd.read_csv(file).set_index("id")["verdict"] for seed, file in runs.items()}
    pd.DataFrame(verdicts).rename_axis("id").to_csv(SEEDS, lineterminator="\n")


def seeds_told(table):
    """How many verdicts another seed changes, how many it turns round, and which."""
    kept = table[table.columns[0]]
    lines = []
    for seed, other in table.iloc[:, 1:].items():
        held = [one.str.startswith("holds") for one in (kept, other)]
        against = [one.eq("does not hold") for one in (kept, other)]
        turned = (held[0] & against[1]) | (against[0] & held[1])
        lines.append(
            f"Seed {seed} changes {kept.ne(other).sum()} of {len(table)} verdicts, and turns "
            f"{turned.sum() or 'none'} of them from holds to does not hold or back."
        )
    changed = table[table.nunique(axis=1).gt(1)]
    return [
        *lines,
        "",
        f"| claim | {' | '.join(f'seed {seed}' for seed in table)} |",
        f"| --- |{' --- |' * len(table.columns)}",
        *(f"| {claim} | {' | '.join(row)} |" for claim, row in changed.iterrows()),
    ]


def marked(text, mark, lines):
    """A page with new lines between the marks ``<!-- mark -->`` and ``<!-- end -->``."""
    body = "\n".join(lines).strip()
    whole = f"<!-- {mark} -->\n{body}\n<!-- end -->"
    return re.sub(rf"<!-- {mark} -->\n.*?<!-- end -->", lambda _: whole, text, flags=re.DOTALL)


def pages():
    """Every page that shows a benchmark, as it has to be, by path."""
    made = {}
    for name, benchmark in config().items():
        if not known(name):
            continue
        parts = {f"benchmark {name}": told_of(name, benchmark)}
        parts[f"table {name}"] = table_of(name, benchmark)
        parts[f"ranks {name}"] = rank_table(read(name, "methods"), benchmark)
        pairs = KEPT / f"{name}_pairs.csv"
        if benchmark.get("pairs") and pairs.exists():
            parts[f"claims {name}"] = pair_table(pd.read_csv(pairs), benchmark)
        for page in (ROOT / "docs" / "benchmark.md", ROOT / "docs/families" / f"{PAGES[name]}.md"):
            text = made.get(page) or page.read_text(encoding="utf-8")
            parts[f"figure {name}"] = figure_of(name, benchmark, page)
            for mark, lines in parts.items():
                text = marked(text, mark, lines)
            made[page] = text
    papers = ROOT / "docs" / "papers.md"
    told = seeds_told(pd.read_csv(SEEDS, index_col="id"))
    return made | {papers: marked(papers.read_text(encoding="utf-8"), "seeds", told)}


def draw(name, benchmark, path):
    """The figure of a benchmark: shares along the dial, or mean ranks and critical difference."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "counterweight", "svg.fonttype": "none"}
    from matplotlib import pyplot as plt

    told, names = read(name, "methods"), labels(benchmark)
    dial, ranks = [*benchmark["conditions"]], mean_ranks(told)
    shown = [*ranks.index[:8]]
    if benchmark.get("equal"):
        figure, axes = plt.subplots(figsize=(8, 4.4))
        lost = [one for one in dial if told[told["condition"].eq(one)]["share"].notna().any()]
        for at, method in enumerate(shown):
            line = told[told["method"].eq(method)].set_index("condition")["share"].reindex(lost)
            marker = "osD^v<>P"[at % 8]
            axes.plot(range(len(lost)), line, marker=marker, label=in_print(method, names))
        axes.set_xticks(range(len(lost)))
        axes.set_xticklabels([benchmark["conditions"][one].get("label", one) for one in lost])
        axes.axhline(0, color="#888888", linewidth=0.8)
        axes.axhline(1, color="#888888", linewidth=0.8)
        axes.set_ylabel("share of the loss that is won back")
        axes.legend(fontsize=8, frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
        plt.setp(axes.get_xticklabels(), rotation=20, ha="right")
    else:
        shown = [*ranks.index]
        figure, axes = plt.subplots(figsize=(8, 0.6 + 0.32 * len(shown)))
        axes.plot(ranks[shown], range(len(shown)), "o", color="#1f5fa8")
        apart = told["critical_difference"].mean()
        axes.plot(
            [ranks.iloc[0], ranks.iloc[0] + apart], [-0.6, -0.6], color="#b0413e", linewidth=2
        )
        axes.text(ranks.iloc[0], -0.75, "critical difference", fontsize=8, va="bottom")
        axes.set_yticks(range(len(shown)))
        axes.set_yticklabels([in_print(one, names) for one in shown])
        axes.set_ylim(len(shown) - 0.4, -1.6)
        axes.set_xlabel("mean rank over data sets and conditions; 1 is best")
    figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def main(*given):
    if any("=" in one for one in given):
        take_seeds(given)
    for folder in (one for one in given if "=" not in one):
        KEPT.mkdir(exist_ok=True)
        for name in config():
            for role in ("methods", "pairs", "sets"):
                source = Path(folder) / f"{name}_{role}.csv"
                if source.exists() and source.stat().st_size > 1:
                    shutil.copyfile(source, KEPT / source.name)
    have = {name: one for name, one in config().items() if known(name)}
    pd.DataFrame(best(have)).to_csv(KEPT / "best.csv", index=False, lineterminator="\n")
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    for name, benchmark in have.items():
        draw(name, benchmark, ROOT / "docs" / "images" / "benchmark" / f"{name}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
