"""From a table to an answer: whether the unlabelled rows help, and which model to use.

Writes a real table with most labels removed, as a CSV file, and runs the commands that anybody with
such a table would run. ``primum compare`` says whether the unlabelled rows help. With so few labels
it often cannot tell, and writes a sheet of rows whose labels would settle it. The hidden labels
fill in some of them, in two sittings, and ``primum settle`` says which model is better on these
rows. ``primum predict`` applies it. Because the labels were only hidden, the answer and the
predictions can be checked at the end.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import primum

DIGITS = (1, 2, 3, 8, 9)
N_LABELED = 150
# Saves time. Without this option all default methods are compared, and ICLS does harm on this
# table.
METHODS = ("--methods", "safe-stack,self-learning")
# Numbers of rows that are labelled in the two sittings.
SITTINGS = (10, 15)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="where to write")
    parser.add_argument("--quick", action="store_true", help="compare one method only")
    options = parser.parse_args()
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    table, truth = digits_with_hidden_labels()
    for name in ("settlement.json", "rows_to_label.csv"):  # labels of an earlier demonstration
        (out / name).unlink(missing_ok=True)
    table.to_csv(out / "digits.csv", index=False)
    print(
        f"{out / 'digits.csv'}: {len(table)} handwritten digits {DIGITS}, one per row, as the grey "
        f"values of 8 x 8 pixels.\nOnly {N_LABELED} of them have a label in the column 'digit'.\n"
        "With so few labels, the answer is often that one cannot tell.\n"
    )
    run(
        *("compare", out / "digits.csv", "--target", "digit", "--id", "image", "--repeats", 1),
        *("--out", out, "--force"),
        *(("--methods", "em-lda", "--no-curves") if options.quick else METHODS),
    )
    settle(out, dict(zip(table["image"], truth, strict=True)))
    run(
        *("predict", out / "model.skops", out / "digits.csv"),
        *("--out", out / "predictions.csv"),
    )
    baseline = primum.load(out / "models" / "baseline.skops").predict(table)
    check(pd.read_csv(out / "predictions.csv")["prediction"], baseline, table, truth)


def digits_with_hidden_labels():
    """Return a table of images, with a label in some rows only, and all labels."""
    images, digits = load_digits(return_X_y=True)
    chosen = np.isin(digits, DIGITS)
    pixels = [f"pixel {row},{column}" for row in range(8) for column in range(8)]
    table = pd.DataFrame(images[chosen].astype(int), columns=pixels)
    table.insert(0, "image", [f"image {number:03d}" for number in range(len(table))])
    truth = pd.Series(digits[chosen])
    labeled = np.random.default_rng(0).choice(len(table), N_LABELED, replace=False)
    table["digit"] = truth[np.sort(labeled)].astype("Int64")
    return table, truth


def settle(out, truth):
    """Label rows of the sheet, as a person would, until enough of them are labelled."""
    sheet, labeled = out / "rows_to_label.csv", 0
    for place, n_rows in enumerate(SITTINGS):
        rows = pd.read_csv(sheet, dtype=str, keep_default_na=False)
        chosen = rows.index[labeled : labeled + n_rows]
        rows.loc[chosen, "digit"] = [str(truth[image]) for image in rows.loc[chosen, "image"]]
        rows.to_csv(sheet, index=False)
        labeled += len(chosen)
        print(f"(Somebody looks at {len(chosen)} images and fills in what they show.)\n")
        last = place + 1 == len(SITTINGS)
        run("settle", out, *(("--save-model", out / "model.skops", "--force") if last else ()))


def run(*arguments):
    """Show a command, run it, and end if it fails."""
    words = [str(argument) for argument in arguments]
    print(f"$ primum {' '.join(words)}\n", flush=True)
    done = subprocess.run([sys.executable, "-m", "primum", *words], check=False)
    if done.returncode:
        sys.exit(done.returncode)
    print(flush=True)


def check(predictions, baseline, table, truth):
    """Compare predictions, and those of the baseline, with the labels that were hidden."""
    hidden = table["digit"].isna()
    wrong = [(one != truth)[hidden].sum() for one in (predictions, baseline.astype(int))]
    print(
        f"The labels were only hidden: {1 - wrong[0] / hidden.sum():.1%} of {hidden.sum()} "
        f"predictions are right: {wrong[0]} errors, where the baseline makes {wrong[1]}."
    )


if __name__ == "__main__":
    main()
