from counterweight.delivery.saved_filters import SavedFilter as SavedFilter
from counterweight.delivery.saved_filters import apply_filter as apply_filter
from counterweight.delivery.saved_filters import read_filter as read_filter
from counterweight.selection.group_proxies import RegressionProxy as RegressionProxy
from counterweight.selection.group_proxies import TreeProxy as TreeProxy
from counterweight.selection.split_tree import SplitTreeProxy as SplitTreeProxy
