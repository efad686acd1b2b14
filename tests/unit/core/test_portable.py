"""Portable exp, log and sigmoid against 60-digit decimals and at every edge of the doubles."""

import math
import re
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest
from numba import njit

from ratings_core.kernels import portable
from ratings_core.kernels.portable import EXP_PLAIN, exp, log, plain_exp, plain_log, sigmoid
from tests.support.assembly import FORBIDDEN

MIN_NORMAL = 2.0**-1022
TINY = 5e-324
INF, NAN = math.inf, math.nan

CASES = [
    pytest.param(exp, lambda x: x.exp(), 0.51, 0.76, id="exp"),
    pytest.param(sigmoid, lambda x: 1 / (1 + (-x).exp()), 2.2, 0.76, id="sigmoid"),
]


def worst(function, exact, points):
    """Greatest error in units in the last place, among normal and among subnormal results."""
    normal = subnormal = Decimal(0)
    with localcontext(Context(prec=60)):
        for x in points.tolist():
            truth = exact(Decimal(x))
            error = abs(Decimal(function(x)) - truth) / Decimal(math.ulp(float(truth)))
            if abs(truth) < MIN_NORMAL:
                subnormal = max(subnormal, error)
            else:
                normal = max(normal, error)
    return float(normal), float(subnormal)


@pytest.mark.parametrize(("function", "exact", "normal", "subnormal"), CASES)
def test_accuracy(function, exact, normal, subnormal):
    draw = np.random.default_rng(5)
    points = [draw.uniform(-744, 709.7, 800), draw.normal(0, 4, 800), draw.uniform(-744, -687, 300), draw.uniform(-1e-6, 1e-6, 200)]
    errors = worst(function, exact, np.concatenate(points))
    assert errors[0] <= normal
    assert 0 < errors[1] <= subnormal


def test_accuracy_of_log():
    draw = np.random.default_rng(6)
    spread = np.ldexp(draw.uniform(1, 2, 800), draw.integers(-1022, 1023, 800))
    near = np.concatenate([draw.uniform(0.5, 2, 800), 1 + draw.normal(0, 1e-3, 300), 1 + draw.normal(0, 1e-9, 200)])
    subnormal = draw.integers(1, 2**52, 200) * TINY
    assert worst(log, Decimal.ln, np.concatenate([spread, near, subnormal]))[0] <= 0.77


@pytest.mark.parametrize(
    ("function", "x", "value"),
    [
        (exp, 0.0, 1.0), (exp, -0.0, 1.0), (exp, TINY, 1.0), (exp, INF, INF), (exp, -INF, 0.0), (exp, 1e300, INF), (exp, -1e300, 0.0),
        (exp, 709.782712893384, 1.797693134862273e308), (exp, 709.7827128933841, INF),
        (exp, -745.1332191019411, TINY), (exp, -745.1332191019412, 0.0),
        (log, 1.0, 0.0), (log, 0.0, -INF), (log, -0.0, -INF), (log, INF, INF), (log, TINY, -744.4400719213812),
        (log, 1.7976931348623157e308, 709.782712893384),
        (sigmoid, 0.0, 0.5), (sigmoid, -0.0, 0.5), (sigmoid, INF, 1.0), (sigmoid, -INF, 0.0), (sigmoid, 800.0, 1.0),
        (sigmoid, -745.1332191019411, TINY),
    ],
)  # fmt: skip
def test_edges(function, x, value):
    assert function(x) == pytest.approx(value, rel=1e-13, abs=0)
    assert math.copysign(1, function(x)) == math.copysign(1, value)


@pytest.mark.parametrize("function", [exp, log, sigmoid])
def test_nan_goes_in_and_out(function):
    assert math.isnan(function(NAN))


@pytest.mark.parametrize("x", [-1.0, -TINY, -INF])
def test_log_of_a_negative_number_is_nan(x):
    assert math.isnan(log(x))


@pytest.mark.parametrize("function", [exp, sigmoid])
def test_grows_with_x(function):
    """Also across the seams: steps of the table, and where the far branch takes over."""
    seams = np.concatenate([np.arange(-40, 40) * math.log(2) / 256, [-690.0, 690.0, -708.4, 0.0]])
    around = np.sort((seams[:, None] + np.linspace(-1e-7, 1e-7, 41)).ravel())
    values = np.array([function(x) for x in around.tolist()])
    assert (np.diff(values) >= 0).all()


def test_the_reduction_constants_are_the_logarithm_of_two():
    with localcontext(Context(prec=60)):
        ln2 = Decimal(2).ln()
        assert abs(Decimal(portable._STEP_HIGH) + Decimal(portable._STEP_LOW) - ln2 / 128) < Decimal(2) ** -95
        assert abs(Decimal(portable._LN2_HIGH) + Decimal(portable._LN2_LOW) - ln2) < Decimal(2) ** -92
        assert float(128 / ln2) == portable._STEPS_PER_E
    for whole, high in ((2**17, portable._STEP_HIGH), (2**11, portable._LN2_HIGH)):
        assert math.frexp(high)[0] * 2 ** (53 - whole.bit_length()) % 1 == 0  # so that any step times it is exact


def test_the_table_of_powers_is_correctly_rounded():
    with localcontext(Context(prec=60)):
        for j, (bits, lost) in enumerate(zip(portable._POWER_BITS.tolist(), portable._POWER_LOST.tolist(), strict=True)):
            near, truth = np.int64(bits + (j << 45)).view(np.float64), Decimal(2) ** (Decimal(j) / 128)
            assert float(truth) == near
            assert float((truth - Decimal(float(near))) / truth) == pytest.approx(lost, rel=1e-15)


@pytest.mark.parametrize("function", [exp, log, sigmoid])
def test_compiled_code_holds_neither_libm_nor_fused_operations(function):
    fresh = njit("float64(float64)", error_model="numpy")(function.py_func)  # what comes from the cache cannot be inspected
    (assembly,) = fresh.inspect_asm().values()
    assert not re.search(FORBIDDEN, assembly)


def test_what_is_forbidden_would_be_found():
    libm = njit("float64(float64)")(lambda x: math.exp(-x))
    assert re.search(FORBIDDEN, next(iter(libm.inspect_asm().values())))


def test_functions_without_branches_have_the_same_bits():
    draw = np.random.default_rng(6)
    for x in [*draw.uniform(-EXP_PLAIN, EXP_PLAIN, 2_000).tolist(), EXP_PLAIN, -EXP_PLAIN, 0.0, -0.0, TINY, -TINY, 1e-17]:
        assert plain_exp(x) == exp(x)
    for x in [
        *np.exp(draw.uniform(-708, 709, 2_000)).tolist(),
        MIN_NORMAL,
        math.nextafter(INF, 0),
        1.0,
        math.nextafter(1, 0),
        math.sqrt(0.5),
    ]:
        assert plain_log(x) == log(x)
