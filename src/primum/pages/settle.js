// The bounds of primum.judging.error_bounds, for one pair of models and one label at a time.
//
// Of the N rows on which the two differ, the challenger is right on T, the baseline on F and neither
// on R, which is 0 with two outcomes. After n labels with the counts (t, f, r) a state (T, F, R)
// stays possible while
//
//     C(T, t) C(F, f) C(R, r) >= alpha S / (number of states),
//     S = C(N + 1, n + 1) with two outcomes, C(N + 2, n + 2) with three,
//
// and has been possible after every earlier label. A row without a label counts, in every state, as
// its most probable outcome there. It excludes nothing by itself: the inverse of the evidence is a
// supermartingale, so the best outcome leaves at least as much evidence as before.
const [CHALLENGER, BASELINE, NEITHER, UNKNOWN] = [0, 1, 2, 3];
// As in Python: rounding excludes no state.
const EVIDENCE_ROUNDING = 1e-6;
// With more rows and three outcomes, T and F are bounded one by one, each at alpha / 2.
const MAX_ENUMERATED_ROWS = 1000;

// The sums are compensated (Kahan), because the logarithms of a million rows reach 10^7.
const logFactorials = (largest) => {
  const table = new Float64Array(largest + 1);
  for (let k = 2, lost = 0; k <= largest; k++) {
    const term = Math.log(k) - lost;
    table[k] = table[k - 1] + term;
    lost = table[k] - table[k - 1] - term;
  }
  return table;
};

// All states. The possible ones come first: the last entry of `past` is their number, and removing
// entries takes rows back.
class States {
  constructor(nDifferent, twoOutcomes, alpha) {
    this.nDifferent = nDifferent;
    this.nFree = twoOutcomes ? 1 : 2;
    this.logFactorial = logFactorials(nDifferent + 2);
    const size = twoOutcomes ? nDifferent + 1 : (nDifferent + 1) * (nDifferent + 2) / 2;
    // With alpha = 0 the impossible is excluded, and nothing else.
    this.cut = Math.max(Math.log(alpha), -Number.MAX_VALUE) - EVIDENCE_ROUNDING - Math.log(size);
    this.right = new Uint32Array(size);
    this.wrong = new Uint32Array(size);
    for (let T = 0, k = 0; T <= nDifferent; T++) {
      for (let F = twoOutcomes ? nDifferent - T : 0; F <= nDifferent - T; F++, k++) {
        this.right[k] = T;
        this.wrong[k] = F;
      }
    }
    this.past = [{ size, low: -nDifferent, high: nDifferent, counts: [0, 0, 0, 0] }];
  }

  // The smallest and the largest F - T; null if no state is possible.
  get ends() {
    const { size, low, high } = this.past.at(-1);
    return size ? [low, high] : null;
  }

  back(nRows) {
    this.past.length = nRows + 1;
  }

  add(outcome) {
    const last = this.past.at(-1);
    const counts = [...last.counts];
    counts[outcome] += 1;
    this.past.push(outcome === UNKNOWN ? { ...last, counts } : this.exclude(last.size, counts));
  }

  logChoose(n, k) {
    const { logFactorial } = this;
    return k > n ? -Infinity : logFactorial[n] - logFactorial[k] - logFactorial[n - k];
  }

  exclude(size, counts) {
    const { nDifferent, nFree, right, wrong } = this;
    const nRows = counts[0] + counts[1] + counts[2] + counts[3];
    const least = this.cut + this.logChoose(nDifferent + nFree, nRows + nFree);
    const filled = [counts[0] + counts[3], counts[1], counts[2]];
    let kept = 0, low = Infinity, high = -Infinity;
    for (let k = 0; k < size; k++) {
      const T = right[k], F = wrong[k], R = nDifferent - T - F;
      if (counts[UNKNOWN]) balance(filled, counts, [T + 1, F + 1, R + 1]);
      const likelihood = this.logChoose(T, filled[0]) + this.logChoose(F, filled[1])
        + this.logChoose(R, filled[2]);
      if (likelihood < least) continue;
      right[k] = right[kept];
      wrong[k] = wrong[kept];
      right[kept] = T;
      wrong[kept] = F;
      kept += 1;
      low = Math.min(low, F - T);
      high = Math.max(high, F - T);
    }
    return { size: kept, low, high, counts };
  }
}

// Distribute the unknowns over the outcomes so that the state is most probable. The gain of one more
// row of an outcome, (T - t) / (t + 1) = (T + 1) / (t + 1) - 1, falls with t. So moving one row at a
// time, from the outcome where it counts least to the one where it counts most, ends at the optimum.
// States are ordered so that the solution for the previous one is a good start.
const balance = (filled, known, weights) => {
  for (;;) {
    let from = -1, to = 0;
    for (let k = 0; k < 3; k++) {
      if (weights[k] * (filled[to] + 1) > weights[to] * (filled[k] + 1)) to = k;
      if (filled[k] <= known[k]) continue;
      if (from < 0 || weights[k] * filled[from] < weights[from] * filled[k]) from = k;
    }
    if (from < 0 || weights[to] * filled[from] <= weights[from] * (filled[to] + 1)) return;
    filled[from] -= 1;
    filled[to] += 1;
  }
};

// Bounds of T and of F, as with two outcomes: right, or not.
class Sides {
  constructor(nDifferent, alpha) {
    this.nDifferent = nDifferent;
    this.sides = [CHALLENGER, BASELINE].map(() => new States(nDifferent, true, alpha / 2));
    this.nNeither = [0];
  }

  get ends() {
    const nOthers = this.nDifferent - this.nNeither.at(-1);
    if (this.sides.some(({ ends }) => !ends)) return null;
    const [[leastT, mostT], [leastF, mostF]] = this.sides.map(
      ({ ends: [low, high] }) => [(this.nDifferent - high) / 2, (this.nDifferent - low) / 2]);
    if (leastT + leastF > nOthers) return null;
    return [leastF - Math.min(mostT, nOthers - leastF), Math.min(mostF, nOthers - leastT) - leastT];
  }

  back(nRows) {
    this.sides.forEach((side) => side.back(nRows));
    this.nNeither.length = nRows + 1;
  }

  add(outcome) {
    this.sides.forEach((side, model) => side.add(
      outcome === UNKNOWN ? UNKNOWN : outcome === model ? CHALLENGER : BASELINE));
    this.nNeither.push(this.nNeither.at(-1) + (outcome === NEITHER));
  }
}

// The bounds `low` and `high` of errors(challenger) - errors(baseline), in rows.
class Bounds {
  constructor({ n_different: nDifferent, two_outcomes: twoOutcomes, alpha }) {
    const enumerated = twoOutcomes || nDifferent <= MAX_ENUMERATED_ROWS;
    this.states = enumerated
      ? new States(nDifferent, twoOutcomes, alpha) : new Sides(nDifferent, alpha);
    this.nDifferent = nDifferent;
    this.outcomes = [];
    this.update([]);
  }

  // Take the outcomes of the rows up to the last one filled. Rows before the first change are not
  // read again.
  update(outcomes) {
    let same = 0;
    while (same < this.outcomes.length && this.outcomes[same] === outcomes[same]) same += 1;
    this.states.back(same);
    for (const outcome of outcomes.slice(same)) this.states.add(outcome);
    this.outcomes = outcomes;
    [this.low, this.high] = this.states.ends ?? this.certain;
  }

  // If the labels contradict the random order, only what is certain is claimed.
  get certain() {
    const count = (wanted) => this.outcomes.filter((outcome) => outcome === wanted).length;
    const change = count(BASELINE) - count(CHALLENGER);
    return [change - this.nUnlabelled, change + this.nUnlabelled];
  }

  get nUnlabelled() {
    return this.nDifferent - this.outcomes.filter((outcome) => outcome !== UNKNOWN).length;
  }

  get contradicted() {
    return !this.states.ends && this.nUnlabelled > 0;
  }

  // What the bounds say, with a margin in rows.
  answer(margin) {
    if (this.high < -margin) return "help";
    if (this.low > margin) return "harm";
    if (this.high <= margin) return this.low >= -margin ? "no_difference" : "not_worse";
    return this.low >= -margin ? "not_better" : "open";
  }
}
