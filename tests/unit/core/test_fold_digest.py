"""Digests of seeded folds, as committed in `tests/support/fold_digest.py`; `tests/system/test_other_processors.py` is for other processors.

They cover raters, prequential sums and tallies, so they change with kernels, defaults and the stream there. A change of kernels or defaults
is a new FOLD_VERSION. A new line of ON_REQUEST changes the second digest only, without a new version. A change of COUNTERS, of limits, of
validation, or of another array of a pool is a new FOLD_VERSION that these digests do not show.
"""

from tests.support.fold_digest import COMMITTED, fold_digest, on_request_digest


def test_digest_here():
    assert (fold_digest(), on_request_digest()) == COMMITTED
