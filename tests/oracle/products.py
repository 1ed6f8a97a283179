"""Sums of products: matrices, `einsum`."""

from common import *


def product(f, name, *arrays):
    """Computed by Python's integers or by wide floats, then wrapped or rounded."""
    out = f(*(wide(a) for a in arrays))
    if name in INTS:
        return cast(np.asarray(out, dtype=object), name)
    return np.asarray(out).astype(DTYPES[name]) if name in COMPLEX else cast(np.asarray(out), name)


def make():
    group = Group("products")
    for name in NUMBERS:
        v, w = small(name, (3,), 1), small(name, (4,), 2)
        m, n = small(name, (2, 3), 3), small(name, (3, 4), 4)
        many, more = small(name, (5, 2, 3), 5), small(name, (5, 3, 2), 6)
        point = m[0, 0].reshape(())
        cases = [(m, n), (many, v), (m[:, :0], n[:0]), (v, n), (m, v), (v, v), (many, n), (many, more), (many[:, None], more), (m[:0], n)]
        for a, b in edges(name, cases):
            group.case("matmul", [a, b], product(np.matmul, name, a, b))
        cases = [(v, v), (many, small(name, (2, 3, 2), 7)), (m, n), (many, n), (point, m), (m, point), (m[:, :0], n[:0])]
        for a, b in edges(name, cases, 2):
            group.case("dot", [a, b], product(np.dot, name, a, b))
        for a, b in edges(name, [(v, w), (m, w), (point, v), (v[:0], w)], 1):
            group.case("outer", [a, b], product(np.outer, name, a, b))
        out = product(lambda a, b: np.array([x @ y for x, y in zip(a, b)]), name, many, more)
        group.case("dot_general", [many, more], out, batch="0;0", contract="2;1")
        group.case("dot_general", [m, n], product(np.matmul, name, m, n), batch=";", contract="1;0")
        out = product(lambda a, b: np.einsum("kij,kji->k", a, b), name, many, more)
        group.case("dot_general", [many, more], out, batch="0;0", contract="1,2;2,1")
        group.case("dot_general", [v, w], product(np.outer, name, v, w), batch=";", contract=";")
        square = small(name, (3, 3), 8)
        sums = [
            ("ij,jk->ik", (m, n)),
            ("ii->i", (square,)),
            ("ij,jk,kl->il", (m, n, small(name, (4, 2), 9))),
            ("ij,jk", (m, n)),
            ("ij->ji", (m,)),
            ("ij->", (m,)),
            ("ii", (square,)),
            ("i,j->ij", (v, w)),
            ("i,i", (v, v)),
            ("bij,bjk->bik", (many, more)),
            ("...ij,...jk", (many, n)),
            ("ba", (m,)),
            ("ij,j->i", (m[:0], v)),
            (",ij", (point, m)),
        ]
        for text, arrays in edges(name, sums):
            group.case("einsum", arrays, product(lambda *xs: np.einsum(text, *xs), name, *arrays), text=text)
    group.write()
