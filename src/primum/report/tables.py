"""Tables in the paper's form, as text, Markdown, LaTeX and HTML.

A table is made once, as cells that say what is bold and what is underlined; a format only decides
how that looks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from primum.datasets import CATALOGUE, Dataset, pca99, z_score

if TYPE_CHECKING:
    import pandas as pd

# Not eligible for bold: what learns without unlabelled rows, or knows all labels.
NOT_SEMI_SUPERVISED = ("Supervised", "Oracle", "Ridge (CV)", "Logistic (CV)")


@dataclass(frozen=True)
class Cell:
    """Text, and how it is set; ``note`` is further text in small print."""

    text: str
    bold: bool = False
    underline: bool = False
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A caption, a header and rows of cells."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def to_text(self) -> str:
        """Return plain text; bold is ``*``, underlined ``_``."""
        rows = [[_marked(cell, "*", "_") for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(self.header, *rows, strict=True)]
        lines = [self.header, *rows]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )

    def to_markdown(self) -> str:
        """Return a Markdown table."""
        lines = [self.header, ("---",) * len(self.header)]
        lines += [tuple(_marked(cell, "**", "_") for cell in row) for row in self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def to_latex(self) -> str:
        """Return a LaTeX table (package booktabs)."""
        body = "\n".join(" & ".join(map(_latex, row)) + r" \\" for row in self.rows)
        return (
            "\\begin{table}\n\\centering\n"
            f"\\caption{{{_latex_escape(self.caption)}}}\n"
            f"\\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}\n\\toprule\n"
            f"{' & '.join(map(_latex_escape, self.header))} \\\\\n\\midrule\n{body}\n"
            "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
        )

    def to_html(self) -> str:
        """Return an HTML table."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.header)
        body = "\n".join(
            "<tr>" + "".join(f"<td>{_html(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        return (
            f"<div class='scroll'><table><caption>{escape(self.caption)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


def datasets_table(datasets: Sequence[Dataset]) -> Table:
    """Return Table 1, computed from the data."""
    rows = []
    for dataset in datasets:
        share = max(dataset.codes.mean(), 1 - dataset.codes.mean())
        rows.append(
            tuple(
                Cell(text)
                for text in (
                    dataset.info.title,
                    str(dataset.X.shape[0]),
                    str(dataset.X.shape[1]),
                    str(pca99(z_score(dataset.X))),
                    f"{share:.2f}",
                )
            )
        )
    return Table(
        "Data sets. PCA99: principal components that retain 99 % of the variance. Majority: "
        "share of the larger class.",
        ("Dataset", "Objects", "Features", "PCA99", "Majority"),
        tuple(rows),
    )


def error_table(summary: "pd.DataFrame", measure: str = "error") -> Table:
    """Return Table 2 (or 3) from a summary: mean, times worse, bold and underlined as there."""
    cells = summary[summary["measure"] == measure]
    repeats = int(cells["repeats"].max())
    classifiers = list(cells["classifier"].unique())
    rows = []
    for name in cells["dataset"].unique():
        row = cells[cells["dataset"] == name].set_index("classifier")
        eligible = [c for c in row.index if c not in NOT_SEMI_SUPERVISED]
        best = row.loc[eligible, "mean"].idxmin() if eligible else None
        rows.append(
            (
                Cell(CATALOGUE[name].title if name in CATALOGUE else name),
                *(
                    _error_cell(row.loc[c], repeats, bold=c == best) if c in row.index else Cell("")
                    for c in classifiers
                ),
            )
        )
    return Table(
        f"Mean {measure.replace('_', ' ')} and, in parentheses, how many of {repeats} repeats are "
        "worse than supervised. Bold: best semi-supervised. Underlined: significantly worse than "
        "supervised (Wilcoxon, p < 0.01).",
        ("Dataset", *classifiers),
        tuple(rows),
    )


def _error_cell(cell: "pd.Series", repeats: int, bold: bool) -> Cell:
    known = cell.dropna()
    text = f"{cell['mean']:.2f}" if cell["mean"] < 10 else f"{cell['mean']:.1f}"
    if "times_worse" in known:
        fewer = f" of {cell['repeats']}" if cell["repeats"] < repeats else ""
        text += f" ({int(cell['times_worse'])}{fewer})"
    note = f"{cell['published_mean']:.3f}, z {cell['z']:+.1f}" if "z" in known else ""
    return Cell(text, bold, bool(cell["significantly_worse"]), note)


def _marked(cell: Cell, bold: str, underline: str) -> str:
    text = f"{bold}{cell.text}{bold}" if cell.bold else cell.text
    text = f"{underline}{text}{underline}" if cell.underline else text
    return f"{text} [{cell.note}]" if cell.note else text


def _latex(cell: Cell) -> str:
    text = _latex_escape(cell.text)
    text = f"\\textbf{{{text}}}" if cell.bold else text
    text = f"\\underline{{{text}}}" if cell.underline else text
    return f"{text} {{\\scriptsize [{_latex_escape(cell.note)}]}}" if cell.note else text


def _latex_escape(text: str) -> str:
    for sign in "&%_#":
        text = text.replace(sign, "\\" + sign)
    return text


def _html(cell: Cell) -> str:
    text = escape(cell.text)
    text = f"<b>{text}</b>" if cell.bold else text
    text = f"<u>{text}</u>" if cell.underline else text
    return f"{text}<br><small>{escape(cell.note)}</small>" if cell.note else text
