"""Apply a filter with pandas: python read_filter.py filter.parquet people.csv filter.key"""

import hmac
import json
import sys
import unicodedata
from pathlib import Path

import pandas as pd


def read(texts, kind, form):
    """A column of texts as the table of the fit was read: numbers, yes and no, days since 1970."""
    if kind == "boolean":
        words = {form.get("true", "true").lower(): 1.0, form.get("false", "false").lower(): 0.0}
        return texts.str.strip().str.lower().map(words)
    if kind == "date":
        order, told = form.get("order", "ymd"), form.get("format")
        days = pd.to_datetime(texts, format=told, dayfirst=not told and order[0] == "d")
        return (days - pd.Timestamp(0)) / pd.Timedelta(days=1)
    if kind == "number" and form.get("decimal"):
        texts = texts.str.replace(form.get("thousands") or " ", "").str.replace(
            form["decimal"], "."
        )
    return texts


def encoded(people, features):
    """One list of numbers a person."""
    made = []
    for feature in features.itertuples():
        values, missing = people[feature.of], people[feature.of].isna()
        own = features[(features["of"] == feature.of) & (features["kind"] == "category")]["text"]
        made.append(
            pd.to_numeric(values).fillna(feature.value).astype(float)
            if feature.kind == "number"
            else missing.astype(float)
            if feature.kind == "blank"
            else (values == feature.text).astype(float)
            if feature.kind == "category"
            else (~values.isin(own) & ~missing).astype(float)
        )
    return zip(*made, strict=True) if made else [()] * len(people)


def chances(x, array):
    """Probability of each leaf for one person, from the root on; parents stand before children."""
    chance, of = {(-1, 0): 1.0}, array("condition_hypothesis")
    for s, parent in enumerate(array("split_parent")):
        side, cut = 0.0, array("split_cut").iloc[s]
        for h in [h for h, split in enumerate(array("hypothesis_split")) if split == s]:
            rules = [h] if of.empty else of.index[of == h].get_level_values("i")
            scores = array("hypothesis_coefficients").loc[rules].unstack() @ x
            if (scores + array("hypothesis_intercept").loc[rules].to_numpy() > 0).all():
                side += array("hypothesis_probability").iloc[h]
        side = min(side, 1.0) if cut != cut else float(side > cut)
        above = chance[parent, array("split_side").iloc[s]]
        chance[s, 1], chance[s, 0] = above * side, above * (1.0 - side)
    return [chance[place] for place in zip(array("leaf_split"), array("leaf_side"), strict=True)]


if __name__ == "__main__":
    rows, people = pd.read_parquet(sys.argv[1]), pd.read_csv(sys.argv[2], dtype=str)
    part = {name: own.set_index("name") for name, own in rows.groupby("part")}
    for name, told in part["type"].iterrows() if "type" in part else ():
        people[name] = read(people[name], told["kind"], json.loads(told["text"]))
    arrays = {name: a.set_index(["i", "j"])["value"] for name, a in part["array"].groupby("name")}
    leaf = part["leaf"][part["leaf"]["kind"] == "acceptance"]["value"].tolist()
    person, digest = part["fact"]["text"]["id"], part["fact"]["text"]["digest"]
    for name, x in zip(people[person], encoded(people, part["feature"]), strict=True):
        texts = unicodedata.normalize("NFC", name.strip()), f"filter {digest}"
        told = b"".join(len(t.encode()).to_bytes(8, "big") + t.encode() for t in texts)
        told = hmac.digest(Path(sys.argv[3]).read_bytes().strip(), told, "sha256")
        draw, coin = (int.from_bytes(told[at : at + 8], "big") >> 11 for at in (0, 8))
        ends = pd.Series(chances(x, lambda key: arrays.get(key, pd.Series(dtype=float)))).cumsum()
        at = int((ends <= draw / 2**53 * ends.iloc[-1]).sum())
        print(f"{name},{'yes' if coin / 2**53 < leaf[at] else 'no'}")
