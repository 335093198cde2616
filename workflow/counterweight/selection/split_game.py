"""What a leaf of a proxy tree can be split into: hypotheses, and the game over their mixtures.

A hypothesis sends a row to side 1 or not. Prices g (K,) say what the weight of each group is
worth on side 1; the answer of a class is its hypothesis of (nearly) the largest worth. Each
hypothesis is told as paths: lists of conditions x b + b_0 > 0 on raw features that all hold on
one path at most, so that a row is on side 1 where all conditions of some path hold.

The game is Algorithm 3 of Deng et al. (2023) on sums over groups. What a split h does to the tree
depends only on N, the weight of each group on its side 1 (K numbers): the shares of both children,
non-disclosure and the Lagrangian cost are linear in N, and so is the best response,
h(x) = 1[s(x) g > 0] with s(x) the regression of the leaf's groups on the features and g the
coefficients of N. A round of the game is one n x K product.
"""

import numpy as np

from counterweight.numerics.boosted_trees import end_nodes

#: Cuts that are tried of a feature, at most.
CUTS = 16


class Linear:
    """Half-spaces 1[s(x) g > 0], with s(x) the regression of the groups on the features.

    The paired regression of Deng et al. (2023), Definition 14, for all prices at once. `rows` are
    those of the leaf, None for all, `weight` (n,) is theirs.
    """

    #: Whether conditions lie between values of the features, where rounding moves no row.
    settled = False

    def __init__(self, design, rows, weight):
        self.design = design
        self.coefficients, X = design.regression(rows, weight)
        self.scores = X @ self.coefficients

    def values(self, directions):
        """What the class sees of prices: values whose range the cuts of a split lie in, (v, m)."""
        return self.scores @ directions.T

    def says(self, directions):
        """Whether rows are on side 1, by the answer to each of some prices, (n, m) of bool."""
        return self.values(directions) > 0

    def paths(self, directions):
        """Each answer as paths, these as pairs of coefficients (c, d) and intercepts (c,)."""
        b = (self.coefficients @ directions.T).T
        intercepts = b[:, -1]
        b = b[:, :-1] / self.design.scale
        intercepts = intercepts - b @ self.design.mean
        return [[(b[i : i + 1], intercepts[i : i + 1])] for i in range(len(b))]


class Stumps:
    """Single features against a cut, on either side of it: the best of all that are tried.

    Cuts lie between values of all training rows, at quantiles where a feature has many.
    """

    settled = True

    def __init__(self, design, rows, weight):
        self.cuts = design.cuts()
        self.X = design.raw if rows is None else design.raw[rows]
        Z = design.Z if rows is None else design.Z[rows]
        wZ = Z * weight[:, None]
        self.total = wZ.sum(axis=0)
        above = []
        for feature, cuts in enumerate(self.cuts):
            cell = np.searchsorted(cuts, self.X[:, feature])
            sums = [np.bincount(cell, weights=one, minlength=len(cuts) + 1) for one in wZ.T]
            # Rows above cut i are those in the cells behind it.
            above.append(np.cumsum(np.column_stack(sums)[::-1], axis=0)[::-1][1:])
        self.above = np.concatenate(above)
        self.feature = np.repeat(np.arange(len(self.cuts)), [len(cuts) for cuts in self.cuts])
        self.cut = np.concatenate(self.cuts)
        self.first = design.first

    def values(self, directions):
        """Mean price of the rows on each side of each cut."""
        sides = np.concatenate([self.above, self.total - self.above])
        mass = sides[:, : self.first].sum(axis=1)
        return (sides[mass > 0] / mass[mass > 0, None]) @ directions.T

    def _best(self, directions):
        gain = self.above @ directions.T
        back = self.total @ directions.T - gain
        best = np.maximum(gain, back).argmax(axis=0)
        at = np.arange(len(directions))
        return best, gain[best, at] >= back[best, at]

    def says(self, directions):
        """As `Linear.says`."""
        best, up = self._best(directions)
        return (self.X[:, self.feature[best]] > self.cut[best]) == up

    def paths(self, directions):
        """As `Linear.paths`."""
        made = []
        for best, up in zip(*self._best(directions), strict=True):
            sign = 1.0 if up else -1.0
            b = np.zeros((1, self.X.shape[1]))
            b[0, self.feature[best]] = sign
            made.append([(b, np.array([-sign * self.cut[best]]))])
        return made


class Trees:
    """Unions of the cells of a shallow tree that regresses the groups on the features.

    1[s(x) g > 0] as `Linear`, with s(x) the groups' shares in the cell of x. CART, by
    scikit-learn.
    """

    settled = True

    def __init__(self, design, rows, weight):
        from sklearn.tree import DecisionTreeRegressor

        self.X = design.raw if rows is None else design.raw[rows]
        Z = design.Z if rows is None else design.Z[rows]
        fitted = DecisionTreeRegressor(
            max_depth=design.depth, min_samples_leaf=max(1, len(self.X) // 200), random_state=0
        ).fit(self.X, Z, sample_weight=weight)
        self.tree = fitted.tree_
        self.shares = self.tree.value[:, :, 0]
        t = self.tree
        ends = end_nodes(self.X, t.feature, t.threshold, t.children_left, t.children_right)
        self.scores = self.shares[ends]

    values, says = Linear.values, Linear.says

    def paths(self, directions):
        """As `Linear.paths`: one for each largest part of the tree that is all on side 1."""
        return [self._paths(0, direction, []) or [self._constant(-1.0)] for direction in directions]

    def _constant(self, sign):
        return np.zeros((1, self.X.shape[1])), np.array([sign])

    def _paths(self, node, direction, conditions):
        tree = self.tree
        sides = [self.shares[end] @ direction > 0 for end in self._ends(node)]
        if any(sides) and not all(sides):
            found = []
            for child, sign in ((tree.children_left, -1.0), (tree.children_right, 1.0)):
                b = np.zeros(self.X.shape[1])
                b[tree.feature[node]] = sign
                own = [*conditions, (b, -sign * tree.threshold[node])]
                found += self._paths(child[node], direction, own)
            return found
        if not sides[0]:
            return []
        if not conditions:
            return [self._constant(1.0)]
        return [tuple(map(np.array, zip(*conditions, strict=True)))]

    def _ends(self, node):
        """Cells below a node."""
        if self.tree.children_left[node] < 0:
            return [node]
        children = self.tree.children_left[node], self.tree.children_right[node]
        return [end for child in children for end in self._ends(child)]


HYPOTHESES = {"linear": Linear, "stumps": Stumps, "trees": Trees}


def cuts_of(X):
    """Cuts of each feature: between its values, at quantiles where they are many."""
    made = []
    for column in X.T:
        values = np.unique(column)
        middle = (values[1:] + values[:-1]) / 2
        # Values that are neighbours as floats have no middle.
        middle = middle[(middle > values[:-1]) & (middle < values[1:])]
        if len(middle) > CUTS:
            wanted = np.quantile(column, np.linspace(0, 1, CUTS + 2)[1:-1])
            middle = middle[np.unique(np.searchsorted(middle, wanted).clip(0, len(middle) - 1))]
        made.append(middle)
    return made


#: Weights of a mixture below this are dropped.
TINY = 1e-9
#: Row numbers of a row without entries.
NOTHING = np.empty(0, np.int32)
#: First step of the Auditor per unit of the distance; it falls with the square root of the round.
#: The multipliers of the linear programs are mostly of this order.
STEP = 8.0
#: Hypotheses that a leaf remembers from one search to the next.
POOL = 60
#: A split that is mixed until it is on a limit is taken this much less of.
INSIDE = 1 - 1e-12
#: Rounds of answers to the multipliers of the linear program, beyond those of the game.
COLUMNS = 1


class Design:
    """Training rows as the oracle sees them: standardised features with an intercept.

    `first` is the number of groups of the first class, whose block of `Z` (n, K) sums to 1 in each
    row; `ones` (K,) is 1 for them. `l2` is added to the diagonal of the Gram matrix per unit of
    weight, 1e-9 at least, since one-hot features are not of full rank; `depth` is that of trees,
    where these are the `hypotheses`.
    """

    def __init__(self, X, Z, first, *, l2, hypotheses="linear", depth=2):
        self.raw = X
        self.mean = X.mean(axis=0)
        spread = X.std(axis=0)
        self.scale = np.where(spread > 1e-12 * np.abs(self.mean), spread, 1.0)
        n, d = X.shape
        self.X = np.empty((n, d + 1))
        np.subtract(X, self.mean, out=self.X[:, :d])
        self.X[:, :d] /= self.scale
        self.X[:, d] = 1.0
        self.Z, self.first = Z, first
        self.ones = (np.arange(Z.shape[1]) < first).astype(float)
        self.l2 = l2
        self.hypotheses, self.depth = HYPOTHESES[hypotheses], depth
        self.tried = None

    def regression(self, rows, w):
        """Coefficients (d + 1, K) of the groups' weights on the features, and these features."""
        from scipy.linalg import cho_solve

        X = self.X if rows is None else self.X[rows]
        M = X.T @ self.weighted_groups(rows, w)
        # A product with itself takes half the work of any other.
        half = X * np.sqrt(w)[:, None]
        return cho_solve(self._factor(half.T @ half, w.sum()), M), X

    def cuts(self):
        """Cuts of each feature that stumps try."""
        if self.tried is None:
            self.tried = cuts_of(self.raw)
        return self.tried

    def weighted_groups(self, rows, w):
        """Weight of each group in some rows, (rows, K)."""
        return (self.Z if rows is None else self.Z[rows]) * w[:, None]

    def _factor(self, gram, weight):
        from scipy.linalg import cho_factor

        gram = gram.copy()
        gram[np.diag_indices_from(gram)] += max(self.l2, 1e-9) * weight
        return cho_factor(gram)


class Leaf:
    """A leaf with the weights (n,) of its rows, and the hypotheses that were played in it.

    `place` is the split that made the leaf and its side; (-1, 0) for the root. `violations` tells
    by mixture how far it was beyond alpha before it was repaired.
    """

    def __init__(self, design, place, depth, weight):
        self.design, self.place, self.depth = design, place, depth
        rows = np.flatnonzero(weight > 0)
        self.rows = None if len(rows) > 0.8 * len(weight) else rows
        self.weight = weight
        self.counts = weight @ design.Z
        self.mass = float(self.counts[: design.first].sum())
        self.shares = self.counts / self.mass
        self.oracle, self.violations = None, {}

    def prepare(self):
        """Fit the class of hypotheses to the leaf, once; start the pool of hypotheses."""
        if self.oracle is not None:
            return
        w = self.weight if self.rows is None else self.weight[self.rows]
        self.wZ = self.design.weighted_groups(self.rows, w)
        self.oracle = self.design.hypotheses(self.design, self.rows, w)
        K = len(self.counts)
        self.directions = np.zeros((2, K))
        self.sums = np.vstack([self.counts, np.zeros(K)]) / self.mass

    def play(self, directions):
        """Side-1 weight of each group for answers to prices, per unit of the leaf's mass."""
        side = self.oracle.says(directions).astype(float)
        sums = side.T @ self.wZ / self.mass
        self.directions = np.vstack([self.directions, directions])
        self.sums = np.vstack([self.sums, sums])
        return sums

    def answers(self, which):
        """What some hypotheses of the pool say of the leaf's rows, (rows, m) of bool."""
        says = self.oracle.says(self.directions[which])
        says[:, np.asarray(which) == 0] = True
        says[:, np.asarray(which) == 1] = False
        return says

    def trim(self, most):
        """Forget the oldest hypotheses beyond `most`, but not the two constants."""
        if len(self.sums) > most:
            newest = np.r_[0, 1, len(self.sums) - most + 2 : len(self.sums)]
            self.directions, self.sums = self.directions[newest], self.sums[newest]


class Limits:
    """Non-disclosure and size of both children, linear in N (A.4 in homogeneous form).

    `r` (K,) are the base shares; `least` is the least weight of a child, in rows.
    """

    def __init__(self, leaf, r, alpha, least):
        ones, one = leaf.design.ones, np.eye(len(r))
        over = one - np.outer(r + alpha, ones)
        under = np.outer(r - alpha, ones) - one
        # A share cannot exceed 1 nor fall below 0: those limits never bind.
        side = np.vstack([over[r + alpha < 1], under[r - alpha > 0]])
        whole = leaf.shares
        least = min(least / leaf.mass, 0.5)
        self.r, self.alpha, self.whole, self.ones = r, alpha, whole, ones
        self.rows = np.vstack([side, -side, -ones, ones])
        self.bounds = np.concatenate([np.zeros(len(side)), -side @ whole, [-least, 1.0 - least]])

    def violation(self, N):
        """How far a child's shares are from the base shares beyond alpha; 0 within."""
        inside = float(N @ self.ones)
        parts = [N / inside] if inside > 0 else []
        parts += [(self.whole - N) / (1 - inside)] if inside < 1 else []
        return max(0.0, float(np.abs(np.array(parts) - self.r).max()) - self.alpha)

    def excess(self, N):
        """By how much each limit is exceeded, (m, limits)."""
        return N @ self.rows.T - self.bounds

    def share(self, N):
        """How much of a split, mixed with an even chance, keeps to the limits; infinite for all.

        An even chance keeps to every limit that the leaf keeps to. None where the leaf itself is on
        a limit that the split is beyond.
        """
        excess, middle = self.excess(N), self.excess(self.whole / 2)
        over = excess > 0
        if not over.any():
            return np.inf
        if (middle[over] >= 0).any():
            return None
        return float((-middle[over] / (excess[over] - middle[over])).min())


def game(leaf, limits, D, levels, rounds):
    """Learner and Auditor, one game for each level Q (m,) at once; all hypotheses join the pool.

    The Learner answers the multipliers of the Auditor by the oracle, the Auditor takes a
    projected gradient step. The first answers are those without limits; where they keep to
    them, the multipliers stay 0 and the game is over.
    """
    objective = D[None] - levels[:, None] * limits.ones
    multipliers = np.zeros((len(levels), len(limits.bounds)))
    for t in range(rounds):
        sums = leaf.play(objective - multipliers @ limits.rows)
        step = STEP * np.linalg.norm(D) / np.sqrt(t + 1.0)
        moved = np.maximum(multipliers + step * limits.excess(sums), 0.0)
        if np.array_equal(moved, multipliers):
            break
        multipliers = moved


def as_printed(leaf, r, alpha, D, levels, rounds, epsilon):
    """Algorithm 3 as it is printed, with sums per unit of the leaf's mass; one mixture a level.

    The limits are those of program (3): |sum w h (1[z = k] - r_k)| <= alpha for both sides,
    which are not divided by the weight of the side. Multipliers never fall, steps are t^(-1/2),
    the answer is the mean of all hypotheses played: probabilities over the leaf's pool, which may
    be beyond alpha. Two things differ from print: the rounds are `rounds`, not some 10^25, and Q is
    a level that is given (the printed f admits no split).
    """
    ones, gap = leaf.design.ones, leaf.shares - r
    shift = np.eye(len(r)) - np.outer(r, ones)
    rows = np.vstack([shift, -shift, -shift, shift])
    bounds = alpha + np.concatenate([0 * r, 0 * r, -gap, gap])
    most = (len(r) - 1) / (len(r) * max(epsilon, 1e-9)) + 2
    objective = D[None] - levels[:, None] * ones
    multipliers, played = np.zeros((len(levels), len(bounds))), []
    for t in range(rounds):
        directions = objective - multipliers @ rows
        sums = leaf.oracle.says(directions).T @ leaf.wZ / leaf.mass
        played.append(directions)
        multipliers = multipliers + np.maximum(sums @ rows.T - bounds, 0.0) / np.sqrt(t + 1.0)
        norm = np.linalg.norm(multipliers, axis=1, keepdims=True)
        multipliers *= np.minimum(1.0, most / np.maximum(norm, most))
    mixtures = []
    for own in np.swapaxes(played, 0, 1):
        distinct, counts = np.unique(own, axis=0, return_counts=True)
        start = len(leaf.sums)
        leaf.play(distinct)
        mixtures.append(np.append(np.zeros(start), counts / rounds))
    return [np.pad(p, (0, len(leaf.sums) - len(p))) for p in mixtures]


def repaired(leaf, limits, p):
    """A mixture of the pool with an even chance, as little of it as puts it within the limits.

    None where the leaf itself is on a limit that the mixture is beyond.
    """
    share = limits.share(p @ leaf.sums)
    if share is None or share > 1:
        return p if share else None
    p = p * share * INSIDE
    p[:2] += (1 - p.sum()) * np.array([0.5, 0.5])
    return p


class Mixtures:
    """Best mixtures of a leaf's pool within the limits, one objective after the other.

    Linear programs that differ in the objective, and in what has joined the pool since: each
    begins where the one before ended.
    """

    def __init__(self, leaf, limits):
        self.leaf, self.limits = leaf, limits
        self._program = None

    def best(self, objective):
        """Best mixture p for the gain (K,) of each group's weight on side 1, and duals.

        A vertex: at most one hypothesis more than there are limits. It is the best hypothesis
        alone where that one keeps to the limits; None where no mixture does. With it the
        multipliers of the limits, and the value that a further hypothesis has to beat.
        """
        values = self.leaf.sums @ objective
        best = int(values.argmax())
        if (self.limits.excess(self.leaf.sums[best]) <= 0).all():
            return np.eye(len(values))[best], np.zeros(len(self.limits.bounds)), float(values[best])
        found = self._solved(values)
        if found is None:
            return None, None, None
        p, duals = found
        p = np.where(p > TINY, p, 0.0)
        return p / p.sum(), -duals[:-1], -float(duals[-1])

    def _solved(self, values):
        """Primal and dual solution for the values of the pool, the sum's dual last; or None."""
        import highspy

        if self._program is None:
            self._program = highspy.Highs()
            self._program.setOptionValue("output_flag", False)
            self._program.setOptionValue("threads", 1)
            for bound in self.limits.bounds:
                self._program.addRow(-np.inf, bound, 0, NOTHING, np.empty(0))
            self._program.addRow(1.0, 1.0, 0, NOTHING, np.empty(0))
        program, there = self._program, self._program.getNumCol()
        new = self.leaf.sums[there:]
        if len(new):
            columns = np.column_stack([new @ self.limits.rows.T, np.ones(len(new))])
            across = np.tile(np.arange(columns.shape[1], dtype=np.int32), len(new))
            starts = np.arange(len(new), dtype=np.int32) * columns.shape[1]
            low, high = np.zeros(len(new)), np.full(len(new), np.inf)
            program.addCols(
                len(new), low, low, high, columns.size, starts, across, np.ravel(columns)
            )
        every = np.arange(len(values), dtype=np.int32)
        program.changeColsCost(len(values), every, -values)
        program.run()
        if program.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = program.getSolution()
        return np.array(solution.col_value), np.array(solution.row_dual)


def proposals(leaf, limits, D, *, thresholds, rounds, epsilon, solver="program"):
    """Mixtures of hypotheses worth trying as the split of a leaf.

    One for each level Q of the objective sum w h (D_z - Q), from the leaf's mean of D towards
    the largest that the regression predicts: few rows that point straight to the target, or
    many that do so less. `D` (K,) is the target minus the closest point of the hull. The solver
    "program" plays the game, then solves linear programs over what was played; "printed" is
    `as_printed`, then `repaired`. Each mixture is of probabilities over the leaf's pool.
    """
    leaf.prepare()
    leaf.trim(POOL)
    middle = float(leaf.shares @ D)
    top = max(float(np.quantile(leaf.oracle.values(D), 0.995)), middle)
    levels = middle + (top - middle) * np.arange(thresholds) / thresholds
    if solver == "printed":
        found, leaf.violations = [], {}
        mixtures = as_printed(leaf, limits.r, limits.alpha, D, levels, rounds, epsilon)
        for p in mixtures:
            again = repaired(leaf, limits, p.copy())
            if again is not None:
                leaf.violations[again.tobytes()] = limits.violation(p @ leaf.sums)
                found.append(again)
        return found
    objectives = D - levels[:, None] * limits.ones
    game(leaf, limits, D, levels, rounds)
    programs = Mixtures(leaf, limits)
    mixtures = [programs.best(c) for c in objectives]
    pending = [i for i, (p, _, _) in enumerate(mixtures) if p is not None]
    for _ in range(COLUMNS):
        if not pending:
            break
        answers = np.array([objectives[i] - mixtures[i][1] @ limits.rows for i in pending])
        gains = (leaf.play(answers) * answers).sum(axis=1) - [mixtures[i][2] for i in pending]
        enough = epsilon * np.linalg.norm(D)
        pending = [i for i, gain in zip(pending, gains, strict=True) if gain > enough]
        for i in pending:
            again = programs.best(objectives[i])
            mixtures[i] = mixtures[i] if again[0] is None else again
    size = len(leaf.sums)
    return [np.pad(p, (0, size - len(p))) for p, _, _ in mixtures if p is not None]
