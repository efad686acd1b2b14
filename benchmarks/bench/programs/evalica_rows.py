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
