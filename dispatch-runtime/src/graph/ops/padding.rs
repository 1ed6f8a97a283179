//! What stands around an array that a window moves over.

use super::super::poison::Reason;
use crate::error::counted;

/// How an array is padded for the windows of a convolution or a pooling to move over it.
///
/// Pairs of numbers are the amounts in front of each axis and behind it, negative ones crop it: `[(1, 1), (0, 2)]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Padding {
    /// None: windows lie inside the array.
    #[default]
    Valid,
    /// So much that there are `size / stride` windows along an axis, rounded up; an odd one goes behind.
    Same,
    /// As [`Same`](Padding::Same), an odd one goes in front.
    SameLower,
    /// So much in front of each axis, and behind it.
    Explicit(Vec<(i64, i64)>),
}

impl<const N: usize> From<[(i64, i64); N]> for Padding {
    fn from(amounts: [(i64, i64); N]) -> Padding {
        Padding::Explicit(amounts.into())
    }
}

impl From<Vec<(i64, i64)>> for Padding {
    fn from(amounts: Vec<(i64, i64)>) -> Padding {
        Padding::Explicit(amounts)
    }
}

impl From<&[(i64, i64)]> for Padding {
    fn from(amounts: &[(i64, i64)]) -> Padding {
        Padding::Explicit(amounts.into())
    }
}

/// How a window moves along one axis.
pub(super) struct Along {
    /// The size of the array.
    pub size: i64,
    /// The size of the window.
    pub window: i64,
    pub stride: i64,
    /// From one element of the window to the next.
    pub dilation: i64,
    /// From one element of the array to the next, with zeros between.
    pub input_dilation: i64,
}

/// The amounts in front and behind, and the number of windows; `None` if they are too large to count.
pub(super) struct Placed {
    pub low: i64,
    pub high: i64,
    pub windows: i64,
}

impl Padding {
    /// Places the windows along each of these axes; `names` are those that messages use.
    pub(super) fn place(&self, along: &[Along], names: &[String]) -> Result<Vec<Placed>, Reason> {
        if let Padding::Explicit(amounts) = self {
            if amounts.len() != along.len() {
                return Err(format!(
                    "{} for {}",
                    counted(amounts.len(), "padding"),
                    counted_axes(along.len())
                ));
            }
        }
        let place = |(i, axis): (usize, &Along)| {
            let name = &names[i];
            axis.check(name)?;
            let placed = axis.place(self, i).ok_or_else(|| format!("the padding of {name} is too large"))?;
            if placed.windows < 0 {
                return Err(format!("the padding of {name} takes away more than there is"));
            }
            Ok(placed)
        };
        along.iter().enumerate().map(place).collect()
    }
}

impl Along {
    fn check(&self, name: &str) -> Result<(), Reason> {
        for (what, n) in [
            ("window", self.window),
            ("stride", self.stride),
            ("dilation", self.dilation),
            ("input dilation", self.input_dilation),
        ] {
            if n < 1 {
                return Err(format!("the {what} of {name} is {n}; it has to be at least 1"));
            }
        }
        Ok(())
    }

    fn place(&self, padding: &Padding, i: usize) -> Option<Placed> {
        let size = dilated(self.size, self.input_dilation)?;
        let window = dilated(self.window, self.dilation)?;
        let (low, high) = match padding {
            Padding::Valid => (0, 0),
            Padding::Explicit(amounts) => amounts[i],
            Padding::Same | Padding::SameLower => {
                let windows = size / self.stride + i64::from(size % self.stride > 0);
                let reach = (windows - 1).max(0).checked_mul(self.stride)?.checked_add(window)?;
                let total = if windows == 0 { 0 } else { (reach - size).max(0) };
                let less = total / 2;
                if *padding == Padding::Same { (less, total - less) } else { (total - less, less) }
            }
        };
        let padded = size.checked_add(low)?.checked_add(high)?;
        let windows = match padded {
            ..0 => -1,
            _ if padded < window => 0,
            _ => (padded - window) / self.stride + 1,
        };
        Some(Placed { low, high, windows })
    }
}

/// `1 axis`, `2 axes`.
pub(super) fn counted_axes(n: usize) -> String {
    if n == 1 { "1 axis".into() } else { format!("{n} axes") }
}

/// The size with gaps between the elements.
fn dilated(size: i64, dilation: i64) -> Option<i64> {
    if size == 0 { Some(0) } else { (size - 1).checked_mul(dilation)?.checked_add(1) }
}
