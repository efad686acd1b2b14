"""arena-rank: L-BFGS in JAX on unique results of pairs, and a sandwich estimate."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset
from arena_rank.utils.math_utils import assemble_parwise_matrix

PACKAGES = ("arena-rank", "jax", "pandas", "numpy")


class Mended(BradleyTerry):
    """With the squared scores of Equirank: divided by 1 minus the leverage of their game (HC2), and a share of them expected ones."""

    @staticmethod
    def compute_hessian_and_covariance(ratings, matchups, outcomes, counts, opt_weights, hessian_reg, n_competitors):
        hessian, plain = BradleyTerry.compute_hessian_and_covariance(
            ratings, matchups, outcomes, counts, opt_weights, hessian_reg, n_competitors
        )
        inverse, (a, b) = jnp.linalg.inv(hessian), matchups.T
        p = jax.nn.sigmoid(ratings[a] - ratings[b])
        expected = p * (1 - p) * opt_weights
        leverage = expected / counts * (inverse[a, a] + inverse[b, b] - 2 * inverse[a, b])
        squared = ((outcomes - p) * opt_weights) ** 2 / counts / (1 - leverage)
        information = jnp.zeros(n_competitors).at[a].add(expected).at[b].add(expected)
        share = 0.5 / (0.5 + jnp.minimum(information[a], information[b]))
        return hessian, assemble_parwise_matrix(jnp.zeros_like(plain), (1 - share) * squared + share * expected, a, b)


def intervals(data, kind=BradleyTerry, **options):
    frame = pd.DataFrame({name: data[name] for name in ("model_a", "model_b", "winner")})

    def run():
        dataset = PairDataset.from_pandas(frame)
        model = kind(n_competitors=dataset.n_competitors, scale=1.0, base=np.e, init_rating=0.0, **options)
        return jax.block_until_ready(model.compute_ratings_and_cis(dataset))

    def values(found):
        ratings, low, high = (np.asarray(found[name]) for name in ("ratings", "rating_lower", "rating_upper"))
        return {"ratings": ratings - ratings.mean(), "half_widths": (high - low) / 2}

    return run, values


def mended(data):
    """With leverages and expected squares in the sandwich estimate, almost no ridge, and a fit to 1e-12."""
    return intervals(data, Mended, hessian_reg=1e-9, ftol=1e-18, gtol=1e-12)
