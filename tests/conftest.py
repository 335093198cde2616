"""The order of the tests: real runs first, since they take longest."""


def pytest_collection_modifyitems(items):
    """Side by side, a process that is done early takes what is left, so long tests come first."""
    items.sort(key=lambda item: "workflow" not in item.path.parts)
