#' Trees: the structure of nested lists
#'
#' A tree (class `RTree`) is the structure of a nested list without the values in it. `build_tree()` gives the tree of
#' a value, `flatten()` its leaves in order, and `unflatten()` makes the value from both.
#'
#' @details
#' A list without a class is a node of the tree, and so is `NULL`, which has no leaves. Everything else is a leaf: also
#' a list with a class such as a data frame, a pairlist, and an environment. `NULL`, `list()` and an empty list with
#' names are three different trees.
#'
#' Names belong to the structure. They are compared by content: a name in Latin-1 and the same one in UTF-8 are one
#' name. A name that is `NA` is an error. Other attributes of a list, such as `dim`, do not belong to the structure, and
#' `unflatten()` does not bring them back, as for [lapply()].
#'
#' Trees are handles that end with the session: one that was saved and loaded is an error. [identical()] compares the
#' handles, [tree_equal()] the structures.
#'
#' @param x For `build_tree()` and `flatten()` any value; for `unflatten()` the leaves, a list or an atomic vector of as
#'   many elements as the tree has leaves; for the methods a tree.
#' @param tree A tree.
#' @param max How many lines are printed at most.
#' @param ... Nothing.
#' @return `build_tree()` an `RTree`, `flatten()` a list of the leaves without names, `unflatten()` the nested list.
#'
#' @section Errors:
#' A list with an `NA` among its names, told by the path of the list; leaves of another number than the tree has.
#' @seealso [map_tree()] to change all leaves, [tree_size()] and [tree_root_kind()] to look at a tree, [tree_equal()] to
#'   compare trees, [tree_concat()] to make trees from trees.
#' @export
#' @examples
#' x <- list(a = 1:3, b = list(w = "text", NULL))
#' tree <- build_tree(x)
#' tree
#' leaves <- flatten(x)
#' str(leaves)
#' identical(unflatten(tree, leaves), x)
#' unflatten(tree, c(10, 20))
build_tree <- function(x) {
  .Call(savvy_rs_tree_build__impl, x)
}

#' @rdname build_tree
#' @export
flatten <- function(x) {
  .Call(savvy_rs_tree_flatten__impl, x)
}

#' @rdname build_tree
#' @export
unflatten <- function(tree, x) {
  rs_tree_unflatten(tree, as_leaves(x))
}

# An atomic vector as a list of its elements; all else as it is.
as_leaves <- function(x) {
  if (is.atomic(x)) as.list(x) else x
}

#' Change the leaves of nested lists
#'
#' `map_tree()` calls a function with each leaf, `pmap_tree()` with each leaf of several nested lists of one structure.
#' `flatten_fun()` makes a function of nested lists one of leaves.
#'
#' What counts as a leaf is told by [build_tree()]. What the function returns is put in the place of the leaf as it is,
#' also if it is `NULL` or a list.
#'
#' @param .x A nested list.
#' @param .l A list of nested lists of one structure. Its names are the names of the arguments of `.f`.
#' @param .f,f A function, or the name of one.
#' @param ... Further arguments of `.f`.
#' @param in_tree The [tree][build_tree] of a list, the arguments of `f`.
#' @return `map_tree()` and `pmap_tree()` give a nested list of the same structure, `pmap_tree()` of no lists `list()`.
#'
#'   `flatten_fun()` gives a function. It takes as many arguments as `in_tree` has leaves, calls `f` with the arguments
#'   that they are together, and returns a list of two: `tree`, the tree of what `f` returned, and `leaves`, the list of
#'   its leaves.
#'
#' @section Errors:
#' Lists of different structure in `.l`, with the place where they differ. What `.f` raises arrives as it is.
#' @seealso [build_tree()] for what is a leaf.
#' @export
#' @examples
#' weights <- list(layer = list(w = matrix(1, 2, 2), b = 0), scale = 2)
#' map_tree(weights, function(w) w / 2)
#'
#' gradients <- map_tree(weights, function(w) w * 0 + 0.1)
#' pmap_tree(list(weights, gradients), function(w, g, rate) w - rate * g, rate = 0.5)
#'
#' predict <- function(x, model) list(y = x * model$slope + model$at0)
#' flat <- flatten_fun(predict, build_tree(list(x = 1, model = list(slope = 1, at0 = 1))))
#' flat(3, 2, 1)
map_tree <- function(.x, .f, ...) {
  .f <- as_function(.f, ".f")
  split <- rs_tree_split(.x)
  rs_tree_unflatten(split$tree, lapply(split$leaves, .f, ...))
}

#' @rdname map_tree
#' @export
pmap_tree <- function(.l, .f, ...) {
  .f <- as_function(.f, ".f")
  zipped <- rs_tree_zip(.l)
  if (is.null(zipped)) {
    return(list())
  }
  rs_tree_unflatten(zipped$tree, .mapply(.f, structure(zipped$leaves, names = names(.l)), list(...)))
}

#' @rdname map_tree
#' @export
flatten_fun <- function(f, in_tree) {
  f <- as_function(f, "f")
  kind <- rs_tree_root_kind(in_tree)
  if (kind != "list") {
    got <- c(leaf = "a leaf", null = "NULL")[[kind]]
    raise_("value", paste0("argument `in_tree`: expected the tree of a list, got that of ", got), "in_tree")
  }
  function(...) {
    # Quoted, so that a leaf which is a symbol or a call stays one.
    rs_tree_split(do.call(f, rs_tree_unflatten(in_tree, list(...)), quote = TRUE))
  }
}

# A function, or the one that its caller's caller knows by this name.
as_function <- function(f, argument) {
  if (is.function(f)) {
    return(f)
  }
  is_name <- is.name(f) || (is.character(f) && length(f) == 1L && !is.na(f) && nzchar(f) && Encoding(f) != "bytes")
  if (!is_name) {
    refuse(f, "a function or the name of one", argument)
  }
  name <- as.character(f)
  found <- get0(name, envir = parent.frame(2L), mode = "function")
  if (is.null(found)) {
    got <- sprintf("argument `%s`: expected a function or the name of one, got %s", argument, encodeString(name, quote = '"'))
    raise_("value", got, argument)
  }
  found
}

#' Look at a tree
#'
#' The number of leaves, their paths, the children of the root, and the tree as text.
#'
#' @details
#' A path is the code that takes the leaf from the list, for short without the list itself: `b$w[[2]]`. Names that are
#' not syntactic stand in backticks. A child without a name, or with the name of an earlier one, is given by its
#' position. The path of a tree that is nothing but a leaf is `""`.
#'
#' @param tree A [tree][build_tree].
#' @param i Numbers of leaves.
#' @return
#' * `tree_size()`: the number of leaves.
#' * `tree_path()`: the path of each of these leaves.
#' * `tree_root_kind()`: `"leaf"`, `"list"` or `"null"`.
#' * `tree_child_names()`: the names of the root's children, `""` for one without; `NULL` if the root is not a list with
#'   names.
#' * `tree_child_kinds()`: what the root's children are, in the words of `tree_root_kind()`.
#' * `tree_child_sizes()`: how many leaves each of the root's children has.
#' * `tree_repr()`: the structure as a string, as R code with `*` for a leaf. Different trees have different strings.
#'
#' @section Errors:
#' A number in `i` that is not that of a leaf.
#' @seealso [build_tree()]
#' @export
#' @examples
#' tree <- build_tree(list(a = 1, b = list(2, `my w` = 3), c = NULL))
#' tree_size(tree)
#' tree_path(tree, 1:3)
#' tree_root_kind(tree)
#' tree_child_names(tree)
#' tree_child_kinds(tree)
#' tree_child_sizes(tree)
#' tree_repr(tree)
tree_size <- function(tree) {
  .Call(savvy_rs_tree_size__impl, tree)
}

#' @rdname tree_size
#' @export
tree_path <- function(tree, i) {
  .Call(savvy_rs_tree_path__impl, tree, i)
}

#' @rdname tree_size
#' @export
tree_root_kind <- function(tree) {
  .Call(savvy_rs_tree_root_kind__impl, tree)
}

#' @rdname tree_size
#' @export
tree_child_names <- function(tree) {
  .Call(savvy_rs_tree_child_names__impl, tree)
}

#' @rdname tree_size
#' @export
tree_child_kinds <- function(tree) {
  .Call(savvy_rs_tree_child_kinds__impl, tree)
}

#' @rdname tree_size
#' @export
tree_child_sizes <- function(tree) {
  .Call(savvy_rs_tree_child_sizes__impl, tree)
}

#' @rdname tree_size
#' @export
tree_repr <- function(tree) {
  .Call(savvy_rs_tree_repr__impl, tree)
}

#' Compare trees
#'
#' @param a,b,tree [Trees][build_tree].
#' @return
#' * `tree_equal()`: `TRUE` if the structures are the same, names and their order included, else `FALSE`.
#' * `tree_hash()`: a string of 16 hexadecimal digits. Equal trees have equal hashes, in every session. Different trees
#'   almost always have different ones.
#' * `tree_diff()`: a string for each place where the trees differ, which tells its path and what differs;
#'   `character()` if the trees are equal.
#' @seealso [build_tree()]
#' @export
#' @examples
#' a <- build_tree(list(x = 1, y = list(2, 3)))
#' b <- build_tree(list(x = NULL, y = list(2, 3, 4)))
#' tree_equal(a, b)
#' tree_hash(a)
#' tree_diff(a, b)
tree_equal <- function(a, b) {
  .Call(savvy_rs_tree_equal__impl, a, b)
}

#' @rdname tree_equal
#' @export
tree_hash <- function(tree) {
  .Call(savvy_rs_tree_hash__impl, tree)
}

#' @rdname tree_equal
#' @export
tree_diff <- function(a, b) {
  .Call(savvy_rs_tree_diff__impl, a, b)
}

#' Trees from trees, and parts of them
#'
#' @param children A list of [trees][build_tree].
#' @param names For `tree_concat()` the names of the new list, one for each tree, or `NULL` for those of `children`; for
#'   `tree_filter_by_names()` the names of the children to keep. Names that the tree does not have are passed over.
#' @param tree A tree; for `tree_filter_by_names()` that of a list with names.
#' @param groups Which of the root's children are meant: names, positions, or a logical vector with one element for each
#'   child; `NULL` means none. Names that the tree does not have are passed over.
#' @return
#' * `tree_concat()`: the tree of a list of what the trees stand for.
#' * `tree_filter_by_names()`: the tree of the list with only these children, in their old order.
#' * `tree_leaf_mask()`: a logical vector with one element for each leaf, `TRUE` if the leaf is in one of these children.
#'
#' @section Errors:
#' A child that is no tree; the tree of a list without names where names are asked for; a position that the list does not
#' have.
#' @seealso [build_tree()]
#' @export
#' @examples
#' model <- build_tree(list(w = 1, b = 2))
#' args <- tree_concat(list(model, build_tree(1)), names = c("model", "x"))
#' args
#' tree_filter_by_names(args, "model")
#' tree_leaf_mask(args, "x")
tree_concat <- function(children, names = NULL) {
  .Call(savvy_rs_tree_concat__impl, children, names)
}

#' @rdname tree_concat
#' @export
tree_filter_by_names <- function(tree, names) {
  .Call(savvy_rs_tree_filter_by_names__impl, tree, names)
}

#' @rdname tree_concat
#' @export
tree_leaf_mask <- function(tree, groups) {
  .Call(savvy_rs_tree_leaf_mask__impl, tree, groups)
}

#' @rdname build_tree
#' @export
format.RTree <- function(x, ...) {
  text <- rs_tree_repr(x)
  if (nchar(text) > 200L) {
    text <- paste0(substr(text, 1L, 197L), "...")
  }
  sprintf("<RTree %s>", text)
}

#' @rdname build_tree
#' @export
print.RTree <- function(x, ..., max = 60L) {
  size <- rs_tree_size(x)
  cat(sprintf("<RTree of %d %s>", size, if (size == 1L) "leaf" else "leaves"), "\n", sep = "")
  cat(rs_tree_lines(x, getOption("width"), max), sep = "\n")
  invisible(x)
}
