"""The verdict on several methods in words."""

from types import SimpleNamespace

import pytest

from primum.comparison.words import (
    FIT,
    Findings,
    MethodResult,
    SettledWords,
    answer_line,
    compose_headline,
    estimation,
    phrase,
)
from primum.judging.difference import Difference, Posterior
from primum.judging.losses import ERROR
from primum.judging.words import Alert, JudgedSample, verdict_of


def judged(name, mean, error, n_unlabeled=5000, uses_unlabeled=True, twin=None, **options):
    posterior = Posterior(Difference(mean, error, 99, 100), **options)
    sample = JudgedSample(100, n_unlabeled=n_unlabeled)
    verdict = verdict_of(posterior, method=phrase(name), sample=sample)
    return MethodResult(name, uses_unlabeled, 0.2, 1.0, 5, verdict, 0.5, twin)


def headline(*methods, recommended="baseline", alerts=(), **rest):
    found = Findings(methods, recommended, ERROR, 5000, "100 labelled rows", **rest)
    return compose_headline(found, alerts)


@pytest.mark.parametrize(
    ("method", "next_step"),
    [
        (
            judged("a", -0.02, 0.02),
            "more rows at random would settle it, if the estimate stays the same. Until then, "
            "the tuned baseline is the cautious choice.",
        ),
        (
            judged("a", -0.02, 0.02, n_unlabeled=90),
            "Labelling more rows at random would probably not settle which is better. "
            "Meanwhile, the tuned baseline is the cautious choice.",
        ),
        (
            judged("a", -0.01, 0.02),
            "Labelling more rows at random would probably not settle which is better. "
            "Meanwhile, the tuned baseline is the cautious choice.",
        ),
        (judged("a", 0.0, 0.001), ""),
    ],
)
def test_advice_to_wait_needs_something_to_wait_for(method, next_step):
    assert headline(method).next_step.endswith(next_step)


def test_three_short_lines():
    methods = [judged("safe stack", -0.02, 0.02), judged("ICLS", 0.1, 0.02), judged("b", 0, 0.02)]
    found = headline(*methods)
    answer, reason, next_step = found.lines
    assert answer == "The unlabelled rows have not been shown to help: use the tuned baseline."
    assert reason.startswith(
        'With 100 labelled rows, none of the 3 methods has been shown to help, and "ICLS" would do '
        "harm. The most promising, the safe stack (SafeClassifier), may change the error by -4."
    )
    assert next_step.startswith("Labelling about ")
    assert max(map(len, found.lines)) < 260
    assert all(len(line) <= 80 for line in str(found).splitlines())
    assert str(found).replace("\n  ", " ").splitlines() == found.lines


def test_only_the_safe_stack_has_an_article():
    found = headline(judged("safe stack", -0.1, 0.01), recommended="safe stack")
    assert found.answer == "Use the safe stack: it is better than the tuned baseline."
    assert found.reason.startswith("The safe stack (SafeClassifier) is better than the baseline")
    assert found.next_step == FIT
    assert found.kind == "help"


def test_the_table_says_how_changes_are_estimated():
    assert estimation("accuracy").startswith("from the rows on which the two predict different")
    assert estimation("neg_brier_score").startswith("by shrinking the observed change")


def test_what_limits_help_is_said():
    alone = judged("a", -0.1, 0.01, uses_unlabeled=False)
    assert headline(alone, recommended="a").next_step.startswith(
        "This is not due to the unlabelled"
    )
    unclear = judged("a", -0.1, 0.01, twin=judged("a", 0.0, 0.02).verdict)
    limit = headline(unclear, recommended="a").next_step
    assert limit.startswith("It has not been shown that the unlabelled rows contribute to this")


def test_the_method_that_is_described_is_not_one_that_probably_harms():
    bold, safe = judged("bold", 0.01, 0.02), judged("safe stack", 0.0, 0.003)
    assert bold.verdict.probabilities.help > safe.verdict.probabilities.help
    assert "The most promising, the safe stack" in headline(bold, safe).reason


def test_alerts_come_first_and_those_that_withhold_before_the_others():
    drift, groups = Alert("drift", "Rows differ."), Alert("groups", "Who is who?", withholds=True)
    found = headline(judged("a", 0.0, 0.001), alerts=[drift, groups], failed=["b"])
    assert found.lines[:2] == ["Warning: Who is who?", "Warning: Rows differ."]
    assert found.answer == "Use the tuned baseline; whether anything is better cannot be said yet."
    assert found.next_step.endswith('Not judged, because fits failed (`failures` says why): "b".')
    assert found.to_dict()["alerts"][0] == {
        "kind": "groups",
        "text": "Who is who?",
        "withholds": True,
    }
    only = headline(judged("a", 0.0, 0.001), alerts=[drift])
    assert "make no practical difference" in only.answer


def method(name, answer, twin=None, uses_unlabeled=True):
    of_twin = None if twin is None else SimpleNamespace(answer=twin)
    verdict = SimpleNamespace(answer=answer)
    return MethodResult(name, uses_unlabeled, 0.2, 1.0, 5, verdict, twin=of_twin)


@pytest.mark.parametrize(
    ("recommended", "methods", "line"),
    [
        ("a", [method("a", "help", "help")], "The unlabelled rows help: use a."),
        ("a", [method("a", "help", "cannot_tell")], "Use a: it is better than the tuned baseline."),
        ("a", [method("a", "help", None, False)], "Use a: it is better than the tuned baseline."),
        ("safe stack", [method("safe stack", "help", "help")], "help: use the safe stack."),
        ("safe stack", [method("safe stack", "help")], "Use the safe stack: it is better than"),
        ("baseline", [method("a", "harm")], "methods with unlabelled rows would do harm"),
        ("baseline", [method("a", "harm", "harm")], "The unlabelled rows would do harm"),
        ("baseline", [method("a", "harm", "help")], "methods with unlabelled rows would do harm"),
        ("baseline", [method("a", "no_difference")], "make no practical difference"),
        ("baseline", [method("a", "harm"), method("b", "cannot_tell")], "not been shown to help"),
        ("baseline", [method("a", "cannot_tell", None, False)], "Use the tuned baseline."),
        ("baseline", [], "Use the tuned baseline."),
    ],
)
def test_the_first_line_says_no_more_than_the_verdicts(recommended, methods, line):
    assert line in answer_line(Findings(methods, recommended, ERROR, 100))[0]


@pytest.mark.parametrize("answer", ["harm", "no_difference", "cannot_tell"])
def test_without_unlabelled_rows_the_first_line_does_not_speak_of_them(answer):
    line, kind = answer_line(Findings([method("a", answer)], "baseline", ERROR, 0))
    assert line == "All rows are labelled, so no unlabelled rows can help. Use the tuned baseline."
    assert kind == ""


def test_nothing_is_said_of_rows_for_which_there_was_no_time():
    same = judged("safe stack", 0.0, 0.001)
    assert headline(same).answer.startswith("The unlabelled rows make no practical difference")
    assert headline(same, hurried=True).answer == (
        "In this time, the unlabelled rows have not been shown to help: use the tuned baseline."
    )


def test_where_no_row_is_left_no_row_is_to_be_labelled():
    found = Findings((judged("a", -0.02, 0.02),), "baseline", ERROR, 0, "100 labelled rows")
    assert compose_headline(found).next_step == ""


def test_what_is_used_without_proof_says_how_sure_it_is():
    probable, likelier = judged("safe stack", -0.02, 0.02), judged("safe stack", -0.008, 0.02)
    odds = [method.verdict.probabilities for method in (probable, likelier)]
    assert odds[0].help > 0.5 > odds[1].help > odds[1].harm
    found = headline(probable, judged("b", 0, 0.02), recommended="safe stack")
    assert found.answer == (
        f"Use the safe stack. It is probably better ({odds[0].help:.0%}) than the tuned baseline, "
        "but your labels do not prove it."
    )
    assert found.kind == ""
    assert found.reason.startswith(
        "With 100 labelled rows, the safe stack (SafeClassifier) may change the error by -4."
    )
    assert found.next_step.startswith("Labelling about ")
    assert "It has not been shown" not in found.next_step
    assert found.next_step.endswith(FIT)
    other = headline(likelier, recommended="safe stack").answer
    assert "probably" not in other
    assert other == (
        f"Use the safe stack. It is more likely to be better ({odds[1].help:.0%}) than worse "
        f"({odds[1].harm:.0%}) than the tuned baseline, but your labels do not prove it."
    )


def test_labels_that_should_decide_are_counted_in_the_answer():
    found = Findings((judged("boosting", -0.02, 0.02, uses_unlabeled=False),), "boosting", ERROR, 9)
    certain = SettledWords(certain="They differ.", request="Label rows.", deciding="20 to 25")
    words = compose_headline(found, settled=certain)
    assert words.answer.endswith(
        "but your labels do not prove it; about 20 to 25 more should decide it for your rows."
    )
    assert words.next_step.startswith("Label rows. ")
    assert "It does not use the unlabelled rows." in words.next_step


def test_a_smaller_gain_that_is_proven_is_named_beside_the_larger_one():
    methods = judged("safe stack", -0.05, 0.03), judged("forest", -0.03, 0.004)
    assert methods[0].verdict.answer == "cannot_tell"
    assert methods[1].verdict.answer == "help"
    reason = headline(*methods, recommended="safe stack").reason
    assert reason.endswith('"forest" has been shown to help, but by less.')


def test_a_failed_part_of_the_baseline_is_named_where_the_stack_failed_with_it():
    same = judged("forest", 0.0, 0.001, uses_unlabeled=False)
    found = headline(same, failed=["safe stack"], failed_parts=["mine"])
    assert found.next_step.endswith(
        "(`failures` says why): the safe stack (SafeClassifier). The safe stack starts from the "
        'baseline, of which "mine" is part: leave it out.'
    )
    assert "starts from" not in headline(same, failed=["safe stack"]).next_step
    assert "starts from" not in headline(same, failed=["b"], failed_parts=["mine"]).next_step
