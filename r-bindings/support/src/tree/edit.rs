//! Trees from trees.

use super::{Builder, NodeKind, Tree, Visitor, too_large};
use crate::fault::Result;

impl Tree {
    /// A list of these trees, with these names if there are any, one for each tree. `argument` is what messages call
    /// the trees.
    pub fn concat<'a>(
        children: impl ExactSizeIterator<Item = &'a Tree> + Clone,
        names: Option<&[impl AsRef<[u8]>]>,
        argument: &str,
    ) -> Result<Tree> {
        let nodes: usize = children.clone().map(|tree| tree.nodes.len()).sum();
        let bytes: usize = children.clone().map(|tree| tree.names.bytes()).sum();
        let own: usize = names.iter().copied().flatten().map(|name| name.as_ref().len()).sum();
        if nodes + bytes + own >= u32::MAX as usize {
            return Err(too_large(argument));
        }
        let mut builder = Builder::default();
        builder.list(children.len() as u32, names.is_some());
        names.iter().copied().flatten().for_each(|name| builder.name(name.as_ref()));
        children.for_each(|tree| builder.copy(tree, 0));
        builder.end();
        Ok(builder.finish())
    }

    /// The list with those of the root's children only whose names are asked for. Nothing if the root is no list with
    /// names, unless it is empty.
    pub fn filter(&self, keep: impl Fn(&[u8]) -> bool) -> Option<Tree> {
        if self.root_kind() == NodeKind::List && self.nodes[0].children == 0 {
            return Some(self.clone());
        }
        let keeps: Vec<bool> = self.child_names()?.map(|name| !name.is_empty() && keep(name)).collect();
        let kept = || keeps.iter().zip(0..).filter_map(|(&keeps, child)| keeps.then_some(child));
        let mut builder = Builder::default();
        builder.list(kept().count() as u32, true);
        kept().for_each(|child| builder.name(self.name_of(0, child).expect("a name")));
        for (child, _) in self.children_of(0).zip(&keeps).filter(|&(_, &keeps)| keeps) {
            builder.copy(self, child);
        }
        builder.end();
        Some(builder.finish())
    }

    /// For each leaf, whether it is below one of the root's children that are chosen.
    pub fn leaf_mask(&self, chosen: &[bool]) -> Vec<bool> {
        self.children()
            .zip(chosen)
            .flat_map(|((_, size), &chosen)| std::iter::repeat_n(chosen, size))
            .collect()
    }
}
