"""Free text and embeddings in comparisons: from a table to a verdict, a model and predictions."""

import numpy as np
import pandas as pd
import pytest

import primum
import tables_like
from primum.comparison.plan import last_step

QUICK = {"n_repeats": 1, "curves": False, "verbose": False, "random_state": 0}


def stack():
    safe = primum.SafeClassifier(["components"], cv=5, n_repeats=1)
    return [("safe stack", safe, True)]


@pytest.fixture(scope="module")
def compared():
    frame, truth = tables_like.remarks()
    methods = [*stack(), ("ICLS", primum.ICLSClassifier(alpha=0.1), True)]
    return primum.compare(frame, target="topic", methods=methods, **QUICK), frame, truth


def test_the_verdict_credits_the_unlabelled_rows(compared):
    result, frame, truth = compared
    methods = {method.name: method for method in result.methods}
    assert methods["safe stack"].twin.answer == "help"
    # Both have components of all rows, so that ICLS has no twin without unlabelled rows.
    assert methods["ICLS"].twin is None
    assert result.recommended == "safe stack"
    baseline, model = result.fit("baseline"), result.fit("safe stack")
    errors = [np.mean(m.predict(frame[40:]) != truth[40:]) for m in (baseline, model)]
    assert errors[1] < errors[0] - 0.03


def test_the_baseline_learns_from_labelled_rows_alone(compared):
    result, frame, _ = compared
    fitted = result.fit("logistic")
    assert fitted["weigh"].change_.scale.max() == 1.0
    words = fitted[:-1].get_feature_names_out()
    labeled = " ".join(frame["remark"][:40]).split()
    used = {name for name, c in zip(words, fitted["classify"].coef_[0], strict=True) if c}
    spoken = {name.removeprefix("remark: ") for name in used if '"' not in name}
    assert spoken - {"age"} <= set(labeled)
    assert result.coefficients[0].feature in used
    assert len(result.to_dict()["coefficients"]) <= 1000


def test_a_model_of_text_is_stored_and_predicts_new_text(compared, tmp_path):
    result, frame, _ = compared
    model = result.fit_recommended()
    assert last_step(model).standardize is False
    primum.save(model, tmp_path / "model.skops")
    loaded = primum.load(tmp_path / "model.skops")
    new = pd.DataFrame(
        {"remark": ["words nobody knows", frame["remark"][50], None], "age": [33.5, 40, 50]}
    )
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))


def test_labels_at_random_get_no_help():
    frame, truth = tables_like.remarks(300)
    rng = np.random.default_rng(1)
    frame.loc[:39, "topic"] = rng.permutation(truth)[:40]
    result = primum.compare(frame, target="topic", methods=stack(), **QUICK)
    safe = {method.name: method for method in result.methods}["safe stack"]
    assert (safe.verdict.answer, safe.twin.answer) != ("help", "help")
    assert safe.loss > 0.3


def test_an_embedding_is_named_once():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 12)) * 0.1 + 0.1 * truth[:, None]
    frame = pd.DataFrame(X, columns=[f"emb_{j}" for j in range(12)])
    frame["kind"] = np.where(np.arange(120) < 40, np.array(["a", "b"])[truth], None)
    result = primum.compare(frame, target="kind", methods=stack(), **QUICK)
    page = result.to_markdown()
    assert page.count("12 numbers, scaled together.") == 1
    assert "emb_0 to emb_11" in page
    model = result.fit("safe stack")
    np.testing.assert_allclose(model["prepare"].transform(frame[:40]).var(axis=0).sum(), 12.0)
    assert np.mean(model.predict(frame) == np.array(["a", "b"])[truth]) > 0.8
