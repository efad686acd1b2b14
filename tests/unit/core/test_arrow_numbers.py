"""Numbers become Arrow arrays as pyarrow itself would make them."""

import numpy as np
import pyarrow as pa
import pytest

from ratings_core.arrays.arrow import arrow_numbers

KINDS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 1, 9])
def test_numbers_and_nulls_are_those_that_pyarrow_makes(kind: type[np.generic], rows: int) -> None:
    values = np.arange(2 * rows).astype(kind)[::2]
    valid = np.arange(rows) % 3 > 0
    assert arrow_numbers(values).equals(pa.array(values))
    made = arrow_numbers(values, valid)
    made.validate(full=True)
    assert made.equals(pa.array(values, mask=~valid))
    assert made.null_count == rows - valid.sum()
