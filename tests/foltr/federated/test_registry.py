"""Methods by name, from plain settings."""

import pytest

from foltr.errors import ValueRangeError
from foltr.federated.aggregation.trimmed_mean import Median
from foltr.federated.fpdgd import FPDGD
from foltr.federated.registry import METHODS, make_method, settings_type
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Linear

RANKER = Linear(3)


def test_settings_become_the_methods_fields() -> None:
    """Plain tables are read strictly into the dataclass, nested ones by their tag; the rest keeps its default."""
    made = make_method(
        "fpdgd",
        RANKER,
        {
            "learning_rate": 0.5,
            "privacy": {"mechanism": "gaussian", "clip": 1.0, "noise_multiplier": 2.0},
            "aggregation": {"rule": "median"},
        },
    )
    private = Gaussian(clip=1.0, noise_multiplier=2.0)
    assert made == FPDGD(RANKER, learning_rate=0.5, privacy=private, aggregation=Median())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eta": 1}, "eta"),
        ({"learning_rate": "fast"}, "learning_rate"),
        ({"aggregation": {"rule": "nix"}}, "no rule 'nix'; there are mean, median, trimmed-mean, krum"),
        ({"privacy": {"mechanism": "nix"}}, "no mechanism 'nix'; there are none, fpdgd-paper, laplace, gaussian"),
        ({"privacy": {"mechanism": "gaussian"}}, "clip"),
    ],
)
def test_what_does_not_fit_is_named(settings: dict[str, object], message: str) -> None:
    """Unknown settings, wrong types, unknown names with those there are, and missing parts."""
    with pytest.raises(ValueRangeError, match=message):
        make_method("fpdgd", RANKER, settings)


def test_an_unknown_method_lists_the_known() -> None:
    """The error names every method there is."""
    with pytest.raises(ValueRangeError, match=", ".join(METHODS)):
        make_method("nix", RANKER, {})


def test_every_method_can_be_made_from_nothing() -> None:
    """All settings of all methods have defaults."""
    for name in METHODS:
        assert settings_type(name)() is not None
        assert make_method(name, RANKER, {}).ranker == RANKER
