"""Runs the notebooks and keeps what they show: ``python docs/notebooks.py`` where their files are.

The tables are drawn by ``python examples/tables.py``, the results made by ``make mine
CONFIG=examples/NAME.yaml`` for the examples that a notebook names. Without Jupyter: a cell shows
its last expression, as HTML where the object has it, and the figures that it drew. The pages of
the docs and the gallery are made of what is kept (`pages`).
"""

import ast
import base64
import io
import json
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
#: Dots an inch of the figures that are kept.
DPI = 80
#: What a table stands in: it can be scrolled by keys.
SHOWN = '<div class="shown" role="group" aria-label="Output" tabindex="0">'


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def source(cell):
    return "".join(cell["source"])


def run(cells, name="notebook"):
    """The outputs of each code cell, run one after the other, as notebooks keep them."""
    from matplotlib import pyplot

    pyplot.close("all")
    names, made = {}, []
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse(source(cell))
        shown = None
        if isinstance(tree.body[-1], ast.Expr) and not source(cell).rstrip().endswith(";"):
            shown = ast.Expression(tree.body.pop().value)
        exec(compile(tree, f"{name}, cell {number}", "exec"), names)
        value = shown and eval(compile(shown, f"{name}, cell {number}", "eval"), names)
        outputs = [] if value is None else [result(value)]
        for figure in map(pyplot.figure, pyplot.get_fignums()):
            outputs.append(drawn(figure))
        pyplot.close("all")
        made.append(outputs)
    return made


def result(value):
    """A value as text, and as HTML where it has some."""
    if not hasattr(value, "_repr_html_"):
        data = {"text/plain": repr(value).splitlines(keepends=True)}
    else:
        text = re.sub(r"<style.*?</style>", "", value._repr_html_(), flags=re.S)
        text = re.sub(r' (border="1"|class="dataframe"|style="[^"]*")', "", text)
        data = {"text/html": text.strip().splitlines(keepends=True)}
    return {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}


def drawn(figure):
    """A figure as PNG, with what it says as its text."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    said = [
        " ".join(filter(None, (ax.get_title(loc="left") or ax.get_title(), ax.get_xlabel())))
        for ax in figure.axes
    ]
    data = {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": said}
    return {"output_type": "display_data", "metadata": {}, "data": data}


def write(path):
    """Run a notebook and keep its outputs in it."""
    told = read(path)
    made = iter(run(told["cells"], path.name))
    for cell in told["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = next(made)
    text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def pages():
    """Text of the page of each notebook and of the gallery, and the figures, by path."""
    made, shown = {}, []
    for path in sorted(FOLDER.glob("*.ipynb")):
        lines = []
        for number, cell in enumerate(read(path)["cells"]):
            if cell["cell_type"] == "markdown":
                lines.append(source(cell))
                continue
            lines.append(f"```python\n{source(cell)}\n```")
            for output in cell["outputs"]:
                data = output["data"]
                if "image/png" in data:
                    image = f"{path.stem}-{number}.png"
                    made[f"notebooks/{image}"] = base64.b64decode(data["image/png"])
                    alt = "; ".join(data["text/plain"]).replace("]", "")
                    lines.append(f"![{alt}]({image})")
                    for name in re.findall(r"plots\.(\w+)\(", source(cell)):
                        shown.append((name, path.stem, image, alt, source(cell)))
                elif "text/html" in data:
                    # No line is left blank: Markdown would end the table there.
                    text = "".join(data["text/html"]).replace("\n\n", "\n")
                    text = text.replace("<th></th>", "<td></td>")  # a heading says something
                    lines.append(f"{SHOWN}\n{text}\n</div>")
                else:
                    lines.append(f"```text\n{''.join(data['text/plain'])}\n```")
        lines.append(f"[The notebook]({path.name}), to be opened in Jupyter.")
        made[f"notebooks/{path.stem}.md"] = "\n\n".join(lines) + "\n"
    return made | {"notebooks/gallery.md": gallery(shown)}


def gallery(shown):
    lines = ["# Gallery\n", "Each figure of `counterweight.plots`, with the code that draws it.\n"]
    for name, notebook, image, alt, code in sorted(shown):
        lines += [f"## {name}\n", f"![{alt}]({image})\n", f"```python\n{code}\n```\n"]
        lines += [f"From [a notebook]({notebook}.md), which has the tables; every option: "]
        lines += [f"[`{name}`](../reference/python/plots/{name}.md).\n"]
    return "\n".join(lines)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb")):
        write(FOLDER / f"{name}.ipynb")
