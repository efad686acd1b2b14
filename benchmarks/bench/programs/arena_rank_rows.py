"""arena-rank: L-BFGS in JAX on unique results of pairs, and a sandwich estimate."""

import jax
import numpy as np
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

PACKAGES = ("arena-rank", "jax", "pandas", "numpy")


def intervals(data, **options):
    frame = pd.DataFrame({name: data[name] for name in ("model_a", "model_b", "winner")})

    def run():
        dataset = PairDataset.from_pandas(frame)
        model = BradleyTerry(n_competitors=dataset.n_competitors, scale=1.0, base=np.e, init_rating=0.0, **options)
        return jax.block_until_ready(model.compute_ratings_and_cis(dataset))

    def values(found):
        ratings, low, high = (np.asarray(found[name]) for name in ("ratings", "rating_lower", "rating_upper"))
        return {"ratings": ratings - ratings.mean(), "half_widths": (high - low) / 2}

    return run, values


def tightened(data):
    return intervals(data, hessian_reg=1e-9, ftol=1e-15, gtol=1e-9)
