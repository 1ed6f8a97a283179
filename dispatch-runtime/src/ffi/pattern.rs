//! Patterns that a body checks buffers against: what `ffi::check!` calls.

use std::fmt;

use super::check::dtypes_text;
use super::{Described, Error, Future, Result, promise};
use crate::aval::shape_text;
use crate::signature::DTypeSpec;

/// One constraint of a pattern. They are checked in the order dtype, rank, sizes, whatever the order they are given in.
#[derive(Clone, Copy)]
pub enum Constraint<'p> {
    /// One of these dtypes.
    DType(DTypeSpec),
    /// One of these ranks.
    Rank(&'p [usize]),
    /// All dimensions, behind leading ones.
    Dims(PatternLead<'p>, &'p [PatternDim<'p>]),
    /// One dimension, counted from 0.
    Dim(usize, PatternDim<'p>),
    /// The shape of another buffer, and its name.
    Shape(&'p dyn Described, &'p str),
    /// The dtype of another buffer, and its name.
    SameDType(&'p dyn Described, &'p str),
    /// The dtype and the shape of another buffer, and its name.
    Like(&'p dyn Described, &'p str),
}

/// What may stand before the dimensions of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PatternLead<'p> {
    /// Nothing.
    None,
    /// Any dimensions: `..`.
    Any,
    /// Any dimensions, under a name: `batch..`, by its index.
    Captured(usize),
    /// These, which a name stands for already.
    Is(&'p [usize], &'p str),
}

/// One dimension of a pattern.
#[derive(Clone, Copy)]
pub enum PatternDim<'p> {
    /// `_`
    Any,
    /// A number, or the value of an expression, whose text stands beside it (empty for a number).
    Is(i128, &'p str),
    /// A name, by its index: any size, and the same wherever it stands.
    Captured(usize),
}

/// The value of an expression that a dimension is compared with.
pub fn size(value: impl TryInto<i128>) -> i128 {
    value.try_into().unwrap_or(i128::MAX)
}

/// What a pattern has captured.
pub struct Captures<const SIZES: usize, const LEADS: usize> {
    /// Single sizes, in the order of `names`.
    pub sizes: [usize; SIZES],
    /// Leading sizes, in the order of `leads`.
    pub leads: [Vec<usize>; LEADS],
}

/// A buffer, the names of what its pattern captures, and the pattern.
pub struct Pattern<'p, const SIZES: usize, const LEADS: usize> {
    /// The buffer's name, for the error.
    pub buffer: &'p str,
    /// The captured single sizes.
    pub names: [&'p str; SIZES],
    /// The captured leading sizes.
    pub leads: [&'p str; LEADS],
    /// The pattern.
    pub constraints: &'p [Constraint<'p>],
}

impl<const SIZES: usize, const LEADS: usize> Pattern<'_, SIZES, LEADS> {
    /// What the pattern captures of the buffer, if all of it holds.
    ///
    /// Every name of the pattern stands in one of its constraints.
    pub fn check(&self, buffer: &(impl Described + ?Sized)) -> Result<Captures<SIZES, LEADS>> {
        let shape = buffer.shape();
        self.check_dtype(buffer)?;
        self.check_rank(shape)?;
        let mut sizes = [None; SIZES];
        let mut leads = [None; LEADS];
        for constraint in self.constraints {
            match *constraint {
                Constraint::DType(_) | Constraint::SameDType(..) | Constraint::Rank(_) => {}
                Constraint::Dims(lead, dims) => {
                    let (front, back) = shape.split_at(shape.len() - dims.len());
                    let mut holds = match lead {
                        PatternLead::None | PatternLead::Any => true,
                        PatternLead::Captured(n) => *leads[n].get_or_insert(front) == front,
                        PatternLead::Is(known, _) => {
                            known.iter().map(|n| *n as i64).eq(front.iter().copied())
                        }
                    };
                    for (dim, size) in dims.iter().zip(back) {
                        holds = holds && fits(*dim, *size, &mut sizes);
                    }
                    if !holds {
                        return Err(self.shape_error(&self.dims_text(lead, dims), shape));
                    }
                }
                Constraint::Dim(i, dim) => {
                    if !fits(dim, shape[i], &mut sizes) {
                        let known = match dim {
                            PatternDim::Captured(n) => {
                                sizes[n].map_or(String::new(), |size| format!("={size}"))
                            }
                            _ => String::new(),
                        };
                        let expected = format!("dim({i}) = {}{known}", self.dim_text(dim));
                        return Err(self.error(format_args!(
                            "expected {expected}, got {} in shape {}",
                            shape[i],
                            shape_text(shape)
                        )));
                    }
                }
                Constraint::Shape(other, name) | Constraint::Like(other, name) => {
                    if other.shape() != shape {
                        let expected = format!("{}, the shape of `{name}`", shape_text(other.shape()));
                        return Err(self.shape_error(&expected, shape));
                    }
                }
            }
        }
        Ok(Captures {
            // A name stands in some constraint, and each of those has given a size.
            sizes: sizes.map(|size| size.unwrap_or_default() as usize),
            leads: leads.map(|lead| lead.unwrap_or_default().iter().map(|n| *n as usize).collect()),
        })
    }

    fn check_dtype(&self, buffer: &(impl Described + ?Sized)) -> Result<()> {
        let got = buffer.data_type();
        for constraint in self.constraints {
            let expected = match *constraint {
                Constraint::DType(DTypeSpec::Any) => continue,
                Constraint::DType(allowed) if got.dtype().is_some_and(|dtype| allowed.allows(dtype)) => {
                    continue;
                }
                Constraint::DType(allowed) => dtypes_text(allowed),
                Constraint::SameDType(other, name) | Constraint::Like(other, name)
                    if other.data_type() != got =>
                {
                    format!("{}, the dtype of `{name}`", other.data_type())
                }
                _ => continue,
            };
            return Err(self.error(format_args!("expected dtype {expected}, got {got}")));
        }
        Ok(())
    }

    fn check_rank(&self, shape: &[i64]) -> Result<()> {
        let rank = shape.len();
        for constraint in self.constraints {
            match *constraint {
                Constraint::Rank(ranks) if !ranks.contains(&rank) => {
                    let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
                    let ranks = ranks.join(" or ");
                    let shape = shape_text(shape);
                    return Err(self.error(format_args!("expected rank {ranks}, got {rank}, shape {shape}")));
                }
                Constraint::Dims(lead, dims)
                    if rank < dims.len() || (lead == PatternLead::None && rank > dims.len()) =>
                {
                    return Err(self.shape_error(&self.dims_text(lead, dims), shape));
                }
                Constraint::Dim(i, dim) if rank <= i => {
                    let (dim, shape) = (self.dim_text(dim), shape_text(shape));
                    return Err(self.error(format_args!("expected dim({i}) = {dim}, got shape {shape}")));
                }
                _ => {}
            }
        }
        Ok(())
    }

    #[cold]
    fn error(&self, text: fmt::Arguments<'_>) -> Error {
        Error::invalid_argument(format!("`{}`: {text}", self.buffer))
    }

    #[cold]
    fn shape_error(&self, expected: &str, shape: &[i64]) -> Error {
        self.error(format_args!("expected shape {expected}, got {}", shape_text(shape)))
    }

    fn dim_text(&self, dim: PatternDim<'_>) -> String {
        match dim {
            PatternDim::Any => "_".to_owned(),
            PatternDim::Is(value, "") => value.to_string(),
            PatternDim::Is(value, text) => format!("{text}={value}"),
            PatternDim::Captured(n) => self.names[n].to_owned(),
        }
    }

    fn dims_text(&self, lead: PatternLead<'_>, dims: &[PatternDim<'_>]) -> String {
        let lead = match lead {
            PatternLead::None => None,
            PatternLead::Any => Some("..".to_owned()),
            PatternLead::Captured(n) => Some(format!("{}..", self.leads[n])),
            PatternLead::Is(known, name) => Some(format!("{name}..={known:?}")),
        };
        let parts: Vec<String> = lead.into_iter().chain(dims.iter().map(|dim| self.dim_text(*dim))).collect();
        format!("[{}]", parts.join(","))
    }
}

fn fits<const N: usize>(dim: PatternDim<'_>, size: i64, sizes: &mut [Option<i64>; N]) -> bool {
    match dim {
        PatternDim::Any => true,
        PatternDim::Is(value, _) => i128::from(size) == value,
        PatternDim::Captured(n) => *sizes[n].get_or_insert(size) == size,
    }
}

/// What a function returns in which an `ffi::check!` fails.
#[diagnostic::on_unimplemented(
    message = "`ffi::check!` returns an `ffi::Error`, and this function returns `{Self}`",
    note = "a function with `ffi::check!` returns an `ffi::Result`, an `ffi::Future`, or a `Result` whose error is made from an `ffi::Error`"
)]
pub trait Failed {
    /// The failure.
    #[doc(hidden)]
    fn failed(error: Error) -> Self;
}

impl Failed for Future {
    #[cold]
    fn failed(error: Error) -> Future {
        let (promise, future) = promise();
        promise.complete(Err(error));
        future
    }
}

impl<T, E: From<Error>> Failed for std::result::Result<T, E> {
    #[cold]
    fn failed(error: Error) -> Self {
        Err(error.into())
    }
}
