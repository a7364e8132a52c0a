"""What a comparison has found, as plain records: numbers and names, without data or models.

Words, reports, tables and files are functions of an ``Answer`` and of what labels have settled. It
is stored with the rows to label, so that the report can be written again when labels arrive.
"""

from dataclasses import dataclass
from typing import Any

from primum._plain import from_plain, to_plain
from primum.comparison.card import Changes, ModelCard, NumberCard, NumberChanges
from primum.comparison.decision import Decision
from primum.comparison.model import Coefficient
from primum.comparison.rare_classes import RareClasses
from primum.comparison.records import CurvePoint, FailedFit
from primum.comparison.repeat import Call
from primum.comparison.words import Findings, MethodResult, with_article
from primum.judging.drift import Drift, ShiftWeights
from primum.judging.losses import Measure
from primum.judging.objectives import Objective
from primum.judging.shares import EstimatedShares
from primum.judging.words import Alert
from primum.tables.columns import Column


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a comparison has found.

    The data: ``target`` is None for arrays, ``n_groups`` for independent rows, ``n_by_class`` and
    ``classes`` for numbers; ``known_quantiles`` and ``predicted_quantiles``, of known numbers and
    of those predicted for unlabelled rows, end with their mean. The loss: ``limit`` is the largest
    change that makes no practical difference. The models: ``alone`` names those that judge
    themselves, ``fitted_alone`` those of them that were fitted; ``changed_in_splits`` is how much
    a method changes the baseline's predictions of ``n_probed`` unlabelled rows. ``failed``,
    ``failed_parts`` and ``hurried`` say what could not be judged, ``warned`` which fits warned, of
    what and how often, and ``why_not_settled`` why labels cannot settle it.
    """

    target: str | None
    target_kind: str
    recognised: str
    learner: str
    classes: tuple[str, ...] | None
    rare_classes: RareClasses | None
    n_by_class: tuple[int, ...]
    known_range: tuple[str, str] | None
    known_quantiles: tuple[float, ...]
    predicted_quantiles: tuple[float, ...]
    digits: int
    n_labeled: int
    n_chosen: int
    n_unlabeled: int
    n_columns: int
    n_groups: int | None
    sample: str
    columns: tuple[Column, ...]
    n_terms: tuple[int | None, ...]
    drift: Drift | None
    shift: ShiftWeights | None
    shares: EstimatedShares | None

    measure: Measure
    scoring: str
    objective: Objective | None
    equivalence: float
    limit: float
    limit_in_words: str
    level: float

    stack: str
    baseline: str
    own_baseline: bool
    baselines: tuple[str, ...]
    alone: tuple[str, ...]
    fitted_alone: tuple[str, ...]
    estimators: dict[str, str]
    methods: tuple[MethodResult, ...]
    recommended: str
    alerts: tuple[Alert, ...]
    curves: tuple[CurvePoint, ...]
    model_card: ModelCard | NumberCard | None
    decision: Decision | None
    changed: Changes | NumberChanges | None
    why_changes_are_unknown: str
    changed_in_splits: dict[str, float]
    n_probed: int
    coefficients: tuple[Coefficient, ...]
    n_coefficients: int

    failures: tuple[FailedFit, ...]
    failed: tuple[str, ...]
    failed_parts: tuple[str, ...]
    hurried: bool
    left_out: tuple[str, ...]
    notes: tuple[str, ...]
    warned: tuple[tuple[str, str, int], ...]
    why_not_settled: str

    n_folds: int
    n_repeats: int
    n_splits: int
    seed: int
    seconds: float
    n_stored_fits: int
    stored_seconds: float
    versions: dict[str, str]
    call: Call | None

    @property
    def numeric(self) -> bool:
        """Whether numbers are predicted."""
        return self.classes is None

    @property
    def compared(self) -> list[MethodResult]:
        """The methods that have a verdict."""
        return [method for method in self.methods if method.verdict is not None]

    @property
    def findings(self) -> Findings:
        """What the headline is written from."""
        return Findings(
            self.compared,
            self.recommended,
            self.measure,
            self.n_unlabeled,
            self.sample,
            self.failed,
            self.hurried,
            self.stack,
            baseline=self.baseline,
            failed_parts=self.failed_parts,
        )

    def name_in_words(self, name: str) -> str:
        """Return the name of a model as part of a sentence."""
        return with_article(name, self.baseline)

    def to_plain(self) -> dict[str, Any]:
        """Return the answer as values of JSON, which ``read_answer`` reads."""
        plain: dict[str, Any] = to_plain(self)
        return plain


def read_answer(values: dict[str, Any]) -> Answer:
    """Return an answer that was stored."""
    answer: Answer = from_plain(Answer, values)
    return answer
