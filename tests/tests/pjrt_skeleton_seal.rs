//! What the compiler makes of composed skeletons: sealed ones stay whole, inlined ones are fused.

mod plugin;

use dispatch_runtime::graph::{
    Combine, Conv, Key, Padding, TriangularOptions, Window, concatenate, custom_call, fori, if_else, switch,
};
use dispatch_runtime::prelude::*;
use dispatch_runtime::skeleton::{Bind, MemoryReport, Skeleton, SkeletonSlot};
use plugin::client;

const N: i64 = 10_000;

fn slot(name: &str, shape: &[i64]) -> SkeletonSlot {
    SkeletonSlot::new(DType::F32, shape).named(name)
}

fn of(array: &Array) -> Vec<f32> {
    array.to_vec().unwrap()
}

/// `2 x + 1`, whose constants are found again in the compiled program.
fn inner() -> Skeleton {
    let x = slot("x", &[N]);
    (&x * 2.0 + 1.0).into_skeleton(&client(), &[&x]).unwrap()
}

/// What stands in front of the inner skeleton, and behind it.
fn front(y: &Value) -> Value {
    y.exp()
}

fn behind(inner: &Value, y: &Value) -> Value {
    inner.square() - y
}

fn around(inner: impl FnOnce(&Value) -> Result<Value>) -> Skeleton {
    let y = slot("y", &[N]);
    let inner = inner(&front(&y)).unwrap();
    behind(&inner, &y).into_skeleton(&client(), &[&y]).unwrap()
}

/// The computations of the optimised program: what is fused is one of them.
fn computations<O>(skeleton: &Skeleton<O>) -> Vec<String> {
    let executable = client().compile_on(skeleton.program().clone(), client().default_device()).unwrap();
    let hlo = executable.inspect().unwrap().optimized_hlo.unwrap();
    hlo.split("\n\n").map(str::to_owned).collect()
}

/// Whether one computation has both in it.
fn meet(computations: &[String], a: &str, b: &str) -> bool {
    assert!([a, b].iter().all(|part| computations.iter().any(|c| c.contains(part))), "{computations:#?}");
    computations.iter().any(|computation| computation.contains(a) && computation.contains(b))
}

#[test]
fn nothing_is_fused_across_a_seal() {
    let inner = inner();
    let sealed = computations(&around(|x| inner.compose(&[x])));
    let calls = sealed.iter().map(|computation| computation.matches(" call(").count()).sum::<usize>();
    assert_eq!(calls, 1, "{sealed:#?}");
    assert!(meet(&sealed, "constant(2)", "constant(1)"));
    for (one, other) in
        [("exponential(", "constant(2)"), ("constant(1)", "subtract("), ("exponential(", "subtract(")]
    {
        assert!(!meet(&sealed, one, other), "{sealed:#?}");
    }

    let inlined = computations(&around(|x| inner.compose_inlined(&[x])));
    assert!(!inlined.iter().any(|computation| computation.contains(" call(")), "{inlined:#?}");
    assert!(meet(&inlined, "exponential(", "constant(2)") && meet(&inlined, "constant(1)", "subtract("));
}

#[test]
fn a_seal_stays_in_what_is_inlined() {
    let inner = inner();
    let y = slot("y", &[N]);
    let middle = front(&inner.compose(&[&y]).unwrap()).into_skeleton(&client(), &[&y]).unwrap();
    let outer = computations(&around(|x| middle.compose_inlined(&[x])));
    assert!(!meet(&outer, "exponential(", "constant(2)"), "{outer:#?}");
    assert!(meet(&outer, "exponential(", "subtract("), "{outer:#?}");
}

#[test]
fn a_seal_gives_the_bits_of_three_runs() {
    // Constants that the compiler makes one of, where it sees them, which rounds otherwise.
    let (x, y, b) = (slot("x", &[N]), slot("y", &[N]), slot("b", &[N]));
    let inner = (&x * 3.1).exp().into_skeleton(&client(), &[&x]).unwrap();
    let front = (&y * 0.1).into_skeleton(&client(), &[&y]).unwrap();
    let behind = (b.log() * &y).into_skeleton(&client(), &[&b, &y]).unwrap();
    let sealed = inner.compose(&[&(&y * 0.1)]).unwrap().log() * &y;
    let sealed = sealed.into_skeleton(&client(), &[&y]).unwrap();
    let data: Vec<f32> = (0..N).map(|i| (i as f32 * 0.37).sin() * 3.0).collect();
    let y = client().array(&data, [N]).unwrap();
    let one_by_one = behind.run(&[&inner.run(&[&front.run(&[&y]).unwrap()]).unwrap(), &y]).unwrap();
    assert_eq!(of(&sealed.run(&[&y]).unwrap()), of(&one_by_one));
}

#[test]
fn constants_that_are_bound_are_computed_with_as_others() {
    let x = slot("x", &[N]);
    let inner = (&x * 3.1).exp().into_skeleton(&client(), &[&x]).unwrap();
    let constant = Value::full(DType::F32, [N], 0.7);
    let sealed = inner.compose(&[&constant]).unwrap().into_skeleton(&client(), &[]).unwrap();
    let array = client().array(&vec![0.7f32; N as usize], [N]).unwrap();
    assert_eq!(of(&sealed.run::<&Array>(&[]).unwrap()), of(&inner.run(&[&array]).unwrap()));
    let computations = computations(&sealed);
    assert!(computations.iter().any(|computation| computation.contains(" call(")), "{computations:#?}");
}

#[test]
fn the_memory_report_shows_what_a_seal_costs() {
    let (inner, bytes) = (inner(), 4 * N as u64);
    let report = |peak_bytes, output_bytes, argument_bytes, allocations| MemoryReport {
        peak_bytes,
        output_bytes,
        argument_bytes,
        allocations,
    };
    let (y, z) = (slot("y", &[N]), slot("z", &[]));
    // Two of these are alive at once, neither of which is argument or result: what goes into the seal, and what comes out.
    let total = |inner: Value| inner.max(..).into_skeleton(&client(), &[&y, &z]).unwrap().memory_report();
    let sealed = total(inner.compose(&[&(&y * &z)]).unwrap());
    assert!(sealed.peak_bytes >= 3 * bytes, "{sealed:?}");
    assert_eq!(sealed, report(sealed.peak_bytes, 4, bytes + 4, 2));
    // At most one of them is left.
    let inlined = total(inner.compose_inlined(&[&(&y * &z)]).unwrap());
    assert!(inlined.peak_bytes <= 2 * bytes + 2000, "{inlined:?}");
    assert_eq!(inlined, report(inlined.peak_bytes, 4, bytes + 4, inlined.allocations));

    // Where everything is one fusion without a seal, no scratch memory is needed.
    let inlined = around(|x| inner.compose_inlined(&[x])).memory_report();
    assert_eq!(inlined, report(2 * bytes, bytes, bytes, 1));
    let sealed = around(|x| inner.compose(&[x])).memory_report();
    assert!(sealed.peak_bytes >= inlined.peak_bytes, "{sealed:?}");
    // Bound arrays are arguments.
    let array = client().array(&vec![1f32; N as usize], [N]).unwrap();
    let made = inner.compose(&[&array]).unwrap().into_skeleton(&client(), &[]).unwrap();
    assert_eq!(made.memory_report(), report(2 * bytes, bytes, bytes, 1));
}

#[test]
fn arrays_of_all_kinds_pass_a_seal() {
    const SHAPES: [&[i64]; 3] = [&[], &[0], &[3, 1, 2]];
    const KINDS: usize = DType::ALL.len() * SHAPES.len();
    let kinds: Vec<(DType, &[i64])> =
        SHAPES.iter().flat_map(|&shape| DType::ALL.iter().map(move |&dtype| (dtype, shape))).collect();
    let slots: [SkeletonSlot; KINDS] = std::array::from_fn(|i| SkeletonSlot::new(kinds[i].0, kinds[i].1));
    let all: Vec<&SkeletonSlot> = slots.iter().collect();
    let same = slots.each_ref().map(SkeletonSlot::value).into_skeleton(&client(), &all).unwrap();
    let bound: Vec<&dyn Bind> = slots.iter().map(|slot| slot as &dyn Bind).collect();
    let once = same.compose(&bound).unwrap();
    let bound: Vec<&dyn Bind> = once.iter().map(|value| value as &dyn Bind).collect();
    let outer = same.compose(&bound).unwrap().into_skeleton(&client(), &all).unwrap();

    let array = |&(dtype, shape): &(DType, &[i64])| {
        let bytes: Vec<u8> = (0..Aval::new(dtype, shape).size_bytes()).map(|i| (i as u8 + 1) % 2).collect();
        let host = HostArray::from_bytes(dtype, shape, &bytes).unwrap();
        client().upload(host.view(), client().default_device()).unwrap()
    };
    let arrays: Vec<Array> = kinds.iter().map(array).collect();
    let results = outer.run(&arrays.iter().collect::<Vec<_>>()).unwrap();
    for (result, array) in results.iter().zip(&arrays) {
        assert_eq!((result.aval(), bytes_of(result)), (array.aval(), bytes_of(array)));
    }
}

#[test]
fn many_slots_and_results_pass_a_seal() {
    let slots: Vec<SkeletonSlot> = (0..40).map(|i| slot(&format!("x{i}"), &[])).collect();
    let all: Vec<&SkeletonSlot> = slots.iter().collect();
    let sums: [Value; 40] = std::array::from_fn(|i| &slots[i] + &slots[(i + 1) % 40]);
    let sums = sums.into_skeleton(&client(), &all).unwrap();
    let bound: Vec<&dyn Bind> = slots.iter().map(|slot| slot as &dyn Bind).collect();
    let outer = sums.compose(&bound).unwrap().map(|sum| sum * 10.0);
    let outer = outer.into_skeleton(&client(), &all).unwrap();
    let arrays: Vec<Array> = (0..40).map(|i| client().array(&[i as f32], []).unwrap()).collect();
    let results = outer.run(&arrays.iter().collect::<Vec<_>>()).unwrap();
    for (i, result) in results.iter().enumerate() {
        assert_eq!(of(result), [(i + (i + 1) % 40) as f32 * 10.0]);
    }
}

type Operation = fn(&Value) -> Value;

/// Operations of all kinds on a square matrix.
const OPERATIONS: [(&str, Operation); 22] = [
    ("matmul", |x| x.matmul(&x.t()).tanh()),
    ("conv", |x| {
        let n = x.shape()[0];
        let image = x.reshape([1, n, n, 1]);
        let kernel = x.slice((0..2, 0..2)).reshape([2, 2, 1, 1]);
        image.conv(&kernel, &Conv::new("NHWC,HWIO->NHWC").padding(Padding::Same))
    }),
    ("sort", |x| x.sort(0)),
    ("argsort", |x| x.argsort(1)),
    ("top_k", |x| x.top_k(2).0),
    ("custom call", |x| {
        let row = x.slice_axis(0, 0, 1).reshape([x.shape()[0]]);
        let results = [Aval::new(DType::F32, [2]), Aval::new(DType::I32, [2])];
        custom_call("TopK").api_version(1).call(&[&row], results)[0].clone()
    }),
    ("fft", |x| x.rfft([1]).abs()),
    ("cholesky", |x| (x.matmul(&x.t()) + Value::eye(DType::F32, x.shape()[0]) * 4.0).cholesky()),
    ("triangular_solve", |x| {
        let l = (x.matmul(&x.t()) + Value::eye(DType::F32, x.shape()[0]) * 4.0).cholesky();
        l.triangular_solve(x, TriangularOptions::default())
    }),
    ("sum", |x| x.sum(1)),
    ("softmax", |x| x.softmax(-1)),
    ("cumsum", |x| x.cumsum(0)),
    ("max_pool", |x| x.max_pool(&Window::new([0, 1], [2, 2]))),
    ("gather", |x| x.take(&Value::iota(DType::I32, [3], 0), 0)),
    ("scatter", |x| x.put(&Value::iota(DType::I32, [3], 0), 2.0, 0, Combine::Add)),
    ("dynamic_slice", |x| x.dynamic_slice((x.argmax(0).max(..), 0), [1, 2])),
    ("concatenate", |x| concatenate(&[x, &(x * 2.0)], 0)),
    ("random", |x| x + Key::seed(7).uniform(DType::F32, x.shape(), 0.0, 1.0)),
    ("loop", |x| fori(0, 5, x.clone(), |i, sum| sum * 0.5 + x + i.convert(DType::F32))),
    ("if", |x| if_else(&x.sum(..).gt(0.0), || x.exp(), || x.sin())),
    ("switch", |x| switch(&x.argmax(0).max(..), 3, |i| x * (i as f32 + 1.0))),
    ("reverse", |x| x.reverse([0]).roll(1, 1)),
];

#[test]
fn a_seal_holds_operations_of_all_kinds() {
    for n in [4i64, 150] {
        let data: Vec<f32> = (0..n * n).map(|i| (i as f32 * 0.71).sin()).collect();
        let array = client().array(&data, [n, n]).unwrap();
        let (x, y) = (slot("x", &[n, n]), slot("y", &[n, n]));
        let alone = OPERATIONS.map(|(_, operation)| operation(&x).into_skeleton(&client(), &[&x]).unwrap());
        // All in one program: straight, and in a loop.
        let composed = std::array::from_fn::<_, { OPERATIONS.len() }, _>(|i| {
            let sealed = alone[i].compose(&[&(&y * 1.0)]).unwrap();
            [sealed.clone(), fori(0, 2, sealed, |_, _| alone[i].compose(&[&y]).unwrap())]
        });
        let outer = composed.into_skeleton(&client(), &[&y]).unwrap();
        for (i, [sealed, looped]) in outer.run(&[&array]).unwrap().iter().enumerate() {
            let (name, run) = (OPERATIONS[i].0, bytes_of(&alone[i].run(&[&array]).unwrap()));
            assert_eq!(bytes_of(sealed), run, "{name} of {n}");
            assert_eq!(bytes_of(looped), run, "{name} of {n} in a loop");
        }
    }
}

/// The data, whatever its dtype, as bytes.
fn bytes_of(array: &Array) -> Vec<u8> {
    let mut bytes = vec![0; array.len() * array.dtype().size()];
    array.read_bytes(&mut bytes).unwrap();
    bytes
}
