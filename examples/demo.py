"""From a table to an answer: whether the unlabelled rows help, and which model to use.

Writes a real table with most labels removed, as a CSV file, and runs the two commands that anybody
with such a table would run: ``primum compare`` and ``primum predict``. Because the labels were only
hidden, the predictions can be checked at the end.

With so few labels the verdict is often that one cannot tell, and what to use meanwhile.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

DIGITS = (1, 2, 3, 8, 9)
N_LABELED = 150
# To save time. Without this option all default methods are compared, and ICLS harms on this table.
METHODS = ("--methods", "safe-stack,self-learning")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="where to write")
    parser.add_argument("--quick", action="store_true", help="compare one method only")
    options = parser.parse_args()
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    table, truth = digits_with_hidden_labels()
    table.to_csv(out / "digits.csv", index=False)
    print(
        f"{out / 'digits.csv'}: {len(table)} handwritten digits {DIGITS}, one per row, as the grey "
        f"values of 8 x 8 pixels.\nOnly {N_LABELED} of them have a label in the column 'digit'.\n"
        "With so few labels, the answer is often that one cannot tell.\n"
    )
    run(
        *("compare", out / "digits.csv", "--target", "digit", "--id", "image", "--repeats", 1),
        *("--out", out, "--save-model", out / "model.skops", "--force"),
        *(("--methods", "em-lda", "--no-curves") if options.quick else METHODS),
    )
    run(
        *("predict", out / "model.skops", out / "digits.csv"),
        *("--out", out / "predictions.csv"),
    )
    check(pd.read_csv(out / "predictions.csv"), table, truth)


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


def run(*arguments):
    """Show a command, run it, and end if it fails."""
    words = [str(argument) for argument in arguments]
    print(f"$ primum {' '.join(words)}\n", flush=True)
    done = subprocess.run([sys.executable, "-m", "primum", *words], check=False)
    if done.returncode:
        sys.exit(done.returncode)
    print(flush=True)


def check(predictions, table, truth):
    hidden = table["digit"].isna()
    share = (predictions["prediction"] == truth)[hidden].mean()
    print(f"The labels were only hidden: {share:.1%} of {hidden.sum()} predictions are right.")


if __name__ == "__main__":
    main()
