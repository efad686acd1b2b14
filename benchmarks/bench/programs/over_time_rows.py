"""Models of strength over time, fitted to all games at once: whole-history rating, and TrueSkill through time."""

import numpy as np

PACKAGES = ("whole-history-rating", "trueskillthroughtime")
PRECISION = 1e-3


def listed(data):
    return [data[name].tolist() for name in ("first", "second", "result", "period")]


def whole_history(data):
    from whr import WHR  # noqa: PLC0415 - each program loads its own package

    games = list(zip(*listed(data), strict=True))

    def run():
        history = WHR({"w2": 300})
        for a, b, result, period in games:
            history.create_game(str(a), str(b), "B" if result == 1.0 else "W", period, 0)
        history.auto_iterate(precision=PRECISION)
        return history

    def values(history):
        ratings = np.full(int(data["agents"]), np.nan)
        for agent in {agent for game in games for agent in game[:2]}:
            ratings[agent] = history.player_by_name(str(agent)).days[-1].elo
        return {"ratings": ratings}

    return run, values


def through_time(data):
    from trueskillthroughtime import History  # noqa: PLC0415 - each program loads its own package

    first, second, result, period = listed(data)
    games = [[[str(a)], [str(b)]] if won == 1.0 else [[str(b)], [str(a)]] for a, b, won in zip(first, second, result, strict=True)]

    def run():
        history = History(games, times=period)
        history.convergence(epsilon=PRECISION, iterations=30, verbose=False)
        return history

    def values(history):
        ratings = np.full(int(data["agents"]), np.nan)
        for agent, curve in history.learning_curves().items():
            ratings[int(agent)] = curve[-1][1].mu
        return {"ratings": ratings}

    return run, values
