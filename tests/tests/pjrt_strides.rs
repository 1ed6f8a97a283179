//! Host views with strides and an offset: what is uploaded is what indices find, on a real plugin and on the host engine.

use std::sync::OnceLock;

use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::SkeletonSlot;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn client() -> Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    *CLIENT.get_or_init(|| Client::cpu().unwrap())
}

/// A layout, and the data that it lies in.
#[derive(Clone, Debug)]
struct Case {
    dtype: DType,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: usize,
    data: HostArray,
}

impl Case {
    /// The bytes of each element that the indices name, found one by one.
    fn expected(&self) -> Vec<u8> {
        let item = self.dtype.size();
        let mut out = Vec::new();
        let len: i64 = self.shape.iter().product();
        for n in 0..len {
            let (mut rest, mut at) = (n, self.offset as i64);
            for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
                at += rest % size * stride;
                rest /= size;
            }
            out.extend(&self.data.bytes()[at as usize * item..][..item]);
        }
        out
    }

    fn view(&self) -> HostView<'_> {
        self.try_view().unwrap()
    }

    /// None if the layout reaches out of the data.
    fn try_view(&self) -> Option<HostView<'_>> {
        macro_rules! typed {
            ($($dtype:ident = $type:ty),*) => {
                match self.dtype {
                    $(DType::$dtype => {
                        let data = self.data.as_slice::<$type>().unwrap();
                        HostView::strided(data, &self.shape, &self.strides, self.offset).ok()
                    })*
                }
            };
        }
        typed!(
            Bool = bool,
            I8 = i8,
            I16 = i16,
            I32 = i32,
            I64 = i64,
            U8 = u8,
            U16 = u16,
            U32 = u32,
            U64 = u64,
            F16 = f16,
            BF16 = bf16,
            F32 = f32,
            F64 = f64,
            C64 = Complex32,
            C128 = Complex64
        )
    }
}

const DTYPES: [DType; 15] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

/// The strides of a dense array whose dimensions are stored in this order, from the slowest to the fastest, each one
/// `gap` elements longer than it needs to be.
fn ordered(shape: &[i64], order: &[usize], gap: i64) -> Vec<i64> {
    let mut strides = vec![0; shape.len()];
    let mut step = 1;
    for &d in order.iter().rev() {
        strides[d] = step;
        step *= shape[d] + gap;
    }
    strides
}

fn cases() -> impl Strategy<Value = Case> {
    let size = prop_oneof![12 => 1i64..6, 1 => Just(0i64), 1 => 30i64..40];
    let shape = prop::collection::vec(size, 0..=6)
        .prop_filter("small enough", |shape| shape.iter().product::<i64>() < 40_000);
    let strides = shape.prop_flat_map(|shape| {
        let rank = shape.len();
        let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
        let signs = prop::collection::vec(prop_oneof![4 => Just(1i64), 1 => Just(-1), 1 => Just(0)], rank);
        let any = prop::collection::vec(-7i64..8, rank);
        let kind = 0..4;
        (Just(shape), order, signs, any, kind, 0i64..3).prop_map(|(shape, order, signs, any, kind, gap)| {
            let strides = match kind {
                // Any order of the dimensions; with gaps; with steps backwards and none.
                0 => ordered(&shape, &order, 0),
                1 => ordered(&shape, &order, gap),
                2 => ordered(&shape, &order, gap).iter().zip(&signs).map(|(s, sign)| s * sign).collect(),
                _ => any,
            };
            (shape, strides)
        })
    });
    (prop::sample::select(&DTYPES[..]), strides, 0usize..4, 0usize..4, any::<u64>()).prop_map(
        |(dtype, (shape, strides), before, after, seed)| {
            let reach = |sign: i64| -> i64 {
                let reaches = shape.iter().zip(&strides).map(|(&n, &s)| (n - 1) * s * sign);
                reaches.filter(|&reach| reach > 0).sum()
            };
            let empty = shape.contains(&0);
            let (lowest, highest) = if empty { (0, -1) } else { (reach(-1), reach(1)) };
            let offset = before + lowest as usize;
            let len = (offset as i64 + highest + 1) as usize + after;
            let mut state = seed | 1;
            let mut byte = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 56) as u8
            };
            let bytes: Vec<u8> = (0..len * dtype.size())
                .map(|_| if dtype == DType::Bool { byte() & 1 } else { byte() })
                .collect();
            let data = HostArray::from_bytes(dtype, [len as i64], &bytes).unwrap();
            Case { dtype, shape, strides, offset, data }
        },
    )
}

fn runs(n: u32) -> TestRunner {
    let n = if std::env::var_os("DISPATCH_TEST_SHORT").is_some() { n / 10 } else { n };
    TestRunner::new(Config { cases: n, failure_persistence: None, ..Config::default() })
}

#[test]
fn any_strided_view_is_uploaded_as_its_elements_stand_by_index() {
    let uploaded = |client: Client, case: &Case| {
        let array = client.upload(case.view(), client.default_device()).unwrap();
        assert_eq!((array.dtype(), array.shape()), (case.dtype, &case.shape[..]));
        let mut out = vec![0; array.len() * case.dtype.size()];
        array.read_bytes(&mut out).unwrap();
        out
    };
    runs(3000)
        .run(&cases(), |case| {
            let expected = case.expected();
            prop_assert_eq!(&uploaded(client(), &case), &expected);
            prop_assert_eq!(&uploaded(Client::host(), &case), &expected);
            let copy = HostArray::from_view(case.view());
            prop_assert_eq!(copy.bytes(), &expected[..]);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_skeleton_takes_exactly_the_layout_of_its_slot() {
    // Another layout of the same dtype and shape: one of the many that differ a little.
    let with_other = (cases(), any::<prop::sample::Index>(), -1i64..2, 0usize..2).prop_map(
        |(case, which, change, offset)| {
            let mut other = Case { offset: case.offset + offset, ..case.clone() };
            if !other.strides.is_empty() {
                other.strides[which.index(case.shape.len())] += change;
            }
            (case, other)
        },
    );
    runs(150)
        .run(&with_other, |(case, other)| {
            let aval = Aval::strided(case.dtype, &case.shape, &case.strides, case.offset).unwrap();
            prop_assert_eq!(&case.view().aval(), &aval);
            let slot = SkeletonSlot::of(&aval);
            let same = slot.value().into_skeleton(&client(), &[&slot]).unwrap();
            let result = same.run(&[case.view()]).unwrap();
            let mut bytes = vec![0; result.len() * case.dtype.size()];
            result.read_bytes(&mut bytes).unwrap();
            prop_assert_eq!(bytes, case.expected());

            // Where nobody steps there is no difference.
            let steps = |d: usize| !case.shape.contains(&0) && case.shape[d] != 1;
            let differs = (0..case.shape.len()).any(|d| steps(d) && case.strides[d] != other.strides[d])
                || (other.offset != case.offset && !case.shape.contains(&0));
            let other_aval = Aval::strided(other.dtype, &other.shape, &other.strides, other.offset);
            let Ok(other_aval) = other_aval else { return Ok(()) };
            prop_assert_eq!(other_aval != aval, differs);
            if let Some(view) = other.try_view() {
                prop_assert_eq!(same.run(&[view]).is_err(), differs);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn more_elements_than_there_is_memory_for_are_an_error() {
    let data = [1f32, 2.0];
    // One walked by the plugin, one by us: 2^50 bytes and more.
    for (shape, strides) in
        [(&[1i64 << 47, 2][..], &[0i64, 1][..]), (&[1 << 48, 2], &[0, 0]), (&[1 << 50], &[0])]
    {
        let view = HostView::strided(&data, shape, strides, 0).unwrap();
        let error = client().upload(view, client().default_device()).unwrap_err();
        assert!(["pjrt", "shape"].contains(&error.code()), "{error}");
    }
}
