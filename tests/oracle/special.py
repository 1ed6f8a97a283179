"""Special functions and activations of floats."""

import scipy.special as sp

from common import *


def gelu(x):
    return x * 0.5 * sp.erfc(-x / np.sqrt(2))


SPECIAL = {
    "erf": sp.erf,
    "erfc": sp.erfc,
    "erf_inv": sp.erfinv,
    "lgamma": sp.gammaln,
    "digamma": sp.digamma,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "sigmoid": sp.expit,
    "softplus": lambda x: np.logaddexp(x, 0),
    "silu": lambda x: x * sp.expit(x),
    "gelu": gelu,
}
ANALYTIC_TOO = ["sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh"]


def domain(operation, name):
    grid = np.linspace(-4, 4, 17)
    if operation in ("asin", "acos", "atanh", "erf_inv"):
        grid = np.linspace(-0.95, 0.95, 15)
        return np.concatenate([grid, [-1.0, 1.0, 1.5, -2.0, np.nan]])
    if operation == "acosh":
        return np.array([1.0, 1.5, 2, 7, 100, 0.5, -1, np.nan])
    if operation in ("lgamma", "digamma"):
        # Near a root only the distance counts, and at a pole implementations differ.
        return np.array([0.3, 0.75, 2.5, 3.5, 7, 20, -0.5, -1.7, np.nan])
    if operation in ("silu", "gelu"):
        return np.concatenate([grid, [0.0, np.inf, np.nan]])
    return np.concatenate([grid, [-0.0, 10.0, -10.0, np.inf, -np.inf, np.nan]])


def make():
    group = Group("special")
    for name in FLOATS:
        for operation, f in SPECIAL.items():
            a = cast(domain(operation, name), name)
            for x in edges(name, [a, a[:0].reshape(0, 2), a[3].reshape(()), a[:6].reshape(2, 3)], 2):
                with np.errstate(all="ignore"):
                    group.case(operation, [x], cast(np.asarray(f(x.astype(np.float64))), name))
        a = cast(np.array([-2.0, -0.5, -0.0, 1.0, 3.5, np.inf, np.nan]), name)
        slope = cast(np.array(0.25), name)
        x = a.astype(np.float64)
        group.case("leaky_relu", [a, slope], cast(np.where(x >= 0, x, x * 0.25), name))
        grid = cast(np.array([-np.inf, -300.0, -1.5, 0.0, 2.0, 80.0, np.inf]), name)
        with np.errstate(all="ignore"):
            out = np.logaddexp(grid.astype(np.float64)[:, None], grid.astype(np.float64))
        group.case("logaddexp", [grid[:, None], grid], cast(out, name))
        group.case("logaddexp", [grid[:0], grid[:0]], grid[:0])
    for name in COMPLEX:
        for operation in ANALYTIC_TOO:
            a = (uniform(name, (9,), 9, 0.2, 0.8) - DTYPES[name].type(0.5)).astype(DTYPES[name])
            for x in (a, a[0].reshape(()), a[:0]):
                group.case(operation, [x], SPECIAL[operation](x.astype(np.complex128)).astype(DTYPES[name]))
    group.write()
