"""What all proxies share."""

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import NamedColumns, checked_rows
from counterweight.numerics.groups import checked_memberships
from counterweight.numerics.options import Parameters, check_options


class Proxy(NamedColumns, Parameters):
    """Sorts rows into leaves by their features, at one or several settings.

    Subclasses have ``fit(X, Z, *, classes, target, rng)`` and ``leaves(X)``, which yields each
    setting with the memberships of the rows; ``settings_``, the names of the settings; and
    ``to_arrays``, ``from_arrays``.
    """

    #: Whether the leaves are predictions of the group, so that nothing limits what they tell.
    predicts_groups = False

    def _checked(self, X, Z, classes, options):
        """Features (n, d) and memberships (n, K) of training rows as arrays of floats.

        Raises
        ------
        CounterweightError
            When an option is not allowed (lists are left to the proxy), a feature is not
            finite, the memberships are none, or there is not one for each row.
        """
        lists = {name for name, node in options.items() if "array" in node.get("type", ())}
        check_options(
            self.get_params(), {name: options[name] for name in options if name not in lists}
        )
        X, Z = checked_rows(X), checked_memberships(Z, classes)
        if len(X) != len(Z):
            raise CounterweightError(
                f"There are {len(X)} rows of features but {len(Z)} of groups: give one for each."
            )
        return X, Z
