"""Runs inside .venv-oracles: answers one JSON line a question with what pref_voting says, or with the error it raised.

Question: {"ask": name, "margins": [[...]]} or {"ask": name, "orders": [[...]], "weights": [...]} (strict complete votes), or
{"ask": name, "ranks": [{"0": 1, ...}], "weights": [...], "m": m} (ties and missing alternatives). The reply also has the CPU
seconds that the last of `times` (1 by default) runs took; the first may compile.
"""

import json
import sys
import time

from pref_voting.c1_methods import copeland, schwartz_set, smith_set
from pref_voting.iterative_methods import instant_runoff_put
from pref_voting.margin_based_methods import beat_path, essential, ranked_pairs, ranked_pairs_zt
from pref_voting.other_methods import kemeny_young_rankings
from pref_voting.probabilistic_methods import maximal_lottery
from pref_voting.profiles import Profile
from pref_voting.profiles_with_ties import ProfileWithTies
from pref_voting.scoring_methods import symmetric_borda_scores
from pref_voting.weighted_majority_graphs import MarginGraph


def plain(answer):
    """As JSON has it."""
    if isinstance(answer, dict):
        return {str(key): plain(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple | set):
        return [plain(value) for value in answer]
    return answer.item() if hasattr(answer, "item") else answer


def margin_graph(question):
    """Of a margin matrix."""
    rows = question["margins"]
    m = len(rows)
    return MarginGraph(list(range(m)), [(a, b, rows[a][b]) for a in range(m) for b in range(m) if rows[a][b] > 0])


def votes(question):
    """Strict complete votes."""
    return Profile(question["orders"], rcounts=question["weights"])


def tied_votes(question):
    """Votes with ties and missing alternatives; those not listed are below where `last` is said."""
    ranks = [{int(agent): rank for agent, rank in vote.items()} for vote in question["ranks"]]
    profile = ProfileWithTies(ranks, rcounts=question["weights"], candidates=list(range(question["m"])))
    if question["unlisted"] == "last":
        profile.use_extended_strict_preference()
    return profile


def support(question):
    """N of votes with ties and missing alternatives."""
    profile = tied_votes(question)
    return [[profile.support(a, b) if a != b else 0 for b in range(question["m"])] for a in range(question["m"])]


ANSWERS = {
    "beat_path": lambda q: beat_path(margin_graph(q)),
    "beat_path_of_votes": lambda q: beat_path(tied_votes(q), strength_function=tied_votes(q).support),
    "ranked_pairs": lambda q: ranked_pairs(margin_graph(q)),
    "copeland": lambda q: copeland(margin_graph(q)),
    "copeland_scores": lambda q: margin_graph(q).copeland_scores(scores=(1, 0.5, 0)),
    "smith_set": lambda q: smith_set(margin_graph(q)),
    "schwartz_set": lambda q: schwartz_set(margin_graph(q)),
    "essential": lambda q: essential(margin_graph(q)),
    "condorcet": lambda q: margin_graph(q).condorcet_winner(),
    "weak_condorcet": lambda q: margin_graph(q).weak_condorcet_winner(),
    "maximal_lottery": lambda q: maximal_lottery(margin_graph(q)),
    "support": support,
    "symmetric_borda": lambda q: symmetric_borda_scores(tied_votes(q)),
    "borda": lambda q: votes(q).borda_scores(),
    "plurality": lambda q: votes(q).plurality_scores(),
    "kemeny": lambda q: kemeny_young_rankings(votes(q)),
    "copeland_of_orders": lambda q: votes(q).copeland_scores(scores=(1, 0.5, 0)),
    "beat_path_of_orders": lambda q: beat_path(votes(q)),
    "ranked_pairs_of_orders": lambda q: ranked_pairs_zt(votes(q)),
    "instant_runoff": lambda q: instant_runoff_put(votes(q)),
}


def answer(question):
    """What pref_voting says."""
    try:
        for _ in range(question.get("times", 1)):
            begun = time.process_time()
            found = ANSWERS[question["ask"]](question)
            seconds = time.process_time() - begun
        return {"answer": plain(found), "seconds": seconds}
    except Exception as error:  # noqa: BLE001 - the asker decides
        return {"error": repr(error)}


if __name__ == "__main__":
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=out, flush=True)
