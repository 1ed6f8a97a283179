//! The leaves of a call: what they are to the key, and where they are.

use dispatch_runtime::DType;
use dispatch_runtime::cache::Part;

use super::call::Call;
use super::signature::{self, Signature, Structure};
use crate::anvl::strings;
use crate::data::{elements, list_names};
use crate::fault::Result;
use crate::ffi::*;
use crate::tree::Tree;

/// A dynamic leaf of the arguments, which keep it alive.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    /// The `$data` of an array, or bare R data.
    pub value: SEXP,
    /// Where its words begin.
    pub at: u32,
    pub is_array: bool,
}

/// What a leaf is to the key.
#[derive(PartialEq)]
pub(super) struct LeafAval<'a> {
    pub dtype: &'static str,
    pub shape: &'a [u64],
}

impl LeafAval<'_> {
    pub fn shape_i64(&self) -> impl ExactSizeIterator<Item = i64> + '_ {
        self.shape.iter().map(|&n| n as i64)
    }
}

impl Call<'_> {
    /// What a leaf is to the key.
    pub fn aval(&self, leaf: Leaf) -> LeafAval<'_> {
        aval(&self.scratch.words[leaf.at as usize..], leaf.is_array)
    }

    /// The dtype of an array, or the type of R data.
    pub fn type_code(&self, leaf: Leaf) -> u8 {
        (self.scratch.words[leaf.at as usize] >> 8) as u8
    }

    /// For each dynamic leaf its path.
    pub fn paths(&self) -> Result<Vec<String>> {
        let tree = Tree::of(self.args, "args")?;
        let mask = self.static_mask(&tree);
        let all = tree.paths().into_iter().zip(mask);
        Ok(all.filter(|&(_, is_static)| !is_static).map(|(path, _)| path.into_string()).collect())
    }

    /// For each leaf of the arguments whether it is static.
    pub fn static_mask(&self, tree: &Tree) -> Vec<bool> {
        // SAFETY: the arguments were walked through, so their names are there.
        let names = unsafe { strings(list_names(self.args)) }.unwrap_or_default();
        let unnamed = names.is_empty() || self.dispatcher.statics.is_empty();
        if unnamed {
            return vec![false; tree.size()];
        }
        let chosen: Vec<bool> = names.iter().map(|&name| self.is_static(name)).collect();
        tree.leaf_mask(&chosen)
    }

    /// The structure of the arguments, of which this is the tree.
    pub fn structure(&self, tree: Tree) -> Structure {
        Structure { is_static: self.static_mask(&tree), tree }
    }

    /// The values of the static arguments.
    pub fn static_values(&self) -> Vec<SEXP> {
        if self.dispatcher.statics.is_empty() {
            return Vec::new();
        }
        // SAFETY: the arguments were walked through, so their elements and names are there.
        unsafe {
            let names = strings(list_names(self.args)).unwrap_or_default();
            let values = elements::<SEXP>(self.args).unwrap_or_default();
            let chosen = names.iter().zip(values).filter(|&(&name, _)| self.is_static(name));
            chosen.map(|(_, &value)| value).collect()
        }
    }

    /// The key for people.
    pub fn parts(&self) -> Result<Vec<Part>> {
        let kept = signature::objects(self, &[], &[], None)?;
        Signature::of(self, kept.get(), self.structure(Tree::of(self.args, "args")?)).parts()
    }
}

/// What the words of a leaf say.
pub(super) fn aval(words: &[u64], is_array: bool) -> LeafAval<'_> {
    let (code, rank) = ((words[0] >> 8) as u8, (words[0] >> 16) as usize);
    let dtype = match is_array {
        true => DType::ALL.iter().find(|&&d| d as u8 == code).expect("a dtype").r_name(),
        false => r_type(code.into()),
    };
    LeafAval { dtype, shape: &words[1..1 + rank] }
}

/// The type of R data as `typeof()` gives it.
pub(super) fn r_type(code: u32) -> &'static str {
    match code {
        LGLSXP => "logical",
        INTSXP => "integer",
        _ => "double",
    }
}
