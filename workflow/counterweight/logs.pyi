from counterweight.delivery.saved_log_values import SavedValues as SavedValues
from counterweight.evaluation.policy_value import doubly_robust as doubly_robust
from counterweight.evaluation.policy_value import ips as ips
from counterweight.evaluation.policy_value import snips as snips
from counterweight.evaluation.policy_value import value_from_parquet as value_from_parquet
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
from counterweight.numerics.zero_rejection import keep_weights as keep_weights
from counterweight.numerics.zero_rejection import kept_rows as kept_rows
from counterweight.numerics.zero_rejection import rate_for_share as rate_for_share
