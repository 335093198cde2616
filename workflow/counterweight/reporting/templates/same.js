// Terms of the field that say the same, and words misspelt, for the search of the report and of the docs.
globalThis.SAME = [
  "auc; auroc; area under the curve; area under the roc curve", "rmse; root mean squared error", "r2; r squared; coefficient of determination", "fpr; false positive rate; false alarms",
  "fnr; false negative rate; missed positives", "tpr; true positive rate; recall", "mar; missing at random", "mcar; missing completely at random",
  "mnar; nmar; missing not at random; non-ignorable", "ips; ipw; inverse propensity scoring; inverse propensity weighting; inverse probability weighting",
  "snips; self-normalised ips; self-normalised importance sampling; hajek", "dr; doubly robust", "ess; effective sample size; effective rows",
  "ci; confidence interval; 95 % interval", "demographic parity; statistical parity; coverage ratio", "four fifths; disparate impact; 80 % rule",
  "ope; off-policy evaluation; counterfactual evaluation", "ab test; a/b test; compare policies", "ctr; click-through rate; clicks", "em; expectation maximisation",
  "kmm; kernel mean matching", "svm; support vector machine", "gbm; xgboost; gradient boosting; boosted trees", "wtp; willingness to pay; reservation price",
  "differential privacy; laplace noise; epsilon", "downsampled negatives; negative sampling; keep rate", "credit scoring; reject inference; refused applicants",
  "unmeasured confounding; unobserved confounding; hidden confounder; hidden bias; sensitivity analysis", "install; installation; environment",
  "crash; error message; troubleshooting", "ram; out of memory", "xlsx; excel", "dataframe; data frame; frame", "dataset; data set", "hyperparameters; options",
  "protected attribute; sensitive attribute; group", "active learning; labels to buy; which rows to label", "post-stratification; raking; census margins",
  "bandit; logged actions", "exploration; explore; epsilon greedy", "price optimisation; best offer; dynamic pricing",
].map((line) => line.split("; "));
// Words that are near in meaning, and count for a part of what is asked.
globalThis.NEAR_WORDS = [
  "blank missing unlabeled unknown empty", "price offer discount amount fee", "fair fairness parity discrimination equal",
  "group gender sex race protected sensitive women men", "click log impression event", "label outcome target annotation",
  "judge rater annotator human", "refused rejected declined denied", "approved accepted granted admitted",
  "applicant candidate customer client borrower", "dropped discarded removed thrown lost downsampled subsampled",
  "interval uncertainty confidence sure margin", "buy purchase collect acquire", "sales revenue earnings profit",
  "predict score estimate foretell forecast", "model classifier predictor learner", "fast slow speed runtime long",
  "crash error fail failure problem", "drift shift monitoring", "report page", "save store persist", "columns features variables covariates",
  "rows records observations", "limit bound cap maximum most", "promise constraint requirement", "proof certificate guarantee",
  "explore random experiment", "budget cost money", "quota balance share", "population census", "panel survey volunteer", "date time",
  "threshold cutoff", "leak leakage", "plot chart figure graph", "privacy key secret", "simulate synthetic copies rehearsal",
  "assumption assume suppose", "policy strategy action", "value worth", "recommender ranking recommendation ads", "cluster machines nodes",
  "docker container", "importance influence", "marriage married", "old previous earlier", "people person user household", "attribute column",
].map((line) => line.split(" "));
// The word that was meant by one that stands nowhere: of the same first letter, and one slip away, or two in eight letters (a letter changed,
// left out, added or swapped with the next); of several the nearest, then the one said most. `often` is how often each word is said.
globalThis.meantBy = (word, often) => {
  const slips = (other) => {
    let older = [], old = [...Array(other.length + 1).keys()];
    for (let i = 1; i <= word.length; i++) {
      const row = [i];
      for (let j = 1; j <= other.length; j++) {
        row[j] = Math.min(old[j] + 1, row[j - 1] + 1, old[j - 1] + (word[i - 1] !== other[j - 1]));
        if (word[i - 1] === other[j - 2] && word[i - 2] === other[j - 1]) row[j] = Math.min(row[j], older[j - 2] + 1);
      }
      [older, old] = [old, row];
    }
    return old[other.length];
  };
  const most = /[\d_]/.test(word) ? 0 : word.length > 7 ? 2 : word.length > 3 ? 1 : 0, found = [];
  if (most) often.forEach((count, one) => {
    if (one[0] === word[0] && one.length > 3 && Math.abs(one.length - word.length) <= most) found.push([slips(one), -count, one]);
  });
  return found.filter(([far]) => far <= most).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((one) => one[2])[0] || word;
};
