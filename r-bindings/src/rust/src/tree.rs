//! Trees: the structure of nested lists.

use dispatch_r::ffi::nil;
use dispatch_r::tree::{r, walk, Kept, Leaves, NodeKind, Tree, Visitor};
use dispatch_r::{arg, entry, make, wrap, Arg, Condition, Fault, Result, Root, SEXP};
use savvy::savvy;

#[savvy]
fn rs_tree_build(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| wrap(Tree::of(arg(&x, "x").get(), "x")?))
}

#[savvy]
fn rs_tree_flatten(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    struct Values(Vec<SEXP>);
    impl Visitor for Values {
        fn leaf(&mut self, value: SEXP) {
            self.0.push(value);
        }
        fn null(&mut self) {}
        fn list(&mut self, _: u32, _: bool) {}
        fn name(&mut self, _: &[u8]) {}
    }
    entry(|| {
        let mut values = Values(Vec::new());
        let _kept = walk(arg(&x, "x").get(), "x", &mut values)?;
        Ok(make::list(&values.0)?.release())
    })
}

/// The tree of a value and its leaves, as a list of both.
#[savvy]
fn rs_tree_split(x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let (tree, leaves) = Tree::split(arg(&x, "x").get(), "x")?;
        pair(tree, &make::list(&leaves.values)?)
    })
}

/// A list of a tree and what belongs to it.
fn pair(tree: Tree, leaves: &Root) -> Result<SEXP> {
    let tree = Root::new(wrap(tree)?)?;
    Ok(make::named_list(&[("tree", tree.get()), ("leaves", leaves.get())])?.release())
}

#[savvy]
fn rs_tree_unflatten(tree: savvy::Sexp, x: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        let leaves = Leaves::elements(arg(&x, "x"))?;
        if leaves.values.len() != tree.size() {
            let expected = format!("a list of {}", leaves_of(tree.size()));
            return Err(Fault::argument("value", "x", expected, leaves.values.len()));
        }
        Ok(tree.unflatten(&leaves.values)?.release())
    })
}

fn leaves_of(count: usize) -> String {
    match count {
        1 => "1 leaf".into(),
        n => format!("{n} leaves"),
    }
}

/// Of trees of one structure, a list of the structure and of the leaves of each; `NULL` if there are no trees.
#[savvy]
fn rs_tree_zip(trees: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let trees = arg(&trees, ".l");
        let elements = Leaves::elements(trees)?;
        let names = r::names(trees)?;
        let name = |i| r::element_name(trees, names.as_deref(), i);
        let mut first = None;
        let mut lists = Vec::new();
        let mut kept: Vec<Kept> = Vec::new();
        for (i, &value) in elements.values.iter().enumerate() {
            let (tree, leaves) = Tree::split(value, &name(i))?;
            let first = first.get_or_insert_with(|| tree.clone());
            if let [difference, ..] = first.diff(&tree, [&name(0), &name(i)], 1).as_slice() {
                let message = format!("argument `.l`: expected trees of one structure; {difference}");
                let argument = Some(trees.name().into());
                return Err(Fault::Condition(Box::new(Condition {
                    code: "value".into(),
                    message,
                    argument,
                })));
            }
            lists.push(make::list(&leaves.values)?);
            kept.push(leaves.kept);
        }
        match first {
            None => Ok(nil()),
            Some(tree) => {
                let lists: Vec<SEXP> = lists.iter().map(Root::get).collect();
                pair(tree, &make::list(&lists)?)
            }
        }
    })
}

#[savvy]
fn rs_tree_size(tree: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        Ok(make::sizes(&[tree.size() as i64])?.release())
    })
}

#[savvy]
fn rs_tree_equal(a: savvy::Sexp, b: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let a: &Tree = arg(&a, "a").handle()?;
        let b: &Tree = arg(&b, "b").handle()?;
        Ok(make::flag(a == b)?.release())
    })
}

#[savvy]
fn rs_tree_hash(tree: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        Ok(make::string(&format!("{:016x}", tree.hash()))?.release())
    })
}

#[savvy]
fn rs_tree_diff(a: savvy::Sexp, b: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let a: &Tree = arg(&a, "a").handle()?;
        let b: &Tree = arg(&b, "b").handle()?;
        let differences = a.diff(b, ["a", "b"], usize::MAX);
        let texts: Vec<String> = differences.iter().map(ToString::to_string).collect();
        Ok(make::strings(&texts)?.release())
    })
}

#[savvy]
fn rs_tree_repr(tree: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        Ok(make::string(&tree.repr())?.release())
    })
}

/// The text of a tree in lines, with a last line `...` where it was cut.
#[savvy]
fn rs_tree_lines(tree: savvy::Sexp, width: savvy::Sexp, max: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "x").handle()?;
        let width = arg(&width, "width").integer()?.max(0) as usize;
        let max = arg(&max, "max").integer()?.max(0) as usize;
        let (mut lines, complete) = tree.lines(width, max);
        if !complete {
            lines.push("...".into());
        }
        Ok(make::strings(&lines)?.release())
    })
}

#[savvy]
fn rs_tree_root_kind(tree: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        Ok(make::string(&tree.root_kind().to_string())?.release())
    })
}

#[savvy]
fn rs_tree_child_names(tree: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        match tree.child_names() {
            None => Ok(nil()),
            Some(names) => Ok(r::make_names(&names.collect::<Vec<_>>())?.release()),
        }
    })
}

#[savvy]
fn rs_tree_child_kinds(tree: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        let kinds: Vec<String> = tree.children().map(|(kind, _)| kind.to_string()).collect();
        Ok(make::strings(&kinds)?.release())
    })
}

#[savvy]
fn rs_tree_child_sizes(tree: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        let sizes: Vec<i64> = tree.children().map(|(_, size)| size as i64).collect();
        Ok(make::sizes(&sizes)?.release())
    })
}

#[savvy]
fn rs_tree_path(tree: savvy::Sexp, i: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        let numbers = arg(&i, "i").integers()?;
        // One is looked for, many are found in one walk.
        let all = if numbers.len() > 8 { tree.paths() } else { Vec::new() };
        let path = |leaf: usize| all.get(leaf).cloned().unwrap_or_else(|| tree.path(leaf));
        let paths = numbers.into_iter().map(|i| match usize::try_from(i) {
            Ok(leaf) if (1..=tree.size()).contains(&leaf) => Ok(path(leaf - 1).into_string()),
            _ => {
                let expected = format!("the number of one of {}", leaves_of(tree.size()));
                Err(Fault::argument("value", "i", expected, i))
            }
        });
        Ok(make::strings(&paths.collect::<Result<Vec<_>>>()?)?.release())
    })
}

#[savvy]
fn rs_tree_filter_by_names(tree: savvy::Sexp, names: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        let names = arg(&names, "names").strings()?;
        let filtered = tree.filter(|name| names.iter().any(|wanted| wanted.as_bytes() == name));
        wrap(filtered.ok_or_else(|| {
            let got = match tree.root_kind() {
                NodeKind::Leaf => "a leaf",
                NodeKind::Null => "NULL",
                NodeKind::List => "a list without names",
            };
            Fault::argument("value", "tree", "the tree of a list with names", got)
        })?)
    })
}

#[savvy]
fn rs_tree_concat(children: savvy::Sexp, names: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let children = arg(&children, "children");
        let elements = Leaves::elements(children)?;
        let own = r::names(children)?;
        let trees = elements.trees(|i| r::element_name(children, own.as_deref(), i))?;
        let names = match arg(&names, "names").optional() {
            None => own,
            Some(names) => Some(names.strings()?.into_iter().map(String::into_bytes).collect()),
        };
        if let Some(names) = names.as_ref().filter(|names| names.len() != trees.len()) {
            let expected = format!("one name for each of {} trees", trees.len());
            return Err(Fault::argument("value", "names", expected, names.len()));
        }
        wrap(Tree::concat(trees.iter().copied(), names.as_deref(), "children")?)
    })
}

/// For each leaf whether the child of the root that it is in is chosen: by names, positions, or truth values.
#[savvy]
fn rs_tree_leaf_mask(tree: savvy::Sexp, groups: savvy::Sexp) -> savvy::Result<savvy::Sexp> {
    entry(|| {
        let tree: &Tree = arg(&tree, "tree").handle()?;
        let chosen = chosen(tree, arg(&groups, "groups"))?;
        Ok(r::make_flags(&tree.leaf_mask(&chosen))?.release())
    })
}

/// Which of the root's children are chosen.
fn chosen(tree: &Tree, groups: Arg<'_>) -> Result<Vec<bool>> {
    let count = tree.children().count();
    let mut chosen = vec![false; count];
    match groups.kind() {
        "NULL" => {}
        "character" => {
            let groups = groups.strings()?;
            for (chosen, name) in chosen.iter_mut().zip(tree.child_names().into_iter().flatten()) {
                *chosen = !name.is_empty() && groups.iter().any(|wanted| wanted.as_bytes() == name);
            }
        }
        "logical" => {
            chosen = r::flags(groups)?;
            if chosen.len() != count {
                let expected = format!("{count} truth values, one for each child of the tree");
                return Err(Fault::argument("value", groups.name(), expected, chosen.len()));
            }
        }
        "integer" | "double" => {
            for i in groups.integers()? {
                match usize::try_from(i) {
                    Ok(at) if (1..=count).contains(&at) => chosen[at - 1] = true,
                    _ => {
                        let expected = format!("positions of the tree's {count} children");
                        return Err(Fault::argument("value", groups.name(), expected, i));
                    }
                }
            }
        }
        _ => return Err(groups.expected("names, positions, or a truth value for each child of the tree")),
    }
    Ok(chosen)
}
