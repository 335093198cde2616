"""List every component and its options: ``python -m counterweight.options [kind]``."""

import sys

from counterweight.plan import components


def described(kinds):
    """Lines that name each component of the kinds and describe its options."""
    for kind in kinds:
        yield f"{kind}"
        for name in components.registry(kind):
            yield f"  {name}"
            for option, node in components.options(kind, name).items():
                default = f" (default {node['default']})" if "default" in node else " (required)"
                yield f"      {option}{default}: {node['description']}"


def main(arguments):
    """Print the components of the kinds named, or of all."""
    unknown = [kind for kind in arguments if kind not in components.STAGES]
    if unknown:
        print(f"There is no kind {unknown[0]!r}; kinds: {', '.join(components.STAGES)}.")
        return 1
    print("\n".join(described(arguments or components.STAGES)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
