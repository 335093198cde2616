from counterweight.answers import Answers as Answers
from counterweight.answers import missing_outcomes as missing_outcomes
from counterweight.delivery.saved_scores import SavedScores as SavedScores
from counterweight.models.boosting import BoostedClassifier as BoostedClassifier
from counterweight.models.class_mixtures import GenerativeClassifier as GenerativeClassifier
from counterweight.models.class_mixtures import ShiftedMixtureClassifier as ShiftedMixtureClassifier
from counterweight.models.joint_fits import JointClassifier as JointClassifier
from counterweight.models.joint_fits import TwoSourceClassifier as TwoSourceClassifier
from counterweight.models.logistic import AdaptedLogistic as AdaptedLogistic
from counterweight.models.logistic import CostingClassifier as CostingClassifier
from counterweight.models.logistic import LogisticModel as LogisticModel
from counterweight.models.tilted import TiltedClassifier as TiltedClassifier
from counterweight.numerics.tilt import class_shares as class_shares
from counterweight.numerics.tilt import estimate_delta as estimate_delta
from counterweight.numerics.tilt import tilted as tilted
from counterweight.selection.mixture_selector import (
    GaussianMixtureSelector as GaussianMixtureSelector,
)
from counterweight.selection.selectors import GradientBoostingSelector as GradientBoostingSelector
from counterweight.selection.selectors import LogisticSelector as LogisticSelector
from counterweight.selection.selectors import selection_probabilities as selection_probabilities
from counterweight.weighting.importance_weights import cap_weights as cap_weights
from counterweight.weighting.importance_weights import (
    effective_sample_size as effective_sample_size,
)
from counterweight.weighting.importance_weights import general_weights as general_weights
from counterweight.weighting.importance_weights import unlabeled_weights as unlabeled_weights
from counterweight.weighting.sample import Sample as Sample

SELECTORS: dict[str, str]
