"""The verdict on several methods in words."""

import pytest

from primum.evaluation.compare_words import MethodResult, compose_verdict, estimation, phrase
from primum.selection.statistics import Difference, Posterior
from primum.selection.wording import verdict_of


def judged(name, mean, error, **options):
    posterior = Posterior(Difference(mean, error, 99, 100), **options)
    verdict = verdict_of(posterior, method=phrase(name))
    return MethodResult(name, True, 0.2, verdict, 0.5, None, 1.0, 5)


@pytest.mark.parametrize(
    ("method", "end"),
    [
        (judged("a", -0.02, 0.02), "stays the same. Until then, use the tuned baseline."),
        (judged("a", -0.01, 0.02), "would probably not settle it. Use the tuned baseline."),
        (judged("a", 0.0, 0.001), "). Use the tuned baseline."),
    ],
)
def test_advice_to_wait_needs_something_to_wait_for(method, end):
    assert compose_verdict([method], "baseline", ("", ""), []).endswith(end)


def test_only_the_safe_stack_has_an_article():
    text = compose_verdict([judged("safe stack", -0.1, 0.01)], "safe stack", ("", ""), [])
    assert text.startswith("The safe stack (SafeClassifier) is better than the baseline")
    assert text.endswith("Use the safe stack (SafeClassifier).")


def test_the_table_says_how_changes_are_estimated():
    assert estimation("accuracy").startswith("from the rows on which the two predict different")
    assert estimation("neg_brier_score").startswith("the observed one, shrunk towards 0")


def test_the_method_that_is_described_is_not_one_that_probably_harms():
    bold, safe = judged("bold", 0.01, 0.02), judged("safe stack", 0.0, 0.003)
    assert bold.verdict.probabilities.help > safe.verdict.probabilities.help
    text = compose_verdict([bold, safe], "baseline", ("", ""), [])
    assert text.startswith("None of the 2 methods has been shown to help. The safe stack")
