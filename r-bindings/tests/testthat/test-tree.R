# Random nested lists -------------------------------------------------------------------------------------------------

latin1 <- "caf\xe9"
Encoding(latin1) <- "latin1"

# A list as R code may make it: some names, all names or none, of all kinds.
random_list <- function(depth = 4L, pool = some_names) {
  n <- sample(0:min(4L, length(pool)), 1L)
  x <- lapply(seq_len(n), function(i) if (depth > 0L && runif(1) < 0.5) random_list(depth - 1L, pool) else random_leaf())
  switch(sample(4, 1L),
    x,
    setNames(x, sample(pool, n, replace = TRUE)),
    setNames(x, sample(pool, n)),
    setNames(x, sample(c("", "", pool), n, replace = TRUE))
  )
}

some_names <- c("a", "b", "w", ".x", "my name", "if", "TRUE", "a`b", "back\\slash", "new\nline", "..1", "_", "1")
if (l10n_info()[["UTF-8"]]) {
  some_names <- c(some_names, "\u00e9t\u00e9", latin1)
}

random_leaf <- function() {
  switch(sample(12, 1L),
    NULL, runif(1), "text", 1:3, matrix(0, 2, 2), data.frame(a = 1:2), factor("a"), pairlist(a = 1), sum,
    globalenv(), quote(x + y), structure(list(1), class = "mine")
  )
}

# What a tree is, in plain R.
skeleton <- function(x) {
  if (is.null(x)) {
    NULL
  } else if (typeof(x) == "list" && !is.object(x)) {
    x[] <- lapply(x, skeleton)
    x
  } else {
    "leaf"
  }
}

is_node <- function(x) is.null(x) || (typeof(x) == "list" && !is.object(x))

leaves_of <- function(x) {
  if (!is_node(x)) list(x) else do.call(c, c(list(list()), lapply(unname(x), leaves_of)))
}

# The random lists for which a law, a function of a list, does not hold.
counterexamples <- function(count, law, make = random_list) {
  lists <- lapply(seq_len(count), function(i) make())
  Filter(function(x) !isTRUE(law(x)), lists)
}

test_that("unflatten() undoes flatten()", {
  set.seed(1)
  law <- function(x) {
    tree <- build_tree(x)
    leaves <- flatten(x)
    identical(leaves, leaves_of(x)) && identical(tree_size(tree), length(leaves)) &&
      identical(unflatten(tree, leaves), x) && tree_equal(build_tree(unflatten(tree, seq_along(leaves))), tree)
  }
  expect_identical(counterexamples(1000, law), list())
})

test_that("a path leads to its leaf", {
  set.seed(2)
  law <- function(x) {
    leaves <- flatten(x)
    paths <- tree_path(build_tree(x), seq_along(leaves))
    code <- ifelse(startsWith(paths, "["), paste0("x", paths), paste0("x$", paths))
    found <- lapply(code, function(code) eval(str2lang(code), list(x = x)))
    one_by_one <- vapply(seq_along(leaves), function(i) tree_path(build_tree(x), i), "")
    many <- tree_path(build_tree(x), rep(seq_along(leaves), 9))
    anyDuplicated(paths) == 0L && identical(found, leaves) && identical(many, rep(one_by_one, 9))
  }
  expect_identical(counterexamples(500, law), list())
})

test_that("trees are equal exactly if the structures are, and then have one hash", {
  set.seed(3)
  equal <- 0L
  law <- function(x) {
    same <- identical(skeleton(x[[1]]), skeleton(x[[2]]))
    equal <<- equal + same
    a <- build_tree(x[[1]])
    b <- build_tree(x[[2]])
    tree_equal(a, b) == same && (tree_hash(a) == tree_hash(b)) == same && (tree_repr(a) == tree_repr(b)) == same &&
      (length(tree_diff(a, b)) == 0L) == same
  }
  # Small lists, so that many are alike.
  small <- function() lapply(1:2, function(i) random_list(sample(0:1, 1L), c("a", "b", "c d")))
  expect_identical(counterexamples(3000, law, small), list())
  expect_gt(equal, 100L)
})

test_that("tree_repr() is code that makes the structure", {
  set.seed(4)
  law <- function(x) {
    tree <- build_tree(x)
    text <- tree_repr(tree)
    code <- gsub("named list()", "setNames(list(), character())", text, fixed = TRUE)
    # What has nothing but empty names is no code.
    made <- if (grepl("`` = ", text, fixed = TRUE)) x else eval(str2lang(gsub("*", "0", code, fixed = TRUE)))
    lines <- capture.output(print(tree, max = 1000))[-1]
    tree_equal(build_tree(made), tree) &&
      identical(gsub("[ \n]", "", paste(lines, collapse = "")), gsub("[ \n]", "", text))
  }
  expect_identical(counterexamples(300, law), list())
})

# What is a node ------------------------------------------------------------------------------------------------------

test_that("a list without a class and NULL are nodes, all else is a leaf", {
  kind <- function(x) tree_root_kind(build_tree(x))
  expect_identical(kind(list(1)), "list")
  expect_identical(kind(list()), "list")
  expect_identical(kind(NULL), "null")
  point <- setClass("point_of_tree_test", contains = "list", where = environment())
  leaves <- list(
    1, "a", TRUE, 1i, raw(1), NA, integer(), sum, function(x) x, globalenv(), quote(a), quote(a + b), y ~ x,
    expression(a), pairlist(a = 1), data.frame(), factor("a"), as.POSIXlt("2024-01-01"), structure(list(1), class = "a"),
    numeric_version("1.2"), point(list(1)), build_tree(1)
  )
  for (leaf in leaves) {
    expect_identical(kind(leaf), "leaf")
    expect_identical(flatten(leaf), list(leaf))
    expect_identical(unflatten(build_tree(leaf), list(leaf)), leaf)
  }
  expect_identical(flatten(leaves), leaves)
})

test_that("NULL, list() and an empty list with names differ", {
  trees <- lapply(list(NULL, list(), setNames(list(), character())), build_tree)
  expect_identical(vapply(trees, tree_repr, ""), c("NULL", "list()", "named list()"))
  expect_identical(outer(1:3, 1:3, Vectorize(function(i, j) tree_equal(trees[[i]], trees[[j]]))), diag(3) == 1)
  expect_identical(length(unique(vapply(trees, tree_hash, ""))), 3L)
  expect_identical(vapply(trees, tree_size, 1L), c(0L, 0L, 0L))
  expect_null(unflatten(trees[[1]], list()))
  expect_identical(unflatten(trees[[2]], list()), list())
  expect_identical(unflatten(trees[[3]], list()), setNames(list(), character()))
  expect_identical(flatten(list(NULL, a = NULL)), list())
  expect_identical(tree_child_names(trees[[3]]), character())
  expect_null(tree_child_names(trees[[2]]))
})

test_that("a name is one name in every encoding", {
  utf8 <- enc2utf8(latin1)
  expect_false(identical(charToRaw(utf8), charToRaw(latin1)))
  a <- build_tree(setNames(list(1), latin1))
  b <- build_tree(setNames(list(1), utf8))
  expect_true(tree_equal(a, b))
  expect_identical(tree_hash(a), tree_hash(b))
  expect_identical(tree_diff(a, b), character())
  expect_identical(tree_child_names(a), utf8)
  expect_identical(tree_size(tree_filter_by_names(b, latin1)), 1L)
  expect_identical(tree_leaf_mask(a, utf8), TRUE)
  expect_false(tree_equal(a, build_tree(list(cafe = 1))))
})

test_that("a name has to be text", {
  x <- list(1, b = list(2, 3))
  names(x$b) <- c("k", NA)
  message <- "argument `x`: expected names that are not NA, got NA as the name of element 2 of `x$b`"
  expect_fault(build_tree(x), "value", message, "x")
  expect_fault(flatten(x), "value", message, "x")
  expect_fault(map_tree(x, identity), "value", "got NA as the name")
  expect_fault(build_tree(setNames(list(1), NA)), "value", "element 1 of `x`")
  expect_fault(build_tree(list(list(1), list(setNames(list(1), NA)))), "value", "element 1 of `x[[2]][[1]]`")
  bytes <- "\xe4"
  Encoding(bytes) <- "bytes"
  expect_fault(build_tree(setNames(list(1), bytes)), "value", "expected names that are text, got a string of bytes")
  expect_fault(build_tree(setNames(list(1), "\xff")), "value", "names that are text, got a string that is not valid")
  # The text NA is one.
  expect_identical(tree_path(build_tree(list(`NA` = 1)), 1), "`NA`")
})

test_that("other attributes of a list are no part of the structure", {
  plain <- list(1, 2, 3, 4)
  with_dim <- matrix(plain, 2)
  noted <- structure(plain, note = "here")
  expect_true(tree_equal(build_tree(with_dim), build_tree(plain)))
  expect_true(tree_equal(build_tree(noted), build_tree(plain)))
  expect_identical(map_tree(with_dim, identity), plain)
  # As names() has it.
  expect_identical(tree_child_names(build_tree(array(list(1), 1, list("a")))), "a")
})

test_that("vectors that R makes when they are looked at are taken as they look", {
  x <- list(1, 2, 3)
  names(x) <- as.character(7:9)
  expect_identical(tree_child_names(build_tree(x)), c("7", "8", "9"))
  expect_identical(unflatten(build_tree(x), 1:3), list(`7` = 1L, `8` = 2L, `9` = 3L))
  expect_identical(flatten(list(1:3)), list(1:3))
})

test_that("lists may be nested very deep and be very wide", {
  deep <- 1
  for (i in 1:20000) deep <- list(a = deep)
  tree <- build_tree(deep)
  expect_identical(tree_size(tree), 1L)
  expect_identical(nchar(tree_path(tree, 1)), 39999L)
  expect_identical(nchar(tree_repr(tree)), 200001L)
  expect_lt(nchar(format(tree)), 250)
  expect_length(capture.output(print(tree)), 62)
  expect_identical(flatten(deep), list(1))
  again <- build_tree(unflatten(tree, 2))
  expect_true(tree_equal(again, tree))
  expect_identical(tree_hash(again), tree_hash(tree))
  expect_length(tree_diff(tree, build_tree(list(a = deep))), 1)
  expect_identical(tree_size(tree_concat(list(tree, tree))), 2L)

  wide <- as.list(1:200000)
  tree <- build_tree(wide)
  expect_identical(unflatten(tree, flatten(wide)), wide)
  expect_identical(tree_path(tree, 200000), "[[200000]]")
  expect_length(capture.output(print(tree)), 62)
  names(wide) <- paste0("n", 1:200000)
  expect_identical(tree_path(build_tree(wide), 200000), "n200000")
  expect_length(tree_diff(tree, build_tree(wide)), 1)
})

# Handles -------------------------------------------------------------------------------------------------------------

test_that("a tree is checked and printed", {
  tree <- build_tree(list(a = 1, b = list(w = 2, 3), c = NULL))
  expect_identical(class(tree), "RTree")
  expect_identical(format(tree), "<RTree list(a = *, b = list(w = *, *), c = NULL)>")
  expect_identical(
    capture.output(print(tree)), c("<RTree of 3 leaves>", "list(a = *, b = list(w = *, *), c = NULL)")
  )
  expect_identical(capture.output(print(build_tree(1))), c("<RTree of 1 leaf>", "*"))
  old <- options(width = 20)
  on.exit(options(old))
  expect_identical(
    capture.output(print(tree)),
    c("<RTree of 3 leaves>", "list(", "  a = *,", "  b = list(", "    w = *,", "    *", "  ),", "  c = NULL", ")")
  )
  expect_identical(
    capture.output(print(build_tree(as.list(1:9)))),
    c("<RTree of 9 leaves>", "list(", "  *, *, *, *, *, *,", "  *, *, *", ")")
  )
  expect_identical(capture.output(print(tree, max = 2)), c("<RTree of 3 leaves>", "list(", "  a = *,", "..."))
  capture.output(visible <- withVisible(print(tree))$visible)
  expect_false(visible)

  expect_fault(tree_size(1), "type", "argument `tree`: expected an RTree, got a double value", "tree")
  expect_fault(tree_equal(tree, NULL), "type", "argument `b`: expected an RTree, got NULL", "b")
  expect_fault(tree_size(pjrt_device("cpu")), "type", "expected an RTree, got a PJRTDevice")
  file <- tempfile()
  on.exit(unlink(file), add = TRUE)
  saveRDS(tree, file)
  expect_fault(tree_size(readRDS(file)), "dead", "from another session")
})

test_that("trees need no memory when they are gone", {
  x <- lapply(1:100, function(i) list(a = i, b = list(i)))
  for (k in 1:100) unflatten(build_tree(x), 1:200)
  before <- gc()[, 1]
  for (k in 1:5000) build_tree(x)
  after <- gc()[, 1]
  expect_lt(after[["Ncells"]] - before[["Ncells"]], 20000)
})

# Leaves in, leaves out -----------------------------------------------------------------------------------------------

test_that("unflatten() takes as many leaves as there are", {
  tree <- build_tree(list(a = 1, b = list(2, 3)))
  expect_identical(unflatten(tree, list("x", NULL, list(1))), list(a = "x", b = list(NULL, list(1))))
  expect_identical(unflatten(tree, list(x = 1, y = 2, z = 3)), list(a = 1, b = list(2, 3)))
  expect_fault(unflatten(tree, 1:2), "value", "argument `x`: expected a list of 3 leaves, got 2", "x")
  expect_fault(unflatten(build_tree(1), list()), "value", "expected a list of 1 leaf, got 0")
  expect_fault(unflatten(tree, sum), "type", "argument `x`: expected a list, got a function")
})

test_that("what unflatten() makes is nobody else's", {
  tree <- build_tree(list(a = 1, b = list(c = 2)))
  leaves <- list(1, 2)
  one <- unflatten(tree, leaves)
  two <- unflatten(tree, leaves)
  one$a <- 5
  names(one)[[2]] <- "z"
  one$z$c[[1]] <- 7
  expect_identical(two, list(a = 1, b = list(c = 2)))
  expect_identical(leaves, list(1, 2))
  expect_identical(unflatten(tree, leaves), two)
})

test_that("map_tree() changes leaves and keeps the structure", {
  x <- list(a = 1, b = list(2, NULL, c = 3), d = list())
  expect_identical(map_tree(x, function(x) x + 1), list(a = 2, b = list(3, NULL, c = 4), d = list()))
  expect_identical(map_tree(x, `*`, 2), list(a = 2, b = list(4, NULL, c = 6), d = list()))
  expect_identical(map_tree(x, "sqrt"), map_tree(x, sqrt))
  expect_identical(map_tree(1, function(x) NULL), NULL)
  expect_identical(map_tree(list(1), function(x) NULL), list(NULL))
  expect_identical(map_tree(NULL, stop), NULL)
  expect_identical(map_tree(data.frame(a = 1), names), "a")
  expect_error(map_tree(x, function(x) stop("no ", x)), "no 1")
  expect_fault(map_tree(x, 1), "type", "expected a function or the name of one, got a double value", ".f")
})

test_that("pmap_tree() takes leaves that belong together", {
  a <- list(x = 1, y = list(2, 3))
  b <- list(x = 10, y = list(20, 30))
  expect_identical(pmap_tree(list(a, b), `+`), list(x = 11, y = list(22, 33)))
  expect_identical(pmap_tree(list(a = a, b = b), function(b, a, k) b - a + k, k = 1), list(x = 10, y = list(19, 28)))
  expect_identical(pmap_tree(list(a), identity), a)
  expect_identical(pmap_tree(list(), `+`), list())
  expect_identical(pmap_tree(list(NULL, NULL), `+`), NULL)
  expect_identical(pmap_tree(list(1, 2), `+`), 3)
  # No dispatch on what leaves are, and leaves are not recycled.
  expect_identical(pmap_tree(list(list(1:2, 5L), list(3:4, 6L)), `+`), list(c(4L, 6L), 11L))
  date <- as.Date("2024-01-01")
  expect_identical(pmap_tree(list(list(date), list(1)), `+`), list(date + 1))
})

test_that("pmap_tree() tells where structures differ", {
  a <- list(x = 1, y = list(2, 3))
  expect_fault(
    pmap_tree(list(a, a, list(x = 1, y = list(2, list(3)))), `+`), "value",
    paste0(
      "argument `.l`: expected trees of one structure; ",
      "at `y[[2]]`: a leaf in `.l[[1]]` but a list of 1 without names in `.l[[3]]`"
    ), ".l"
  )
  expect_fault(pmap_tree(list(p = a, q = list(x = 1)), `+`), "value", "at the top: only `.l$p` has y")
  expect_fault(pmap_tree(list(1, q = NULL), `+`), "value", "at the top: a leaf in `.l[[1]]` but NULL in `.l$q`")
  expect_fault(pmap_tree(1, `+`), "type", "argument `.l`: expected a list, got a double value", ".l")
  bad <- setNames(list(1), NA)
  expect_fault(pmap_tree(list(1, k = bad), `+`), "value", "argument `.l$k`: expected names that are not NA")
})

test_that("flatten_fun() makes a function of leaves", {
  f <- function(x, p) list(sum = x + p$a, all = list(x, p$b))
  flat <- flatten_fun(f, build_tree(list(p = list(a = 1, b = 2), x = 3)))
  out <- flat(1, 2, 3)
  expect_length(out, 2)
  expect_identical(out[[2]], list(4, 3, 2))
  expect_identical(unflatten(out[[1]], out[[2]]), f(3, list(a = 1, b = 2)))
  expect_identical(names(out), c("tree", "leaves"))
  # Leaves are values, also those that R would evaluate.
  expect_identical(flatten_fun(identity, build_tree(list(1)))(quote(no_such_thing))$leaves, list(quote(no_such_thing)))
  expect_identical(flatten_fun("list", build_tree(list()))()$leaves, list())
  expect_fault(flat(1), "value", "expected a list of 3 leaves, got 1")
  expect_fault(flatten_fun(f, build_tree(1)), "value", "expected the tree of a list, got that of a leaf", "in_tree")
  expect_fault(flatten_fun(f, 1), "type", "argument `tree`: expected an RTree")
})

# Looking -------------------------------------------------------------------------------------------------------------

test_that("paths are code, without the list itself", {
  x <- list(a = 1, b = list(w = list(2, 3)), 4, `my name` = list(`if` = 5, x_1.y = 6), a = 7, .1, ._ = 8, `_` = 9)
  expect_identical(
    tree_path(build_tree(x), 1:10),
    c("a", "b$w[[1]]", "b$w[[2]]", "[[3]]", "`my name`$`if`", "`my name`$x_1.y", "[[5]]", "[[6]]", "._", "`_`")
  )
  expect_identical(tree_path(build_tree(1), 1), "")
  expect_identical(tree_path(build_tree(list(1, list(2))), 2), "[[2]][[1]]")
  expect_identical(tree_path(build_tree(list(NULL, list(), list(NULL, 1), NULL)), 1), "[[3]][[2]]")
  expect_identical(tree_path(build_tree(list(`a\`b\\\n` = 1)), 1), "`a\\`b\\\\\\n`")
  expect_identical(tree_path(build_tree(list(a = 1)), integer()), character())
  expect_fault(tree_path(build_tree(x), 11), "value", "expected the number of one of 10 leaves, got 11", "i")
  expect_fault(tree_path(build_tree(x), 0), "value", "got 0")
  expect_fault(tree_path(build_tree(NULL), 1), "value", "one of 0 leaves, got 1")
  expect_fault(tree_path(build_tree(x), 1.5), "value", "argument `i`: expected whole numbers, got 1.5")
  expect_fault(tree_path(build_tree(x), NA_integer_), "value", "got NA")
  expect_fault(tree_path(build_tree(x), "a"), "type", "argument `i`: expected whole numbers, got a string")
})

test_that("the children of the root are told", {
  tree <- build_tree(list(a = 1, list(2, list(3)), c = NULL, d = list()))
  expect_identical(tree_child_names(tree), c("a", "", "c", "d"))
  expect_identical(tree_child_kinds(tree), c("leaf", "list", "null", "list"))
  expect_identical(tree_child_sizes(tree), c(1L, 2L, 0L, 0L))
  for (none in list(1, NULL, list())) {
    tree <- build_tree(none)
    expect_null(tree_child_names(tree))
    expect_identical(tree_child_kinds(tree), character())
    expect_identical(tree_child_sizes(tree), integer())
  }
  expect_null(tree_child_names(build_tree(list(1, 2))))
})

# Comparing -----------------------------------------------------------------------------------------------------------

test_that("the order and the place of leaves count", {
  expect_false(tree_equal(build_tree(list(list(1), 2)), build_tree(list(list(1, 2)))))
  expect_false(tree_equal(build_tree(list(list(1, 2), 3)), build_tree(list(list(1), 2, 3))))
  expect_false(tree_equal(build_tree(list(a = 1, b = 2)), build_tree(list(b = 2, a = 1))))
  expect_false(tree_equal(build_tree(list(ab = 1, c = 2)), build_tree(list(a = 1, bc = 2))))
  expect_false(tree_equal(build_tree(setNames(list(1), "")), build_tree(list(1))))
  expect_true(tree_equal(build_tree(list(a = 1, b = list(2))), build_tree(list(a = "x", b = list(sum)))))
})

test_that("a hash is the same in every session", {
  expect_identical(tree_hash(build_tree(list(a = 1, b = list(2, NULL)))), "ef129d2e4a5054a3")
  expect_match(tree_hash(build_tree(NULL)), "^[0-9a-f]{16}$")
  # Many small structures, no collision.
  kinds <- list(1, NULL, list(), list(1), list(a = 1), list(b = 1))
  pairs <- expand.grid(i = 1:6, j = 1:6, k = 1:6)
  hashes <- mapply(function(i, j, k) tree_hash(build_tree(list(kinds[[i]], kinds[[j]], kinds[[k]]))),
    pairs$i, pairs$j, pairs$k
  )
  expect_identical(anyDuplicated(hashes), 0L)
})

test_that("tree_diff() says by path what differs", {
  expect_identical(tree_diff(build_tree(list(a = 1)), build_tree(list(a = 2))), character())
  differences <- function(a, b) writeLines(tree_diff(build_tree(a), build_tree(b)))
  expect_snapshot({
    differences(1, NULL)
    differences(list(), setNames(list(), character()))
    differences(list(1, 2), list(1))
    differences(list(a = 1), list(1))
    differences(list(x = 1, y = list(2, 3)), list(x = NULL, y = list(2, list(3))))
    differences(list(a = 1, b = list(c = 1)), list(b = list(c = NULL), a = 1))
    differences(list(a = 1, `my z` = 2), list(a = list(), y = 2))
    differences(list(a = 1, b = 2), list(a = 1))
    differences(list(a = 1, 2), list(b = 1, 2))
    differences(list(a = 1, 2), list(a = 1, 2, 3))
    differences(list(p = list(a = 1, a = 2)), list(p = list(a = 1, b = list(2))))
    differences(setNames(as.list(1:12), letters[1:12]), list(z = 1))
  })
})

# Making --------------------------------------------------------------------------------------------------------------

test_that("tree_concat() makes the tree of a list", {
  parts <- list(1, list(a = 1, b = list(c = 2)), NULL, list())
  trees <- lapply(parts, build_tree)
  expect_true(tree_equal(tree_concat(trees), build_tree(parts)))
  names <- c("p", "", "q r", "s")
  expect_true(tree_equal(tree_concat(trees, names), build_tree(setNames(parts, names))))
  expect_true(tree_equal(tree_concat(setNames(trees, names)), build_tree(setNames(parts, names))))
  expect_true(tree_equal(tree_concat(setNames(trees, names), letters[1:4]), build_tree(setNames(parts, letters[1:4]))))
  expect_true(tree_equal(tree_concat(list()), build_tree(list())))
  expect_true(tree_equal(tree_concat(list(), character()), build_tree(setNames(list(), character()))))
  expect_fault(tree_concat(trees, "a"), "value", "expected one name for each of 4 trees, got 1", "names")
  expect_fault(tree_concat(trees, c("a", NA, "c", "d")), "value", "argument `names`: expected strings, got NA")
  expect_fault(tree_concat(list(k = 1)), "type", "argument `children$k`: expected an RTree, got a double value")
  expect_fault(tree_concat(c(trees, list("a"))), "type", "argument `children[[5]]`: expected an RTree, got a string")
  expect_fault(tree_concat(trees[[1]]), "type", "argument `children`: expected a list, got an RTree")
  expect_fault(tree_concat(setNames(trees, NA)), "value", "argument `children`: expected names that are text, got NA")
})

test_that("parts of a tree are those of the list", {
  set.seed(5)
  law <- function(x) {
    keep <- sample(c("a", "b", "w", "if", "my name", "none"), 3)
    tree <- build_tree(x)
    chosen <- if (is.null(names(x))) rep(FALSE, length(x)) else names(x) %in% keep
    masks <- lapply(list(keep, which(chosen), chosen), tree_leaf_mask, tree = tree)
    mask <- rep(chosen, tree_child_sizes(tree))
    filtered <- if (!is.null(names(x))) tree_filter_by_names(tree, keep) else build_tree(x[chosen])
    identical(masks, list(mask, mask, mask)) && tree_equal(filtered, build_tree(x[chosen]))
  }
  expect_identical(counterexamples(500, law), list())
  tree <- build_tree(list(1, b = 2))
  expect_identical(tree_leaf_mask(tree, NULL), c(FALSE, FALSE))
  expect_identical(tree_leaf_mask(tree, ""), c(FALSE, FALSE))
  expect_identical(tree_repr(tree_filter_by_names(tree, "")), "named list()")
  expect_identical(tree_repr(tree_filter_by_names(build_tree(list()), "a")), "list()")
  expect_fault(
    tree_filter_by_names(build_tree(list(1)), "a"), "value",
    "argument `tree`: expected the tree of a list with names, got a list without names", "tree"
  )
})

test_that("wrong names and groups are refused", {
  tree <- build_tree(list(a = 1, b = list(2, 3)))
  expect_fault(tree_filter_by_names(tree, 1), "type", "argument `names`: expected a character vector, got a double value")
  expect_fault(tree_filter_by_names(tree, NA_character_), "value", "argument `names`: expected strings, got NA")
  expect_fault(tree_filter_by_names(build_tree(1), "a"), "value", "got a leaf")
  expect_fault(tree_filter_by_names(build_tree(NULL), "a"), "value", "got NULL")
  expect_fault(tree_leaf_mask(tree, 3), "value", "argument `groups`: expected positions of the tree's 2 children, got 3")
  expect_fault(tree_leaf_mask(tree, 0L), "value", "got 0")
  expect_fault(tree_leaf_mask(tree, TRUE), "value", "expected 2 truth values, one for each child of the tree, got 1")
  expect_fault(tree_leaf_mask(tree, c(TRUE, NA)), "value", "expected TRUE or FALSE, got NA as element 2")
  expect_fault(tree_leaf_mask(tree, list()), "type", "expected names, positions, or a truth value for each child")
})

# The collector -------------------------------------------------------------------------------------------------------

test_that("trees hold while R collects at every allocation", {
  # In a process of its own, where the collector has little to look at.
  code <- c(
    "invisible(compiler::enableJIT(0L))",
    "x <- list(a = 1, b = list(p = 'text', NULL, list()), setNames(list(), character()), c = list(list(2, d = 3)))",
    "names(x$b) <- as.character(1:3)",
    "bad <- setNames(list(1), NA)",
    "tree <- build_tree(x)",
    "run <- function() {",
    "  leaves <- flatten(x)",
    "  list(",
    "    unflatten(build_tree(x), leaves), tree_path(tree, 1:4), tree_repr(tree), tree_hash(tree),",
    "    tree_child_names(tree), tree_diff(tree, build_tree(list(a = NULL))), map_tree(x, is.null),",
    "    pmap_tree(list(u = x, v = x), list), tree_repr(tree_concat(list(tree, q = tree))),",
    "    tree_repr(tree_filter_by_names(tree, c('a', 'c'))), tree_leaf_mask(tree, 'c'),",
    "    tryCatch(build_tree(bad), error = conditionMessage)",
    "  )",
    "}",
    "expected <- run()",
    "invisible(gctorture2(1L))",
    "got <- run()",
    "invisible(gctorture2(0L))",
    "cat(identical(got, expected))"
  )
  expect_identical(run_r(code)[c("out", "status")], list(out = "TRUE", status = 0L))
})
