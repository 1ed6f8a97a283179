"""Reductions, and what accumulates along an axis, and sorts it."""

from common import *


def kept(out, shape, axes):
    return out.reshape([1 if i in axes else n for i, n in enumerate(shape)])


def with_keep(group, operation, a, out, axes, **params):
    """The reduction with the axes taken away, and with them kept."""
    numbers = [axis % max(a.ndim, 1) for axis in axes]
    group.case(operation, [a], out, axes=axes, **params)
    if NAMES[a.dtype] in ("f32", "i32", "bool"):
        group.case(operation, [a], kept(out, a.shape, numbers), axes=axes, keep=1, **params)


def axes_of(a):
    """Which axes to try, and the array that is reduced."""
    cases = [(a, (0,)), (a, (0, -1)), (a[:0], (0,)), (a, (-1,)), (a, ()), (a[0, 0].reshape(()), ()), (a[:0], (1,))]
    return edges(NAMES[a.dtype], cases)


def lines_of(a):
    """Which axis to try."""
    cases = [(a, -1), (a[:0], 1), (a, 0), (a, 1), (a[0, :1], 0), (a[:, :0], 1)]
    return edges(NAMES[a.dtype], cases, 2)


def folded(f, start, a, axes, name):
    """A reduction by Python's numbers, or by numpy's wide ones."""
    numbers = wide(a) if name != "bool" else a
    other = [x % a.ndim for x in axes]
    order = [i for i in range(a.ndim) if i not in other]
    sizes = [int(np.prod([a.shape[i] for i in part])) for part in (order, other)]
    rows = numbers.transpose(order + other).reshape(sizes)
    out = []
    for row in rows:
        x = start
        for y in row:
            x = f(x, y)
        out.append(x)
    return np.array(out, dtype=object if name in INTS else None).reshape([a.shape[i] for i in order])


def nan_extreme(pick):
    return lambda x, y: x if x != x else y if y != y else pick(x, y)


def extremes(name):
    if name == "bool":
        return False, True
    if name in INTS:
        info = np.iinfo(DTYPES[name])
        return info.min, info.max
    return -np.inf, np.inf


def result(values, name):
    if name == "bool":
        return np.asarray(values).astype(bool)
    if name in INTS:
        return cast(values, name)
    if name in COMPLEX:
        return np.asarray(values).astype(DTYPES[name])
    return cast(np.asarray(values, np.longdouble if name == "f64" else np.float64), name)


def simple(group, name):
    exact = small(name, (3, 5), 1)
    wild = np.resize(values(name), (3, 5)) if name not in FLOATS else np.resize(floats(name)[::-1], (3, 5))
    low, high = extremes(name) if name not in COMPLEX else (None, None)
    for a, axes in axes_of(exact if name in FLOATS + COMPLEX else wild):
        if name != "bool":
            with_keep(group, "sum", a, result(folded(lambda x, y: x + y, 0, a, axes, name), name), axes)
            with_keep(group, "prod", a, result(folded(lambda x, y: x * y, 1, a, axes, name), name), axes)
            group.case("reduce", [a], result(folded(lambda x, y: x + y, 0, a, axes, name), name), axes=axes)
        else:
            with_keep(group, "all", a, result(folded(lambda x, y: x and y, True, a, axes, name), name), axes)
            with_keep(group, "any", a, result(folded(lambda x, y: x or y, False, a, axes, name), name), axes)
    for a, axes in axes_of(wild):
        if name not in COMPLEX:
            for operation, pick, start in (("max", max, low), ("min", min, high)):
                out = folded(nan_extreme(pick), start, a, axes, name)
                with_keep(group, operation, a, result(out, name), axes)
        with np.errstate(all="ignore"):
            out = folded(lambda x, y: x + y, 0, (a != 0).astype(np.int64), axes, "i64")
        with_keep(group, "count_nonzero", a, cast(out, "i64"), axes)


def statistics(group, name):
    part = {"c64": "f32", "c128": "f64"}.get(name, name)
    for a, axes in axes_of(uniform(name, (4, 5), 2)):
        n = int(np.prod([a.shape[x] for x in axes]))
        with np.errstate(all="ignore"):
            x = wide(a)
            mean = x.sum(axes, keepdims=True) / np.float64(n)
            with_keep(group, "mean", a, result(np.squeeze(mean, axes) if axes else mean, name), axes)
            for ddof in (0, 1):
                left = np.float64(n - ddof) if n > ddof else np.float64(np.nan)
                var = (np.abs(x - mean) ** 2).sum(axes) / left
                with_keep(group, "var", a, result(var, part), axes, ddof=ddof)
                with_keep(group, "std", a, result(np.sqrt(var), part), axes, ddof=ddof)
    if name in COMPLEX:
        return
    inf = np.array([[np.inf, 1, 2], [-np.inf, -np.inf, -np.inf], [np.nan, 1, np.inf], [-np.inf, 3, 4]], np.float64)
    for a, axes in [*axes_of(uniform(name, (4, 5), 3, -50, 50)), (inf.astype(DTYPES[name]), (1,))]:
        with np.errstate(all="ignore"):
            x = wide(a)
            top = x.max(axes, keepdims=True, initial=-np.inf)
            shift = np.where(np.isfinite(top), top, 0)
            out = np.log(np.exp(x - shift).sum(axes, keepdims=True)) + shift
            with_keep(group, "logsumexp", a, result(out.reshape(np.sum(x, axes).shape), name), axes)
            if a.ndim and len(axes):
                soft = np.exp(x - shift) / np.exp(x - shift).sum(axes, keepdims=True)
                if np.isfinite(a.astype(np.float64)).all():
                    group.case("softmax", [a], result(soft, name), axes=axes)
                    group.case("log_softmax", [a], result(x - out, name), axes=axes)


def key(name):
    """How elements are ordered: NaN behind all others."""
    if name in FLOATS:
        return lambda x: (bool(np.isnan(np.float64(x))), 0.0 if np.isnan(np.float64(x)) else float(x))
    return lambda x: x


def rows_of(a, axis):
    moved = np.moveaxis(a, axis, -1)
    return moved.reshape(int(np.prod(moved.shape[:-1])), a.shape[axis])


def along(f, a, axis, dtype, size=None):
    """A function of each row along an axis, which gives rows of a size: that of the axis, if it is not given."""
    size = a.shape[axis] if size is None else size
    rows = np.empty((len(rows_of(a, axis)), size), dtype)
    for i, row in enumerate(rows_of(a, axis)):
        rows[i] = f(row)
    return np.moveaxis(rows.reshape(*np.moveaxis(a, axis, -1).shape[:-1], size), -1, axis)


def places(group, name):
    """argmin and argmax: the first of equals, and the first NaN."""
    many = np.resize(values(name)[::-1], (3, 7))
    many[1] = many[1, 2]
    many[2, 5] = many[2, 1]
    for a, axis in [(x, axis) for x, axis in lines_of(many) if x.shape[axis]]:
        for operation, pick in (("argmin", min), ("argmax", max)):
            def place(row):
                nan = [i for i, x in enumerate(row) if x != x]
                best = pick(x for x in row) if not nan else None
                return [nan[0] if nan else next(i for i, x in enumerate(row) if x == best)]

            out = along(place, a, axis, np.int32, 1)
            group.case(operation, [a], out.reshape([n for i, n in enumerate(a.shape) if i != axis % a.ndim]), axis=axis)


def sorts(group, name):
    many = np.resize(values(name)[::-1], (3, 7))
    if name in FLOATS:
        # Which of two zeros comes first is not compared.
        many = np.where(many == 0, DTYPES[name].type(0), many).astype(DTYPES[name])
    order = key(name)
    for a, axis in lines_of(many):
        if name not in COMPLEX:
            rising = along(lambda row: sorted(range(len(row)), key=lambda i: order(row[i])), a, axis, np.int32)
            # `reverse` leaves equal elements in their order.
            falling = along(lambda row: sorted(range(len(row)), key=lambda i: order(row[i]), reverse=True), a, axis, np.int32)
            group.case("sort", [a], np.take_along_axis(a, rising, axis), axis=axis)
            group.case("sort_descending", [a], np.take_along_axis(a, falling, axis), axis=axis)
            group.case("argsort", [a], rising, axis=axis)
            group.case("argsort_descending", [a], falling, axis=axis)
            if axis == -1:
                for k in (0, 2, a.shape[-1]):
                    top = falling[:, :k]
                    group.case("top_k", [a], [np.take_along_axis(a, top, -1), top], k=k)
        keys = np.array([3, 1, 2, 1, 0, 3, 2], np.int32)[: a.shape[axis]]
        keys = np.broadcast_to(np.expand_dims(keys, [i for i in range(a.ndim) if i != axis % a.ndim]), a.shape)
        index = np.argsort(keys, axis, kind="stable")
        group.case("sort_by_key", [a, keys], np.take_along_axis(a, index, axis), axis=axis)


def cumulative(group, name):
    exact = small(name, (3, 5), 4)
    wild = np.resize(values(name), (3, 5)) if name in INTS else exact
    for a, axis in lines_of(wild):
        def run(f):
            def go(row):
                out, x = [], None
                for y in row:
                    x = y if x is None else f(x, y)
                    out.append(x)
                return out

            numbers = wide(a)
            return along(go, numbers, axis, numbers.dtype)

        group.case("cumsum", [a], result(run(lambda x, y: x + y), name), axis=axis)
        group.case("cumprod", [a], result(run(lambda x, y: x * y), name), axis=axis)
        if name not in COMPLEX:
            group.case("cummax", [a], result(run(max), name), axis=axis)
            group.case("cummin", [a], result(run(min), name), axis=axis)
    if name in FLOATS:
        nan = np.array([1, 3, np.nan, 2, np.inf], np.float64).astype(DTYPES[name])
        ends = [np.nan] * 3
        group.case("cummax", [nan], np.array([1, 3, *ends], np.float64).astype(DTYPES[name]), axis=0)
        group.case("cummin", [nan], np.array([1, 1, *ends], np.float64).astype(DTYPES[name]), axis=0)
        a = uniform(name, (3, 5), 5, -20, 20)
        group.case("cumlogsumexp", [a], cast(np.logaddexp.accumulate(wide(a), 1), name), axis=1)
        group.case("cumlogsumexp", [a[:0]], a[:0], axis=0)


def make():
    group = Group("reductions")
    for name in ALL:
        simple(group, name)
        if name not in COMPLEX:
            places(group, name)
        if name in ANALYTIC:
            statistics(group, name)
    group.write()
    group = Group("sorting")
    for name in ALL:
        sorts(group, name)
        if name != "bool":
            cumulative(group, name)
    group.write()
