"""One digest of a seeded fold, committed in `tests/support/fold_digest.py`; `tests/system/test_other_processors.py` asks for it elsewhere.

It changes only with the kernels, the defaults or the stream there; a change of the first two is a new FOLD_VERSION.
"""

from tests.support.fold_digest import COMMITTED, fold_digest, on_request_digest


def test_digest_here():
    assert (fold_digest(), on_request_digest()) == COMMITTED
