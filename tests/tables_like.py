"""Small tables like those that people have, with what is awkward about each; all of them seeded.

Every function returns a DataFrame as its owner would save it: cells as written, labels missing
where they are unknown.
"""

import datetime

import numpy as np
import pandas as pd


def flights(n=400, n_labeled=60, seed=0):
    """Return many flights, of which 24 % are late, with times of day such as 13:30."""
    rng = np.random.default_rng(seed)
    minute = rng.integers(5 * 12, 23 * 12, n) * 5
    distance = rng.lognormal(6.5, 0.5, n).round()
    score = minute / 300 + rng.normal(0, 1, n)
    late = score > np.quantile(score, 0.76)
    return pd.DataFrame(
        {
            "departs": [f"{m // 60}:{m % 60:02}" for m in minute],
            "carrier": rng.choice(["Alba", "Boreal", "Condor", "Delta Sud"], n),
            "to": rng.choice([f"airport {i}" for i in range(12)], n),
            "distance": distance,
            "status": _hidden(np.where(late, "late", "ok"), n_labeled, rng),
        }
    )


def with_time_objects(frame):
    """Return flights with times of day as Excel and pandas store them."""
    times = [datetime.time(*map(int, text.split(":"))) for text in frame["departs"]]
    return frame.assign(departs=times)


def loans(n=200, n_labeled=80, seed=0):
    """Return loans with amounts in dollars and rates in percent; 10 % default."""
    rng = np.random.default_rng(seed)
    amount, rate = rng.lognormal(9, 0.6, n), rng.uniform(3, 19, n)
    risk = 0.15 * rate + amount / 8000 + rng.normal(0, 1, n)
    status = np.where(risk > np.quantile(risk, 0.9), "default", "paid")
    return pd.DataFrame(
        {
            "amount": [f"${value:,.0f}" for value in amount],
            "rate": [f"{value:.1f}%" for value in rate],
            "purpose": rng.choice(["car", "house", "school", "other"], n),
            "issued": pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 600, n), "D"),
            "status": _hidden(status, n_labeled, rng),
        }
    )


def hawks(n=150, n_labeled=50, seed=0):
    """Return body measurements of three species, some of them missing."""
    rng = np.random.default_rng(seed)
    species = rng.choice(["Cooper's", "red-tailed", "sharp-shinned"], n, p=[0.1, 0.6, 0.3])
    size = pd.Series(species).map({"Cooper's": 0.55, "red-tailed": 1.0, "sharp-shinned": 0.3})
    frame = pd.DataFrame(
        {
            "wing": (380 * size**0.5 + rng.normal(0, 12, n)).round(),
            "weight": (1100 * size + rng.normal(0, 60, n)).round(),
            "tail": (222 * size**0.3 + rng.normal(0, 8, n)).round(),
        }
    )
    frame = frame.mask(rng.random(frame.shape) < 0.08)
    frame["sex"] = rng.choice(["F", "M", ""], n, p=[0.2, 0.2, 0.6])
    return frame.assign(species=_hidden(species, n_labeled, rng))


def stops(n=250, n_labeled=60, seed=0):
    """Return police stops, described by categories in words."""
    rng = np.random.default_rng(seed)
    reason = rng.choice(["speeding", "moving violation", "equipment", "registration"], n)
    chance = pd.Series(reason).map({"speeding": 0.75, "equipment": 0.25}).fillna(0.5)
    return pd.DataFrame(
        {
            "reason": reason,
            "county": rng.choice([f"{name} County" for name in "ABCDEFGHIJKLMNOPQRSTUVWXY"], n),
            "searched": rng.choice(["yes", "no"], n, p=[0.1, 0.9]),
            "night": rng.choice(["day", "night", "dusk"], n),
            "outcome": _hidden(
                np.where(rng.random(n) < chance, "citation", "warning"), n_labeled, rng
            ),
        }
    )


def churn(n=150, n_labeled=50, seed=0):
    """Return customers with a key, a plan, and whether they left: yes or no."""
    rng = np.random.default_rng(seed)
    months, fee = rng.integers(1, 60, n), rng.uniform(20, 110, n).round(2)
    left = rng.random(n) < 1 / (1 + np.exp(months / 8 - fee / 40))
    return pd.DataFrame(
        {
            "customer": [f"C-{number:05}" for number in rng.permutation(90_000)[:n]],
            "months": months,
            "monthly fee": fee,
            "contract": rng.choice(["monthly", "yearly"], n),
            "churn": _hidden(np.where(left, "Yes", "No"), n_labeled, rng),
        }
    )


def penguins(n=120, n_labeled=40, seed=0):
    """Return measurements that tell three species apart almost without error."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    centres = np.array([[38.8, 18.3, 190, 3700], [48.8, 18.4, 196, 3730], [47.5, 15.0, 217, 5080]])
    rows = centres[kind] + rng.normal(size=(n, 4)) * [2.0, 0.8, 6, 350]
    frame = pd.DataFrame(rows.round(1), columns=["bill", "depth", "flipper", "mass"])
    names = np.array(["Adelie", "Chinstrap", "Gentoo"])[kind]
    return frame.assign(species=_hidden(names, n_labeled, rng))


def diaries(n_people=30, n_days=5, n_labeled=12, seed=0):
    """Return diaries of people, all or none of whose days are labelled, by their number."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_people), n_days)
    habit = rng.normal(size=(n_people, 3))[person]
    rows = habit + 0.3 * rng.normal(size=habit.shape)
    good = rng.normal(size=n_people)[person] + 0.5 * rows[:, 0] > 0
    frame = pd.DataFrame(rows.round(2), columns=["sleep", "steps", "coffee"])
    mood = np.where(person < n_labeled, np.where(good, "good", "bad"), None)
    return frame.assign(id=101 + person, mood=mood)


def houses(n=120, n_labeled=70, seed=0):
    """Return houses and their prices, which are numbers, not classes."""
    rng = np.random.default_rng(seed)
    area = rng.uniform(40, 220, n).round()
    price = np.round(2500 * area + rng.normal(0, 30_000, n) + 40_000, -2)
    return pd.DataFrame(
        {
            "area": area,
            "rooms": (area // 25).astype(int),
            "street": rng.choice(["Elm", "Oak"], n),
            "price": pd.Series(_hidden(price, n_labeled, rng), dtype=float).astype("Int64"),
        }
    )


def tweets(n=150, n_labeled=50, seed=0):
    """Return tweets, with counts."""
    rng = np.random.default_rng(seed)
    words = np.array(
        [
            "the",
            "flight",
            "was",
            "on",
            "time",
            "late",
            "crew",
            "kind",
            "bag",
            "lost",
            "again",
            "thanks",
            "never",
        ]
    )
    followers, mood = rng.lognormal(5, 1, n).round(), rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "text": [" ".join(rng.choice(words, 12)) for _ in range(n)],
            "retweets": rng.poisson(1 + 2 * mood),
            "followers": followers,
            "mood": _hidden(np.array(["negative", "neutral", "positive"])[mood], n_labeled, rng),
        }
    )


def rare_class(n=200, n_labels=(40, 5), seed=0):
    """Return a table with a class of few labels."""
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < 0.1
    rows = rng.normal(size=(n, 4)) + 2.0 * rare[:, None]
    labels = np.full(n, None, dtype=object)
    for name, value, count in (("common", False, n_labels[0]), ("rare", True, n_labels[1])):
        labels[np.flatnonzero(rare == value)[:count]] = name
    return pd.DataFrame(rows.round(3), columns=["a", "b", "c", "d"]).assign(kind=labels)


def nine_classes(n=180, n_labeled=90, seed=0):
    """Return eight features and nine classes, coded 1 to 9."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 9
    rows = 1.5 * rng.normal(size=(9, 8))[kind] + rng.normal(size=(n, 8))
    frame = pd.DataFrame(rows.round(3), columns=[f"f{j}" for j in range(8)])
    labels = pd.Series(_hidden(kind + 1, n_labeled, rng), dtype=float).astype("Int64")
    return frame.assign(kind=labels)


def write_workbook(frame, path):
    """Write a table below titles and above its total, as the second sheet of a spreadsheet."""
    numbers = frame.select_dtypes("number")
    total = {frame.columns[0]: "Total", **numbers.sum().to_dict()}
    table = pd.concat([frame, pd.DataFrame([total])], ignore_index=True)
    titles = pd.DataFrame([["Customers of 2024"], ["exported in May"]])
    with pd.ExcelWriter(path) as book:
        pd.DataFrame([["Ask Ann about the table."]]).to_excel(
            book, sheet_name="Notes", header=False, index=False
        )
        titles.to_excel(book, sheet_name="Customers", header=False, index=False)
        table.to_excel(book, sheet_name="Customers", startrow=3, index=False)


def _hidden(labels, n_labeled, rng):
    """Return labels of which only some are known."""
    known = rng.permutation(len(labels))[:n_labeled]
    found = np.full(len(labels), None, dtype=object)
    found[known] = np.asarray(labels, dtype=object)[known]
    return found


def remarks(n=600, n_labeled=40, n_words=3000, seed=2):
    """Return remarks on two topics; most words say little, and frequent ones nothing."""
    rng = np.random.default_rng(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    digits = np.arange(n_words)[:, None] // np.array([1, 60, 3600]) % 60
    words = np.array(["".join(syllables[d] for d in row) for row in digits])
    frequency = 1.0 / np.arange(1, n_words + 1)
    tilt = np.exp(rng.normal(size=n_words) * (np.arange(n_words) > 20))
    shares = np.stack([frequency, frequency * tilt])
    shares /= shares.sum(axis=1, keepdims=True)
    topics = rng.integers(0, 2, n)
    texts = [" ".join(rng.choice(words, 40, p=shares[topic])) for topic in topics]
    names = np.array(["billing", "delivery"], dtype=object)[topics]
    frame = pd.DataFrame({"remark": texts, "age": rng.integers(20, 70, n) + 0.5, "topic": names})
    frame.loc[n_labeled:, "topic"] = None
    return frame, names
