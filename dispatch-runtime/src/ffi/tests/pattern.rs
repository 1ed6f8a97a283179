//! What `ffi::check!` expands to, written by hand, and what it says.

use crate as dispatch_runtime;
use crate::ffi::{self, AnyBuffer, Buffer, DataType, Described, private::Span};

/// A buffer as patterns see it.
struct Shaped(DataType, Vec<i64>);

impl Described for Shaped {
    fn data_type(&self) -> DataType {
        self.0
    }

    fn shape(&self) -> &[i64] {
        &self.1
    }

    fn span(&self) -> Span {
        Span::EMPTY
    }
}

fn shaped(dtype: crate::DType, shape: &[i64]) -> Shaped {
    Shaped(DataType::of(dtype), shape.to_vec())
}

use crate::DType::{F32, F64, I32};

/// `ffi::check!(x: [f32, f64] [rows, 128, {k}, rows]);`
fn with_dims(x: &Shaped, k: usize) -> ffi::Result<usize> {
    // The statement begins here. Names that are bound are the user's tokens; all else is hygienic.
    let (rows,) = {
        use dispatch_runtime::__private_0_1::ffi as __ffi;
        let __pattern = __ffi::Pattern {
            buffer: "x",
            // Each captured name once, in the order of their first appearance.
            names: ["rows"],
            leads: [],
            constraints: &[
                __ffi::Constraint::DType(__ffi::DTypeSpec::Choice(&[__ffi::DType::F32, __ffi::DType::F64])),
                __ffi::Constraint::Dims(
                    __ffi::PatternLead::None,
                    &[
                        __ffi::PatternDim::Captured(0),
                        __ffi::PatternDim::Is(128, ""),
                        __ffi::PatternDim::Is(__ffi::size(k), "k"),
                        __ffi::PatternDim::Captured(0),
                    ],
                ),
            ],
        };
        match __pattern.check(x) {
            Ok(__ffi::Captures { sizes: [rows], leads: [] }) => (rows,),
            Err(error) => return __ffi::Failed::failed(error),
        }
    };
    // … and ends here.
    Ok(rows)
}

/// `ffi::check!(x: any like(y) rank = [1, 2] dim(0) = 3 dim(1) = c);` and such.
fn with<const N: usize>(
    x: &Shaped,
    names: [&str; N],
    constraints: &[ffi::private::Constraint<'_>],
) -> Result<[usize; N], String> {
    let pattern = ffi::private::Pattern { buffer: "x", names, leads: [], constraints };
    pattern.check(x).map(|captures| captures.sizes).map_err(|error| error.message().to_owned())
}

#[test]
fn names_are_bound_if_the_whole_pattern_holds() {
    assert_eq!(with_dims(&shaped(F64, &[5, 128, 7, 5]), 7).unwrap(), 5);
    let message = |x: &Shaped| with_dims(x, 7).unwrap_err().message().to_owned();
    assert_eq!(message(&shaped(I32, &[5])), "`x`: expected dtype f32 or f64, got i32");
    for shape in [&[5, 128, 7, 6][..], &[5, 127, 7, 5], &[5, 128, 8, 5], &[5, 128, 7], &[5, 128, 7, 5, 1]] {
        let got = crate::aval::shape_text(shape);
        assert_eq!(
            message(&shaped(F32, shape)),
            format!("`x`: expected shape [rows,128,k=7,rows], got {got}")
        );
    }
}

#[test]
fn single_dimensions_ranks_and_other_buffers_are_compared() {
    use ffi::private::Constraint::{Dim, Like, Rank, Shape};
    use ffi::private::PatternDim::{Captured, Is};
    let (x, y) = (shaped(F32, &[3, 4, 4]), shaped(F64, &[3, 4, 4]));
    assert_eq!(with(&x, ["c"], &[Dim(0, Is(3, "")), Dim(1, Captured(0)), Dim(2, Captured(0))]), Ok([4]));
    assert_eq!(with(&x, [], &[Rank(&[1, 3]), Shape(&y, "y")]), Ok([]));
    let wrong = |result: Result<[usize; 0], String>| result.unwrap_err();
    assert_eq!(wrong(with(&x, [], &[Rank(&[1, 2])])), "`x`: expected rank 1 or 2, got 3, shape [3,4,4]");
    assert_eq!(wrong(with(&x, [], &[Dim(0, Is(2, ""))])), "`x`: expected dim(0) = 2, got 3 in shape [3,4,4]");
    assert_eq!(wrong(with(&x, [], &[Dim(3, Is(2, ""))])), "`x`: expected dim(3) = 2, got shape [3,4,4]");
    assert_eq!(wrong(with(&x, [], &[Like(&y, "y")])), "`x`: expected dtype f64, the dtype of `y`, got f32");
    let z = shaped(F32, &[3, 4]);
    assert_eq!(
        wrong(with(&x, [], &[Shape(&z, "z")])),
        "`x`: expected shape [3,4], the shape of `z`, got [3,4,4]"
    );
    let twice = with(&x, ["c"], &[Dim(0, Captured(0)), Dim(1, Captured(0))]).unwrap_err();
    assert_eq!(twice, "`x`: expected dim(1) = c=3, got 4 in shape [3,4,4]");
}

#[test]
fn leading_dimensions_are_bound_together() {
    use ffi::private::{Captures, Constraint, Pattern, PatternDim, PatternLead};
    let dims = [PatternDim::Captured(0)];
    let constraints = [Constraint::Dims(PatternLead::Captured(0), &dims)];
    let pattern = Pattern { buffer: "x", names: ["k"], leads: ["batch"], constraints: &constraints };
    let Captures { sizes: [k], leads: [batch] } = pattern.check(&shaped(F32, &[2, 3, 4])).unwrap();
    assert_eq!((k, batch), (4, vec![2, 3]));
    let error = pattern.check(&shaped(F32, &[])).map(|_| ()).unwrap_err();
    assert_eq!(error.message(), "`x`: expected shape [batch..,k], got []");
}

#[test]
fn all_types_of_buffers_can_be_checked() {
    fn described<T: Described>() {}
    described::<Buffer<'_, f32>>();
    described::<ffi::BufferMut<'_, f32>>();
    described::<AnyBuffer<'_>>();
    described::<ffi::AnyBufferMut<'_>>();
}
