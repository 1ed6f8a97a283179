//! The rules that gathering and scattering share: which axes of three arrays belong to each other.
//!
//! Both move windows between an array and a list of windows; a vector of indices says where each window starts in the
//! array.

use super::super::poison::Reason;
use super::super::value::Value;
use crate::aval::shape_text;
use crate::error::counted;

/// The axes of the array, of the indices and of the list of windows; each with the name that it has for the user.
pub(super) struct Windows<'a> {
    /// The axes of the list that are axes of a window; the others count windows.
    pub window: (&'static str, &'a [i64]),
    /// The axes of the array along which a window has size 1, and which it does not have.
    pub dropped: (&'static str, &'a [i64]),
    /// The axes of the array that run along with axes of the indices.
    pub batching: (&'static str, &'a [i64]),
    pub indices_batching: (&'static str, &'a [i64]),
    /// The axes of the array to which the elements of a vector of indices belong.
    pub map: (&'static str, &'a [i64]),
    /// The axis of the indices that holds those vectors; their rank if they are scalars.
    pub vector: i64,
}

impl Windows<'_> {
    /// Checks what does not depend on the windows' sizes; gives the sizes that count windows.
    pub fn check(
        &self,
        array: &Value,
        indices: &Value,
        list_rank: Option<usize>,
    ) -> Result<Vec<i64>, Reason> {
        let (rank, indices_rank) = (array.rank(), indices.rank());
        sorted(self.window)?;
        sorted(self.dropped)?;
        sorted(self.batching)?;
        if let Some(list_rank) = list_rank {
            in_range(self.window, list_rank)?;
        }
        for axes in [self.dropped, self.batching, self.map] {
            in_range(axes, rank)?;
        }
        in_range(self.indices_batching, indices_rank)?;
        distinct(self.dropped, self.batching)?;
        distinct(self.map, self.batching)?;
        distinct(self.indices_batching, ("index_vector_dim", &[self.vector]))?;

        let mapped = self.window.1.len() + self.dropped.1.len() + self.batching.1.len();
        if mapped != rank {
            let names = [self.window.0, self.dropped.0, self.batching.0].join(", ");
            return Err(format!("{names} name {mapped} of {}", counted(rank, "dimension")));
        }
        if !(0..=indices_rank as i64).contains(&self.vector) {
            let dimensions = counted(indices_rank, "dimension");
            return Err(format!("index_vector_dim is {}, the indices have {dimensions}", self.vector));
        }
        let vector = indices.shape().get(self.vector as usize).copied().unwrap_or(1);
        if self.map.1.len() as i64 != vector {
            let (name, axes) = self.map;
            return Err(format!("{name} is {}, a vector of indices has size {vector}", shape_text(axes)));
        }
        self.check_batching(array, indices)?;
        let counts = (0..).zip(indices.shape()).filter(|(axis, _)| *axis != self.vector);
        Ok(counts.map(|(_, &size)| size).collect())
    }

    fn check_batching(&self, array: &Value, indices: &Value) -> Result<(), Reason> {
        let ((name, axes), (indices_name, indices_axes)) = (self.batching, self.indices_batching);
        if axes.len() != indices_axes.len() {
            let (axes, indices_axes) = (shape_text(axes), shape_text(indices_axes));
            return Err(format!("{name} is {axes} and {indices_name} {indices_axes}, not as many"));
        }
        for (&axis, &indices_axis) in axes.iter().zip(indices_axes) {
            let (size, indices_size) = (array.shape()[axis as usize], indices.shape()[indices_axis as usize]);
            if size != indices_size {
                return Err(format!(
                    "axis {axis} of size {size} does not run along with axis {indices_axis} of the indices, of size {indices_size}"
                ));
            }
        }
        Ok(())
    }

    /// The axes of the array that a window has, in order.
    pub fn kept(&self, rank: usize) -> impl Iterator<Item = usize> {
        let gone = |axis: &usize| {
            let axis = *axis as i64;
            self.dropped.1.contains(&axis) || self.batching.1.contains(&axis)
        };
        (0..rank).filter(move |axis| !gone(axis))
    }

    /// The shape of the list, from the sizes that count windows and those of a window.
    pub fn list_shape(&self, counts: &[i64], window: &[i64]) -> Vec<i64> {
        let (mut counts, mut window) = (counts.iter(), window.iter());
        let rank = counts.len() + window.len();
        let size = |axis: usize| {
            let is_window = self.window.1.contains(&(axis as i64));
            if is_window { window.next() } else { counts.next() }
        };
        (0..rank).map(size).map(|size| size.copied().unwrap_or_default()).collect()
    }

    /// `offset_dims = [0], collapsed_slice_dims = [1], …`, as the dialect prints it.
    pub fn text(&self) -> String {
        let lists = [self.window, self.dropped, self.batching, self.indices_batching, self.map];
        let mut text = String::new();
        for (name, axes) in lists.into_iter().filter(|(_, axes)| !axes.is_empty()) {
            text.push_str(&format!("{name} = {}, ", super::super::axes::list(axes)));
        }
        text + &format!("index_vector_dim = {}", self.vector)
    }
}

fn sorted((name, axes): (&str, &[i64])) -> Result<(), Reason> {
    if axes.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    Err(format!("{name} has to rise, not to be {}", shape_text(axes)))
}

pub(super) fn in_range((name, axes): (&str, &[i64]), rank: usize) -> Result<(), Reason> {
    if axes.iter().all(|axis| (0..rank as i64).contains(axis)) {
        return Ok(());
    }
    Err(format!("{name} is {}, there are axes from 0 to {}", shape_text(axes), rank as i64 - 1))
}

/// Whether no axis is named twice in two lists.
fn distinct((name, axes): (&str, &[i64]), (other, more): (&str, &[i64])) -> Result<(), Reason> {
    let mut all = axes.iter().chain(more);
    let twice = (1..).map_while(|n| all.next().map(|axis| (n, axis)));
    let twice = twice.filter(|(n, axis)| axes.iter().chain(more).take(n - 1).any(|before| before == *axis));
    match twice.map(|(_, axis)| axis).next() {
        None => Ok(()),
        Some(axis) if axes.iter().filter(|a| *a == axis).count() > 1 => {
            Err(format!("{name} names axis {axis} twice"))
        }
        Some(axis) => Err(format!("both {name} and {other} name axis {axis}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{assert_wrong, input};
    use super::super::super::{GatherOptions, Graph};
    use crate::DType;

    #[test]
    fn options_that_break_a_rule_are_errors() {
        let graph = Graph::new();
        let x = input(&graph, "x", DType::F32, &[4, 5]);
        let i = input(&graph, "i", DType::I32, &[3, 2]);
        // Windows of 2 by 3, each at a row and a column.
        let right = GatherOptions {
            offset_dims: vec![1, 2],
            start_index_map: vec![0, 1],
            index_vector_dim: 1,
            slice_sizes: vec![2, 3],
            ..GatherOptions::default()
        };
        assert_eq!(x.gather(&i, &right).check().unwrap().shape(), [3, 2, 3]);
        let wrong = |change: &dyn Fn(&mut GatherOptions), reason: &str| {
            let mut options = right.clone();
            change(&mut options);
            assert_wrong([(x.gather(&i, &options), &format!("gather(x: f32[4,5], i: i32[3,2]): {reason}"))]);
        };
        wrong(&|o| o.offset_dims = vec![2, 1], "offset_dims has to rise, not to be [2,1]");
        wrong(&|o| o.offset_dims = vec![1, 3], "offset_dims is [1,3], there are axes from 0 to 2");
        wrong(
            &|o| o.offset_dims = vec![1],
            "offset_dims, collapsed_slice_dims, operand_batching_dims name 1 of 2 dimensions",
        );
        wrong(&|o| o.start_index_map = vec![0, 0], "start_index_map names axis 0 twice");
        wrong(&|o| o.start_index_map = vec![0, 2], "start_index_map is [0,2], there are axes from 0 to 1");
        wrong(&|o| o.start_index_map = vec![0], "start_index_map is [0], a vector of indices has size 2");
        wrong(&|o| o.index_vector_dim = 3, "index_vector_dim is 3, the indices have 2 dimensions");
        wrong(&|o| o.slice_sizes = vec![2], "slice_sizes is [2], which does not fit into [4,5]");
        wrong(&|o| o.slice_sizes = vec![2, 6], "slice_sizes is [2,6], which does not fit into [4,5]");
        wrong(
            &|o| (o.offset_dims, o.collapsed_slice_dims) = (vec![1], vec![0]),
            "slice_sizes is 2 along axis 0 of collapsed_slice_dims, not 1",
        );
        wrong(
            &|o| (o.collapsed_slice_dims, o.operand_batching_dims) = (vec![0], vec![0]),
            "both collapsed_slice_dims and operand_batching_dims name axis 0",
        );
        wrong(
            &|o| (o.offset_dims, o.operand_batching_dims) = (vec![1], vec![0]),
            "both start_index_map and operand_batching_dims name axis 0",
        );
        wrong(
            &|o| o.start_indices_batching_dims = vec![1],
            "both start_indices_batching_dims and index_vector_dim name axis 1",
        );
        wrong(
            &|o| o.start_indices_batching_dims = vec![0],
            "operand_batching_dims is [] and start_indices_batching_dims [0], not as many",
        );
        let batching = |o: &mut GatherOptions| {
            (o.offset_dims, o.operand_batching_dims) = (vec![1], vec![0]);
            (o.start_index_map, o.start_indices_batching_dims) = (vec![1], vec![0]);
            o.index_vector_dim = 2;
        };
        wrong(&batching, "axis 0 of size 4 does not run along with axis 0 of the indices, of size 3");
    }
}
