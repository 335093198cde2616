from counterweight import collect as collect
from counterweight import constraints as constraints
from counterweight import filters as filters
from counterweight import logs as logs
from counterweight import metrics as metrics
from counterweight import offers as offers
from counterweight import plots as plots
from counterweight import selection as selection
from counterweight.answers import Answers as Answers
from counterweight.answers import missing_outcomes as missing_outcomes
from counterweight.delivery.group_plans import GroupAnswers as GroupAnswers
from counterweight.delivery.group_plans import GroupPlan as GroupPlan
from counterweight.delivery.label_plans import LabelAnswers as LabelAnswers
from counterweight.delivery.label_plans import LabelPlan as LabelPlan
from counterweight.delivery.offer_plans import OfferPlan as OfferPlan
from counterweight.delivery.offer_plans import TriedAnswers as TriedAnswers
from counterweight.delivery.saved_classifiers import SavedClassifier as SavedClassifier
from counterweight.delivery.saved_filters import SavedFilter as SavedFilter
from counterweight.delivery.saved_filters import apply_filter as apply_filter
from counterweight.delivery.saved_filters import read_filter as read_filter
from counterweight.delivery.saved_log_values import SavedValues as SavedValues
from counterweight.delivery.saved_models import load as load
from counterweight.delivery.saved_offers import SavedOffers as SavedOffers
from counterweight.delivery.saved_scores import SavedScores as SavedScores
from counterweight.errors import CounterweightError as CounterweightError
from counterweight.evaluation.collected import collected_by_group as collected_by_group
from counterweight.evaluation.collected import collected_calibration as collected_calibration
from counterweight.evaluation.collected import collected_difference as collected_difference
from counterweight.evaluation.collected import collected_mean as collected_mean
from counterweight.evaluation.collected import collected_metric as collected_metric
from counterweight.evaluation.metrics import compare_metrics as compare_metrics
from counterweight.evaluation.metrics import compare_segments as compare_segments
from counterweight.evaluation.metrics import grouped_estimate as grouped_estimate
from counterweight.evaluation.metrics import metric_estimate as metric_estimate
from counterweight.evaluation.offer_value import offer_value as offer_value
from counterweight.evaluation.policy_value import doubly_robust as doubly_robust
from counterweight.evaluation.policy_value import ips as ips
from counterweight.evaluation.policy_value import snips as snips
from counterweight.evaluation.policy_value import value_from_parquet as value_from_parquet
from counterweight.evaluation.refutation import Decided as Decided
from counterweight.evaluation.refutation import collected_rates as collected_rates
from counterweight.evaluation.refutation import refusal_bounds as refusal_bounds
from counterweight.evaluation.refutation import refuted as refuted
from counterweight.models.boosting import BoostedClassifier as BoostedClassifier
from counterweight.models.choice.additive import OfferAdditive as OfferAdditive
from counterweight.models.choice.baselines import OfferLogistic as OfferLogistic
from counterweight.models.choice.baselines import OfferNaiveBayes as OfferNaiveBayes
from counterweight.models.choice.baselines import OfferTree as OfferTree
from counterweight.models.choice.logitboost import LogisticTree as LogisticTree
from counterweight.models.choice.logitboost import LogitBoost as LogitBoost
from counterweight.models.choice.logitboost import OfferBoosting as OfferBoosting
from counterweight.models.choice.predictive_choice import (
    PredictiveChoiceModel as PredictiveChoiceModel,
)
from counterweight.models.class_mixtures import GenerativeClassifier as GenerativeClassifier
from counterweight.models.class_mixtures import ShiftedMixtureClassifier as ShiftedMixtureClassifier
from counterweight.models.combined_labels import combined_model as combined_model
from counterweight.models.constraints.constrained import (
    ConstrainedClassifier as ConstrainedClassifier,
)
from counterweight.models.constraints.constrained import RetrainedClassifier as RetrainedClassifier
from counterweight.models.constraints.fairlearn_models import (
    ExponentiatedGradientModel as ExponentiatedGradientModel,
)
from counterweight.models.constraints.fairlearn_models import (
    ThresholdOptimizerModel as ThresholdOptimizerModel,
)
from counterweight.models.constraints.linear_svm import CovarianceConstraint as CovarianceConstraint
from counterweight.models.constraints.linear_svm import GroupThresholds as GroupThresholds
from counterweight.models.constraints.linear_svm import NeymanPearsonSVM as NeymanPearsonSVM
from counterweight.models.constraints.linear_svm import ShiftedThreshold as ShiftedThreshold
from counterweight.models.constraints.reductions import ReductionsClassifier as ReductionsClassifier
from counterweight.models.constraints.thresholds import GivenScores as GivenScores
from counterweight.models.joint_fits import JointClassifier as JointClassifier
from counterweight.models.joint_fits import TwoSourceClassifier as TwoSourceClassifier
from counterweight.models.logistic import AdaptedLogistic as AdaptedLogistic
from counterweight.models.logistic import CostingClassifier as CostingClassifier
from counterweight.models.logistic import LogisticModel as LogisticModel
from counterweight.models.subsampling.budgeted import BudgetedClassifier as BudgetedClassifier
from counterweight.models.subsampling.calibrated_subsample import (
    CalibratedSubsampleClassifier as CalibratedSubsampleClassifier,
)
from counterweight.models.subsampling.calibrated_subsample import (
    CalibratedSubsampleRegressor as CalibratedSubsampleRegressor,
)
from counterweight.models.subsampling.calibrated_subsample import (
    OnePassClassifier as OnePassClassifier,
)
from counterweight.models.subsampling.calibrated_subsample import (
    OnePassRegressor as OnePassRegressor,
)
from counterweight.models.subsampling.subsampled import SubsampledClassifier as SubsampledClassifier
from counterweight.models.tilted import TiltedClassifier as TiltedClassifier
from counterweight.numerics.designs import anytime_interval as anytime_interval
from counterweight.numerics.designs import budget_for as budget_for
from counterweight.numerics.designs import draw as draw
from counterweight.numerics.designs import expected_half_width as expected_half_width
from counterweight.numerics.designs import inclusion_chances as inclusion_chances
from counterweight.numerics.designs import look_levels as look_levels
from counterweight.numerics.designs import stopped_chances as stopped_chances
from counterweight.numerics.estimate import Estimate as Estimate
from counterweight.numerics.tilt import class_shares as class_shares
from counterweight.numerics.tilt import estimate_delta as estimate_delta
from counterweight.numerics.tilt import tilted as tilted
from counterweight.numerics.zero_rejection import keep_weights as keep_weights
from counterweight.numerics.zero_rejection import kept_rows as kept_rows
from counterweight.numerics.zero_rejection import rate_for_share as rate_for_share
from counterweight.selection.group_proxies import RegressionProxy as RegressionProxy
from counterweight.selection.group_proxies import TreeProxy as TreeProxy
from counterweight.selection.mixture_selector import (
    GaussianMixtureSelector as GaussianMixtureSelector,
)
from counterweight.selection.selectors import GradientBoostingSelector as GradientBoostingSelector
from counterweight.selection.selectors import LogisticSelector as LogisticSelector
from counterweight.selection.selectors import selection_probabilities as selection_probabilities
from counterweight.selection.split_tree import SplitTreeProxy as SplitTreeProxy
from counterweight.weighting.importance_weights import cap_weights as cap_weights
from counterweight.weighting.importance_weights import (
    effective_sample_size as effective_sample_size,
)
from counterweight.weighting.importance_weights import general_weights as general_weights
from counterweight.weighting.importance_weights import unlabeled_weights as unlabeled_weights
from counterweight.weighting.sample import Sample as Sample

__version__: str
TASKS: dict[str, tuple[str, dict[str, str]]]
NAMES: dict[str, dict[str, str]]
PUBLIC: dict[str, str]
COMMON: dict[str, str]
INTERNAL: frozenset[str]
