from counterweight.delivery.saved_classifiers import SavedClassifier as SavedClassifier
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
