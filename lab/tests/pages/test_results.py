"""Lines can be told apart, and show what their caption says."""

import pandas as pd

from primum.pages.pictures import STYLES, line_styles
from primum_lab.pages.results import curve_caption, curves_figure


def summary(measure, *names):
    """Curves of two points each."""
    return pd.DataFrame(
        {
            **{"dataset": "a", "classifier": name, "measure": measure, "n_unlabeled": size},
            **{"mean": 1.0 + k, "sd_over_repeats": 0.2, "repeats": 4, "loss": "squared_loss"},
            **{"q25": 0.1, "median": 0.2, "q75": 0.4},
        }
        for k, name in enumerate(names)
        for size in (2, 4)
    )


def test_every_classifier_has_a_line_of_its_own():
    names = [*STYLES, *(f"own {k}" for k in range(15))]
    styles = line_styles(names)
    assert len(set(styles.values())) == len(names)
    assert styles["ICLS"] == STYLES["ICLS"]


def test_own_classifiers_are_drawn_without_being_asked_for():
    figure = curves_figure(summary("error", "mine", "yours"), "error")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mine", "yours"]


def test_bands_are_standard_errors_and_those_of_times_quartiles():
    for measure, center, lower, upper in (
        ("error", 1.0, 0.9, 1.1),
        ("seconds", 0.2, 0.1, 0.4),
    ):
        (panel,) = curves_figure(summary(measure, "mine"), measure).axes
        assert set(panel.lines[0].get_ydata()) == {center}
        band = panel.collections[0].get_paths()[0].vertices[:, 1]
        assert {round(y, 9) for y in band} == {lower, upper}


def test_captions():
    cells = summary("error", "mine")
    assert curve_caption(cells, "error") == (
        "Classification error against the number of unlabelled rows. Lines are means over repeats, "
        "bands one standard error on either side; 4 repeats."
    )
    assert curve_caption(cells, "loss_test").startswith("Squared loss on test rows against")
