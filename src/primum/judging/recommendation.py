"""Which model to use, given the verdicts on several methods against one baseline.

A claim ("it is better") needs a high probability, because it is a statement of fact. A model has to
be used in any case, and whoever waits for a proof uses the baseline, which may well be the worse
one. So the recommendation follows the expected gain, among models that can hardly do harm:

* the baseline, whose gain is 0 by definition;
* a safe stack that is more likely to help than to harm: it is shrunk towards the baseline, so its
  loss is hardly ever much larger;
* any other method with P(help) >= 1 - 0.1 / m and P(harm) <= 0.05 / m, where m is the number of
  these. Nothing limits its loss but its verdict, and of many methods the luckiest looks best.

Of these, the one with the largest estimated gain is recommended. A method that is claimed to help
is always among them; one that is claimed to make no practical difference never is, nor one that
predicts other classes on at most the share ``equivalence`` of the unlabelled rows: the baseline is
the simpler one. Where claims are withheld, the probabilities are not to be trusted, and the
baseline is recommended. ``docs/comparing.md`` has the gains and losses of this rule.
"""

from collections.abc import Collection, Mapping

from primum.judging.difference import PRACTICAL_EQUIVALENCE
from primum.judging.words import HELP, NO_DIFFERENCE, Verdict

# The probabilities of not helping, and of harm, that a method other than a safe stack may have,
# divided by the number of these methods.
MAX_DOUBT, MAX_HARM = 0.1, 0.05
# Probabilities are computed to about half of this, so a smaller difference of two of them is none.
PRECISION = 0.01


def recommend(
    verdicts: Mapping[str, Verdict],
    safe: Collection[str] = (),
    *,
    equivalence: float = PRACTICAL_EQUIVALENCE,
    withheld: bool = False,
) -> str | None:
    """Return the name of the method to use instead of the baseline; None: the baseline.

    Parameters
    ----------
    verdicts : mapping of str to Verdict
        The verdict on every method against the baseline.
    safe : collection of str, default=()
        Names of the safe stacks, which are shrunk towards this baseline.
    equivalence : float, default=0.01
        The region of practical equivalence, for verdicts on errors.
    withheld : bool, default=False
        Whether claims of help are withheld.

    Returns
    -------
    str or None
        A name.

    Examples
    --------
    >>> from primum.judging.difference import Difference, Posterior
    >>> from primum.judging.recommendation import recommend
    >>> from primum.judging.words import verdict_of
    >>> verdict = verdict_of(Posterior(Difference(-0.02, 0.015, 99, 100)))
    >>> verdict.answer
    'cannot_tell'
    >>> recommend({"safe stack": verdict}, safe=["safe stack"])
    'safe stack'
    >>> recommend({"forest": verdict}) is None
    True
    """
    if withheld:
        return None
    n_others = len(verdicts.keys() - set(safe))
    gains = {}
    for name, verdict in verdicts.items():
        odds, differ = verdict.probabilities, verdict.disagreement
        alike = differ is not None and differ.share <= equivalence
        if verdict.answer == NO_DIFFERENCE or alike or verdict.change >= 0:
            continue
        if name in safe:
            qualifies = odds.help > odds.harm + PRECISION
        else:
            sure = odds.help >= 1 - MAX_DOUBT / n_others
            qualifies = sure and odds.harm <= MAX_HARM / n_others
        if qualifies or verdict.answer == HELP:
            gains[name] = -verdict.change
    return max(gains, key=lambda name: gains[name]) if gains else None
