"""What takes and puts elements by their indices."""

from common import *


def clamped(starts, shape, sizes):
    return [min(max(int(s), 0), n - size) for s, n, size in zip(starts, shape, sizes)]


def dynamic(group, name, index):
    a = bits_of(name, 20).reshape(4, 5)
    u = bits_of(name, 4, 1).reshape(2, 2)
    point = a[0, 0].reshape(())
    starts = [(1, 2), (0, 0), (9, 3)] + ([(-4, 1)] if index.startswith("i") else [])
    for start in edges(name, starts[::-1], 2):
        i, j = (np.array(x).astype(DTYPES[index]) for x in start)
        x, y = clamped(start, a.shape, (2, 2))
        group.case("dynamic_slice", [a, i, j], a[x : x + 2, y : y + 2], sizes=(2, 2))
        out = a.copy()
        out[x : x + 2, y : y + 2] = u
        group.case("dynamic_update_slice", [a, u, i, j], out)
    group.case("dynamic_slice", [a, i, j], a[:0, :0], sizes=(0, 0))
    group.case("dynamic_update_slice", [a, u[:0, :0], i, j], a)
    group.case("dynamic_slice", [point], point, sizes=())
    group.case("dynamic_update_slice", [point, u[0, 0].reshape(())], u[0, 0].reshape(()))


def takes(group, name, index):
    a = bits_of(name, 12).reshape(3, 4)
    wild = np.array([[0, 2, 1], [2, 9, 100 if index == "i8" else 200]]).astype(DTYPES[index])
    if index.startswith("i"):
        wild[0, 1] = -3
    for axis in (0, 1, -1):
        for i in edges(name, [wild, wild[0, 0].reshape(()), wild[:0], wild[0]], 2):
            near = np.clip(i.astype(object), 0, a.shape[axis] - 1).astype(np.int64)
            group.case("take", [a, i], np.take(a, near, axis), axis=axis)
    rows = wild.reshape(3, 2)
    near = np.clip(rows.astype(object), 0, 3).astype(np.int64)
    group.case("take_along", [a, rows], np.take_along_axis(a, near, 1), axis=1)
    near = np.clip(wild[:1].astype(object), 0, 3).astype(np.int64)
    group.case("take_along", [a, wild[:1]], np.take_along_axis(a, np.broadcast_to(near, (3, 3)), 1), axis=-1)
    group.case("take_along", [a, rows[:, :0]], a[:, :0], axis=1)
    group.case("take", [a[:, :0], wild[0, :1]], a[:1, :0], axis=0)


COMBINE = {
    "set": lambda x, y: y,
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "min": np.minimum,
    "max": np.maximum,
}


def combined(a, places, values, combine, name):
    """One after the other, each rounded or wrapped around."""
    out = a.copy()
    for place, value in zip(places, values):
        with np.errstate(all="ignore"):
            out[place] = cast(np.array(COMBINE[combine](wide(out[place]), wide(value))), name) if name != "bool" else value
    return out


def puts(group, name, index):
    a = small(name, (3, 4), 3)
    for combine in COMBINE if name != "bool" else ["set"]:
        if name in COMPLEX and combine in ("min", "max"):
            continue
        # What is set twice in one place has no defined result, and each sum here is exact in any order.
        i = np.array([1, 0, 7] if combine == "set" else [1, 0, 1]).astype(DTYPES[index])
        if index.startswith("i"):
            i = np.append(i, np.array([-1], DTYPES[index]))
        for axis in (0, 1):
            shape = list(a.shape)
            shape[axis] = len(i)
            u = small(name, shape, 4, 1, 4)
            places = [(j, row) for row, j in enumerate(i) if 0 <= j < a.shape[axis]]
            where = [(slice(None),) * axis + (int(j),) for j, _ in places]
            values = [u.take(row, axis) for _, row in places]
            group.case("put", [a, i, u], combined(a, where, values, combine, name), axis=axis, combine=combine)
        point = np.array(1, DTYPES[index])
        u = small(name, (4,), 5, 1, 4)
        group.case("put", [a, point, u], combined(a, [1], [u], combine, name), axis=0, combine=combine)
        group.case("put", [a, i[:0], u], a, axis=0, combine=combine)
        # Along an axis: an index for each element.
        i = np.array([[0, 2], [3, 1], [1, 9]]).astype(DTYPES[index])
        u = small(name, (3, 2), 6, 1, 4)
        places = [(r, int(i[r, c])) for r in range(3) for c in range(2) if i[r, c] < 4]
        values = [u[r, c] for r in range(3) for c in range(2) if i[r, c] < 4]
        group.case("put_along", [a, i, u], combined(a, places, values, combine, name), axis=1, combine=combine)


def general(group, name):
    """`gather` and `scatter`: windows of a matrix, each at a pair of indices."""
    a = small(name, (5, 4), 7)
    starts = np.array([[0, 0], [3, 1], [9, 2], [-1, 3]], np.int32)
    windows = [a[x : x + 2, y : y + 1] for x, y in (clamped(s, a.shape, (2, 1)) for s in starts)]
    group.case("gather", [a, starts], np.stack(windows), kind="windows")
    rows = [a[x] for x in (clamped([s], (5,), (1,))[0] for s in starts[:, 0])]
    group.case("gather", [a, starts[:, :1]], np.stack(rows), kind="rows")
    u = small(name, (4, 2, 1), 8, 1, 4)
    out = a.copy()
    for s, w in zip(starts, u):
        if 0 <= s[0] <= 3 and 0 <= s[1] <= 3:
            x, y = s
            out[x : x + 2, y : y + 1] = combined(out[x : x + 2, y : y + 1], [...], [w], "add", name)
    if name != "bool":
        group.case("scatter", [a, starts, u], out, kind="add")
        group.case("scatter_with", [a, starts, u], out, kind="add")


def hot(group, name):
    for index in ("i8", "u64", "i64"):
        i = np.array([0, 2, 1, 7]).astype(DTYPES[index])
        if index.startswith("i"):
            i = np.append(i, np.array([-1], DTYPES[index]))
        for x in (i, i[1].reshape(()), i[:0], i[:4].reshape(2, 2)):
            out = (x[..., None].astype(object) == np.arange(3)).astype(DTYPES[name])
            group.case("one_hot", [x], out, dtype=name, classes=3)
    group.case("one_hot", [i], np.zeros((5, 0), DTYPES[name]), dtype=name, classes=0)


def make():
    group = Group("indexing")
    for n, name in enumerate(ALL):
        index = INTS[n % len(INTS)]
        for part in (dynamic, takes, puts):
            part(group, name, index)
        general(group, name)
        if name in ("bool", "f32", "i8", "c64", "bf16"):
            hot(group, name)
    group.write()
