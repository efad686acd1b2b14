"""evalica: Python functions on lists, over a core in Rust."""

import evalica
import numpy as np

PACKAGES = ("evalica", "pandas", "numpy")
RESULTS = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}


def elo(data):
    first, second = data["first"].tolist(), data["second"].tolist()
    results = [RESULTS[result] for result in data["result"].tolist()]

    def values(found):
        ratings = np.full(int(data["agents"]), np.nan)
        ratings[found.scores.index.to_numpy()] = found.scores.to_numpy()
        return {"ratings": ratings}

    return lambda: evalica.elo(first, second, results, initial=1500.0, k=32.0), values


WORDS = {"model_a": evalica.Winner.X, "model_b": evalica.Winner.Y, "tie": evalica.Winner.Draw}


def logits(found):
    """Logits with mean 0, by name."""
    theta = np.log(found.scores.sort_index().to_numpy())
    return {"ratings": theta - theta.mean()}


def battles(data):
    columns = [data[name].tolist() for name in ("model_a", "model_b")]
    results = [WORDS[word] for word in data["winner"].tolist()]
    return lambda: evalica.bradley_terry(*columns, results), logits


def battles_to_the_end(data):
    columns = [data[name].tolist() for name in ("model_a", "model_b")]
    results = [WORDS[word] for word in data["winner"].tolist()]
    return lambda: evalica.bradley_terry(*columns, results, tolerance=1e-12, limit=100_000), logits


def csv_file(data):
    """pandas reads the file."""
    import pandas as pd  # noqa: PLC0415 - only this program needs it

    path = str(data["folder"]) + "/battles.csv"
    pd.DataFrame({name: data[name] for name in ("model_a", "model_b", "winner")}).to_csv(path, index=False)

    def run():
        frame = pd.read_csv(path)
        return evalica.bradley_terry(frame["model_a"], frame["model_b"], frame["winner"].map(WORDS))

    return run, logits
