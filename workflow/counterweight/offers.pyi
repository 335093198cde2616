from counterweight.delivery.saved_offers import SavedOffers as SavedOffers
from counterweight.evaluation.offer_value import offer_value as offer_value
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
