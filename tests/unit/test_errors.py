"""Sentences of mistakes: words that are listed, and passwords that no sentence repeats."""

import pytest
from counterweight.errors import holds_password, in_figures, listed


@pytest.mark.parametrize(
    ("count", "told"), [(0, ""), (1, "0"), (3, "0, 1, 2"), (4, "0, 1, 2 and 1 more")]
)
def test_of_many_words_the_rest_is_counted(count, told):
    assert listed(range(count), limit=3) == told
    assert listed(range(8)).endswith("6, 7") and listed(range(9)).endswith("7 and 1 more")


@pytest.mark.parametrize(
    ("address", "held"),
    [
        ("postgresql://me@host/db", False),
        ("postgresql://me:secret@host/db", True),
        ("postgresql://me:${PGPASSWORD}@host/db", False),
        ("postgresql://me%3Asecret@host/db", True),
        ("postgresql://host:5432/db", False),
        ("postgresql://host:secret/db", True),
        ("postgresql://[::1]:5432/db", False),
        ("postgresql://host/db?password=x", True),
        ("postgresql://host/db?password=${X}", False),
        ("postgresql://host/db?passfile=/home/me/pass", False),
        ("duckdb:///:memory:", False),
        ("sqlite:////data/a:b@c.db", False),
        ("host=h dbname=d password=x", True),
        ("me:secret@host", True),
        ("data/table.csv", False),
    ],
)
def test_an_address_holds_a_password_unless_the_environment_has_it(address, held):
    assert holds_password(address) is held


@pytest.mark.parametrize(
    ("value", "figures", "told"),
    [
        (27.4, 1, "27"),
        (3.42, 1, "3"),
        (9.6, 1, "10"),
        (45_123.4, 4, "45,123"),
        (0.012345, 3, "0.0123"),
        (2.5e-05, 4, "0.000025"),
        (-1.2345e-7, 3, "-0.000000123"),
    ],
)
def test_a_number_in_figures_has_no_power_of_ten(value, figures, told):
    assert in_figures(value, figures) == told
