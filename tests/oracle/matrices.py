"""Linear algebra of small matrices."""

from common import *


def exactly(f, name, *arrays):
    """By float64, rounded once; f64 is as exact as its matrices are well conditioned."""
    part = np.complex128 if name in COMPLEX else np.float64
    out = f(*(a.astype(part) for a in arrays))
    return np.asarray(out).astype(DTYPES[name]) if name in COMPLEX else cast(np.asarray(out, np.float64), name)


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def make():
    group = Group("matrices")
    for name in ANALYTIC:
        real = {"c64": "f32", "c128": "f64"}.get(name, name)
        square = small(name, (2, 3, 3), 1, -2, 3)
        part = np.complex128 if name in COMPLEX else np.float64
        positive = (square.astype(part) @ adjoint(square.astype(part)) + 4 * np.eye(3)).astype(DTYPES[name])
        lower = np.tril(small(name, (3, 3), 2, 1, 4) + 2 * np.eye(3)).astype(DTYPES[name])
        upper = np.triu(lower + lower.T).astype(DTYPES[name])
        one, none = positive[:1, :1, :1], positive[0, :0, :0]
        b, v = small(name, (3, 2), 3), small(name, (3,), 4)
        for a in (positive, positive[0], one, positive[:0], none):
            group.case("cholesky", [a], exactly(np.linalg.cholesky, name, a) if a.size else a)
            group.case("inverse_spd", [a], exactly(np.linalg.inv, name, a) if a.size else a)
            logdet = np.linalg.slogdet(a.astype(part))[1]
            group.case("logdet_spd", [a], cast(np.asarray(logdet, np.float64), real))
        bad = -positive[0]
        group.case("logdet_spd", [bad], np.array(np.nan).astype(DTYPES[real]))
        group.case("solve_spd", [positive[0], b], exactly(np.linalg.solve, name, positive[0], b))
        group.case("solve_spd", [positive, b], exactly(np.linalg.solve, name, positive, b))
        group.case("solve_spd", [positive[0], v], exactly(np.linalg.solve, name, positive[0], v))
        group.case("solve_spd", [positive[0], b[:, :0]], b[:, :0])
        for a, low in ((lower, 1), (upper, 0)):
            for turn, f in (("no", lambda a: a), ("yes", lambda a: a.T), ("adjoint", adjoint)):
                for unit in (0, 1):
                    t = a - np.diag(np.diag(a)) + np.eye(3) if unit else a
                    out = exactly(lambda t, b: np.linalg.solve(f(t), b), name, t, b)
                    group.case("triangular_solve", [a, b], out, left=1, lower=low, unit=unit, turn=turn)
            out = exactly(lambda a, b: np.linalg.solve(a.T, b.T).T, name, a, b.T)
            group.case("triangular_solve", [a, np.ascontiguousarray(b.T)], out, left=0, lower=low, unit=0, turn="no")
            group.case("triangular_solve", [a, v], exactly(np.linalg.solve, name, a, v), left=1, lower=low, unit=0, turn="no")
    group.write()
