//! Families on a real plugin: the default one, or the one that `PJRT_PLUGIN_PATH_CPU` names.

mod plugin;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use dispatch_runtime::prelude::*;
use dispatch_runtime::set_warning_handler;
use dispatch_tests::{array, array_on};
use plugin::{client, client_with_devices, values};

/// A program whose one result is computed from its arguments `%0`, `%1` … by these lines.
fn program<O>(inputs: &[&Aval], result: &Aval, lines: &str) -> Result<Program<O>> {
    let inputs: Vec<String> = inputs.iter().enumerate().map(|(i, aval)| format!("%{i}: {aval}")).collect();
    Program::stablehlo(format!(
        "func.func @main({}) -> {result} {{\n{lines}\nreturn %y : {result}\n}}",
        inputs.join(", ")
    ))
}

/// `a * k + b`, where `k` is compiled in.
#[dispatch_family(capacity = 8)]
fn scaled_sum(
    #[dynamic(dtype = [f32, f64, i32], shape = [..])] a: Aval,
    #[dynamic(like(a))] b: Aval,
    #[static_arg] k: i64,
) -> Result<Program> {
    let dot = if a.dtype().is_float() { ".0" } else { "" };
    program(
        &[&a, &b],
        &a,
        &format!(
            "%k = stablehlo.constant dense<{k}{dot}> : {a}
             %p = stablehlo.multiply %0, %k : {a}
             %y = stablehlo.add %p, %1 : {a}"
        ),
    )
}

#[test]
fn a_family_compiles_a_program_for_each_key_and_runs_it() {
    let client = client();
    let family = ScaledSum::new(&client);
    let a = client.array(&[1f32, 2.0, 3.0, 4.0], [2, 2]).unwrap();
    for _ in 0..2 {
        assert_eq!(values::<f32>(&family.call(&a, &a, 2).unwrap()), [3.0, 6.0, 9.0, 12.0]);
        assert_eq!(values::<f32>(&family.call(&a, (&[0.5; 4], [2, 2]), 3).unwrap()), [3.5, 6.5, 9.5, 12.5]);
        assert_eq!(values::<f64>(&family.call(0.1, 0.0, 1).unwrap()), [0.1]);
        assert_eq!(values::<i32>(&family.call([7, -7], [1, 1], -2).unwrap()), [-13, 15]);
    }
    let stats = family.stats();
    assert_eq!((stats.compiles, stats.hits, stats.entries), (4, 4, 4));
    assert!(stats.bytes > 0, "executables know their size");
}

#[test]
fn shapes_that_hold_the_same_elements_are_different_programs() {
    let client = client();
    let family = ScaledSum::new(&client);
    for shape in [&[128i64, 128][..], &[1, 128, 128], &[], &[1], &[1, 1], &[0, 3], &[0]] {
        for _ in 0..2 {
            let x = array(client, DType::F32, shape);
            let y = family.call(&x, &x, 1).unwrap();
            assert_eq!((y.shape(), values::<f32>(&y).len()), (shape, x.len()));
        }
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (7, 7));
}

#[test]
fn every_dtype_goes_through_a_program() {
    #[dispatch_family]
    fn reversed(#[dynamic(dtype = any, shape = [n])] a: Aval) -> Result<Program> {
        assert_eq!(n, 3);
        program(&[&a], &a, &format!("%y = stablehlo.reverse %0, dims = [0] : {a}"))
    }
    fn check<T: Element + PartialEq + std::fmt::Debug>(family: &Reversed, [a, b, c]: [T; 3]) {
        assert_eq!(values::<T>(&family.call([a, b, c]).unwrap()), [c, b, a]);
    }
    let family = Reversed::new(&client());
    macro_rules! check {
        ($($a:expr, $b:expr, $c:expr;)*) => {
            $(check(&family, [$a, $b, $c]);)*
        };
    }
    use half::{bf16, f16};
    use num_complex::Complex;
    check! {
        true, false, false;
        i8::MIN, 0, i8::MAX;
        i16::MIN, 0, i16::MAX;
        i32::MIN, 0, i32::MAX;
        i64::MIN, 0, i64::MAX;
        1, 2, u8::MAX;
        1, 2, u16::MAX;
        1, 2, u32::MAX;
        1, 2, u64::MAX;
        f16::from_f32(0.5), f16::ONE, f16::MAX;
        bf16::from_f32(0.5), bf16::ONE, bf16::MAX;
        0.1f32, f32::MIN_POSITIVE, f32::INFINITY;
        0.1f64, f64::MIN_POSITIVE, f64::NEG_INFINITY;
        Complex::new(0.1f32, 2.0), Complex::new(0.0, 1.0), Complex::new(3.0, 4.0);
        Complex::new(0.1f64, 2.0), Complex::new(0.0, 1.0), Complex::new(3.0, 4.0);
    }
    assert_eq!(family.stats().compiles, 15);
}

#[test]
fn programs_without_inputs_and_with_several_results_run() {
    #[dispatch_family]
    fn constant(#[static_arg] value: f64) -> Result<Program> {
        let y = Aval::new(DType::F64, []);
        program(&[], &y, &format!("%y = stablehlo.constant dense<{value:?}> : {y}"))
    }
    #[derive(OutputTree)]
    struct Parts<T> {
        sum: T,
        rest: [T; 2],
    }
    #[dispatch_family]
    fn split(#[dynamic(dtype = f32, shape = [n])] a: Aval) -> Result<Program<(Parts<Array>, Array)>> {
        let _ = n;
        Program::stablehlo(format!(
            "func.func @main(%a: {a}) -> ({a}, {a}, tensor<i32>, {a}) {{
               %sum = stablehlo.add %a, %a : {a}
               %negated = stablehlo.negate %a : {a}
               %one = stablehlo.constant dense<1> : tensor<i32>
               return %sum, %negated, %one, %a : {a}, {a}, tensor<i32>, {a}
             }}"
        ))
    }
    let client = client();
    let family = Constant::new(&client);
    assert_eq!(values::<f64>(&family.call(1.5).unwrap()), [1.5]);
    assert_eq!(values::<f64>(&family.call(-0.1).unwrap()), [-0.1]);
    let (Parts { sum, rest: [negated, one] }, same) = Split::new(&client).call([1f32, 2.0]).unwrap();
    assert_eq!((values::<f32>(&sum), values::<f32>(&negated)), (vec![2.0, 4.0], vec![-1.0, -2.0]));
    assert_eq!((values::<i32>(&one), values::<f32>(&same)), (vec![1], vec![1.0, 2.0]));
}

#[test]
fn lists_and_structs_reach_the_program_in_their_order() {
    #[derive(InputTree)]
    struct Line<T> {
        #[dynamic(dtype = f64, shape = [])]
        slope: T,
        #[dynamic(dtype = f64, shape = [])]
        offsets: Vec<T>,
    }
    /// `slope * x - offset - offset …`
    #[dispatch_family]
    fn on_line(#[dynamic] line: Line<Aval>, #[dynamic(dtype = f64, shape = [])] x: Aval) -> Result<Program> {
        let Line { slope, offsets } = line;
        let n = offsets.len();
        let inputs: Vec<&Aval> = std::iter::once(&slope).chain(&offsets).chain([&x]).collect();
        let mut lines = format!("%y0 = stablehlo.multiply %0, %{} : {x}\n", n + 1);
        for i in 1..=n {
            lines += &format!("%y{i} = stablehlo.subtract %y{}, %{i} : {x}\n", i - 1);
        }
        program(&inputs, &x, &lines.replace(&format!("%y{n} ="), "%y ="))
    }
    let client = client();
    let family = OnLine::new(&client);
    let scalar = |x: f64| client.array(&[x], []).unwrap();
    let line =
        |offsets: &[f64]| Line { slope: scalar(3.0), offsets: offsets.iter().map(|x| scalar(*x)).collect() };
    assert_eq!(values::<f64>(&family.call(&line(&[]), 5.0).unwrap()), [15.0]);
    assert_eq!(values::<f64>(&family.call(&line(&[1.0, 0.5]), 5.0).unwrap()), [13.5]);
    assert_eq!(family.stats().compiles, 2);
}

#[test]
fn a_loop_that_feeds_its_output_back_compiles_once() {
    let client = client();
    let family = ScaledSum::new(&client);
    let (mut x, one) = (client.array(&[0f64; 3], [3]).unwrap(), client.array(&[1f64; 3], [3]).unwrap());
    for _ in 0..1000 {
        x = family.call(&x, &one, 1).unwrap();
    }
    assert_eq!(values::<f64>(&x), [1000.0; 3]);
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 999));
}

#[test]
fn a_slice_changed_after_the_call_does_not_change_the_data() {
    let client = client();
    let family = ScaledSum::new(&client);
    // Of sizes that a plugin might borrow instead of copying: large ones, aligned ones.
    for n in [1usize, 16, 4096, 1 << 18] {
        let mut data = vec![1f64; n];
        let array = client.array(&data, [n as i64]).unwrap();
        let y = family.call(&data, &data, 1).unwrap();
        data.fill(9.0);
        assert!(values::<f64>(&y).iter().all(|x| *x == 2.0));
        assert!(values::<f64>(&array).iter().all(|x| *x == 1.0));
    }
}

#[test]
fn forty_shapes_through_two_places_give_right_results() {
    let client = client();
    let family = ScaledSum::builder(&client).capacity(2).build().unwrap();
    let mut results = Vec::new();
    for n in 0..40 {
        let x = client.array(&vec![n as f32; n], [n as i64]).unwrap();
        results.push(family.call(&x, &x, 1).unwrap());
        assert!(family.stats().entries <= 2);
    }
    assert_eq!((family.stats().compiles, family.stats().evictions), (40, 38));
    // Results outlive their programs, and the family.
    drop(family);
    for (n, y) in results.iter().enumerate() {
        assert_eq!(values::<f32>(y), vec![2.0 * n as f32; n]);
    }
}

#[test]
fn a_program_evicted_while_its_results_compute_finishes() {
    #[dispatch_family(capacity = 1)]
    fn slow(#[dynamic(dtype = f32, shape = [n, n])] a: Aval) -> Result<Program> {
        let _ = n;
        program(
            &[&a],
            &a,
            &format!("%y = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : ({a}, {a}) -> {a}"),
        )
    }
    let client = client();
    let family = Slow::new(&client);
    let n = 400;
    let ones = client.array(&vec![1f32; n * n], [n as i64, n as i64]).unwrap();
    let y = family.call(&ones).unwrap();
    family.call(array(client, DType::F32, &[2, 2])).unwrap();
    assert_eq!(family.stats().entries, 1);
    drop((family, ones));
    assert!(values::<f32>(&y).iter().all(|x| *x == n as f32));
}

// --- failures

#[test]
fn a_text_that_the_compiler_refuses_is_an_error_and_the_next_call_tries_again() {
    static BROKEN: AtomicBool = AtomicBool::new(true);

    #[dispatch_family]
    fn flaky(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        let op = if BROKEN.swap(false, SeqCst) { "no_such_operation" } else { "negate" };
        program(&[&a], &a, &format!("%y = stablehlo.{op} %0 : {a}"))
    }
    let family = Flaky::new(&client());
    let error = family.call(1.5).unwrap_err();
    assert_eq!(error.code(), "pjrt");
    assert!(error.to_string().starts_with("PJRT_Client_Compile failed"), "{error}");
    assert!(error.to_string().contains("no_such_operation"), "{error}");
    assert_eq!(values::<f32>(&family.call(1.5).unwrap()), [-1.5]);
    assert_eq!((family.stats().compiles, family.stats().misses), (1, 2));
}

#[test]
fn claims_are_checked_against_the_executable() {
    #[dispatch_family]
    fn claimed(#[dynamic(dtype = f32, shape = [n])] a: Aval, #[static_arg] how: i64) -> Result<Program> {
        let lines = format!("%y = stablehlo.negate %0 : {a}");
        match how {
            0 => program(&[&a, &a], &a, &lines),
            1 => {
                let other = Aval::new(DType::F32, [n + 1]);
                program(&[&other], &other, &lines.replace(&a.to_string(), &other.to_string()))
            }
            2 => Program::stablehlo(format!(
                "func.func @main(%0: {a}) -> ({a}, {a}) {{ return %0, %0 : {a}, {a} }}"
            )),
            3 => Ok(program(&[&a], &a, &lines)?.with_outputs([Aval::new(DType::F64, [n])])),
            _ => Ok(program(&[&a], &a, &lines)?.with_outputs([a])),
        }
    }
    let family = Claimed::new(&client());
    let text = |how| family.call([1f32, 2.0], how).unwrap_err().to_string();
    assert_eq!(text(0), "the program of family `claimed` must take 1 argument, it takes 2");
    assert_eq!(
        text(1),
        "the program of family `claimed` must take `a` as tensor<2xf32>, it takes tensor<3xf32>"
    );
    assert_eq!(text(2), "the program of family `claimed` must give 1 result, as its type says, it gives 2");
    assert_eq!(
        text(3),
        concat!(
            "the program of family `claimed` must give [tensor<2xf64>], as the body says, ",
            "it gives [tensor<2xf32>]"
        )
    );
    family.call([1f32, 2.0], 4).unwrap();
    assert_eq!(family.stats().entries, 1);
}

#[test]
fn bad_arguments_are_named_before_the_plugin_is_called() {
    let (client, other) = (client(), client_with_devices(1));
    let family = ScaledSum::new(&client);
    let a = client.array(&[1f32, 2.0], [2]).unwrap();
    family.call(&a, &a, 1).unwrap();
    let code = |b: Array| {
        let error = family.call(&a, b, 1).unwrap_err();
        assert_eq!(error.argument(), Some("b"));
        error.code()
    };
    assert_eq!(code(array(client, DType::F64, &[2])), "dtype");
    assert_eq!(code(array(client, DType::F32, &[3])), "shape");
    assert_eq!(code(array(client, DType::F32, &[2, 1])), "shape");
    assert_eq!(code(array(other, DType::F32, &[2])), "client");
    let error = family.call(&a, array(other, DType::F32, &[2]), 1).unwrap_err().to_string();
    assert!(error.contains(", got one of another client cpu of "), "{error}");
}

// --- devices

static DEFAULT: AtomicU32 = AtomicU32::new(0);

fn chosen(client: &Client) -> Device {
    client.devices().nth(DEFAULT.load(SeqCst) as usize).unwrap()
}

#[dispatch_family(default_device = chosen)]
fn doubled(cx: &CompileCx, #[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
    assert_eq!(cx.client().devices().len(), 2);
    program(&[&a], &a, &format!("%y = stablehlo.add %0, %0 : {a}"))
}

#[dispatch_family(device = fixed)]
fn fixed_sum(
    #[dynamic(dtype = f32, shape = [])] a: Aval,
    #[dynamic(dtype = f32, shape = [])] b: Aval,
) -> Result<Program> {
    program(&[&a, &b], &a, &format!("%y = stablehlo.add %0, %1 : {a}"))
}

#[test]
fn a_program_for_the_second_device_runs_there() {
    let client = client_with_devices(2);
    let [d0, d1] = [0, 1].map(|i| client.devices().nth(i).unwrap());
    let family = Doubled::new(&client);
    for _ in 0..2 {
        for device in [d1, d0] {
            let y = family.call(client.array_on(&[21f32], [], device).unwrap()).unwrap();
            assert_eq!((y.device(), values::<f32>(&y)), (device, vec![42.0]));
            // The plugin agrees: the result is an argument of the same program again.
            assert_eq!(values::<f32>(&family.call(&y).unwrap()), [84.0]);
        }
    }
    assert_eq!(family.stats().compiles, 2);

    // Changing the default device misses only for calls without arrays.
    let array = client.array_on(&[1f32], [], d0).unwrap();
    let fresh = Doubled::new(&client);
    assert_eq!(fresh.call(1.0).unwrap().device(), d0);
    DEFAULT.store(1, SeqCst);
    fresh.call(&array).unwrap();
    assert_eq!(fresh.stats().compiles, 1);
    let y = fresh.call(1.0).unwrap();
    assert_eq!((y.device(), values::<f32>(&y), fresh.stats().compiles), (d1, vec![2.0], 2));
}

#[test]
fn a_fixed_family_copies_its_inputs() {
    let client = client_with_devices(2);
    let [d0, d1] = [0, 1].map(|i| client.devices().nth(i).unwrap());
    let family = FixedSum::builder(&client).device(d1).build().unwrap();
    for (a, b) in [(d0, d1), (d1, d0), (d0, d0), (d1, d1)] {
        let [a, b] = [(a, 1f32), (b, 2f32)].map(|(d, x)| client.array_on(&[x], [], d).unwrap());
        let y = family.call(&a, &b).unwrap();
        assert_eq!((y.device(), values::<f32>(&y), values::<f32>(&a)), (d1, vec![3.0], vec![1.0]));
    }
    assert_eq!(family.stats().compiles, 1);
    let elsewhere = array_on(d0, DType::F32, &[]);
    let error = ScaledSum::new(&client).call(&elsewhere, array_on(d1, DType::F32, &[]), 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `b`: expected an array on cpu:0, as the first array, got one on cpu:1"
    );
}

// --- donation

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The warnings about a family since the last time.
fn warnings(family: &str) -> Vec<String> {
    set_warning_handler(|text| WARNINGS.lock().unwrap().push(text.to_owned()));
    let mut all = WARNINGS.lock().unwrap();
    let (own, others) = all.drain(..).partition(|text| text.contains(&format!("`{family}`")));
    *all = others;
    own
}

#[test]
fn a_donated_argument_gives_its_memory_to_the_result() {
    #[dispatch_family]
    fn update(
        #[dynamic(dtype = f32, shape = [n], donate)] state: Aval,
        #[dynamic(like(state))] change: Aval,
    ) -> Result<Program> {
        let _ = n;
        program(&[&state, &change], &state, &format!("%y = stablehlo.add %0, %1 : {state}"))
    }
    let client = client();
    let family = Update::new(&client);
    warnings("update");
    let n = 1 << 16;
    let change = client.array(&vec![1f32; n], [n as i64]).unwrap();
    let mut state = client.array(&vec![0f32; n], [n as i64]).unwrap();
    for i in 1..=20 {
        let (before, clone) = (state.clone(), state.clone());
        state = family.call(&state, &change).unwrap();
        for gone in [&before, &clone] {
            let error = family.call(gone, &change).unwrap_err();
            assert_eq!(
                error.to_string(),
                "argument `state`: the array was donated to an earlier call and is gone"
            );
            assert_eq!(gone.to_vec::<f32>().unwrap_err().code(), "donated");
        }
        assert!(values::<f32>(&state).iter().all(|x| *x == i as f32));
    }
    // XLA said that it uses the donation, or there would be a warning.
    assert_eq!(warnings("update"), [""; 0]);
    assert_eq!(family.stats().compiles, 1);
    let error = family.call(&change, &change).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `state`: the array is donated, so it cannot be passed as `change` too"
    );
    assert!(values::<f32>(&change).iter().all(|x| *x == 1.0));
}

#[test]
fn lists_and_structs_are_donated_on_the_plugin_too() {
    #[derive(InputTree)]
    struct Moments<T> {
        #[dynamic(dtype = f32, shape = [4], donate)]
        mean: T,
        #[dynamic(dtype = f32, shape = [4])]
        scale: T,
    }
    #[dispatch_family]
    fn scaled(
        #[dynamic(dtype = f32, shape = [4], donate)] xs: Vec<Aval>,
        #[dynamic] m: Moments<Aval>,
    ) -> Result<Program<(Array, Array, Array)>> {
        let (x, scale) = (&xs[0], &m.scale);
        Program::stablehlo(format!(
            "func.func @main(%0: {x}, %1: {x}, %2: {x}, %3: {scale}) -> ({x}, {x}, {x}) {{
               %a = stablehlo.multiply %0, %3 : {x}
               %b = stablehlo.multiply %1, %3 : {x}
               %c = stablehlo.multiply %2, %3 : {x}
               return %a, %b, %c : {x}, {x}, {x}
             }}"
        ))
    }
    let client = client();
    let family = Scaled::new(&client);
    warnings("scaled");
    let fill = |x: f32| client.array(&[x; 4], [4]).unwrap();
    for _ in 0..2 {
        let (xs, m) = ([fill(1.0), fill(2.0)], Moments { mean: fill(3.0), scale: fill(10.0) });
        let (a, b, c) = family.call(&xs, &m).unwrap();
        assert_eq!([a, b, c].map(|y| values::<f32>(&y)[3]), [10.0, 20.0, 30.0]);
        assert!(xs.iter().all(Array::is_donated) && m.mean.is_donated() && !m.scale.is_donated());
        let error = family.call([fill(1.0), xs[1].clone()], &m).unwrap_err();
        assert_eq!(error.argument(), Some("xs[[2]]"));
        let error = family.call([fill(1.0), fill(2.0)], &m).unwrap_err();
        assert_eq!(error.argument(), Some("m$mean"));
    }
    assert_eq!(warnings("scaled"), [""; 0]);
}

#[test]
fn a_donation_that_xla_cannot_use_is_reported_once() {
    #[dispatch_family]
    fn unusable(#[dynamic(dtype = f32, shape = [n], donate)] a: Aval) -> Result<Program> {
        let _ = n;
        let y = Aval::new(DType::I32, []);
        program(&[&a], &y, &format!("%y = stablehlo.constant dense<7> : {y}"))
    }
    let client = client();
    let family = Unusable::new(&client);
    warnings("unusable");
    for _ in 0..3 {
        let a = array(client, DType::F32, &[4]);
        assert_eq!(values::<i32>(&family.call(&a).unwrap()), [7]);
        assert!(a.is_donated());
    }
    let warnings = warnings("unusable");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("the donated argument `a` (tensor<4xf32>)"), "{warnings:?}");
}

// --- threads and long use

#[test]
fn threads_share_a_small_cache() {
    let client = client();
    let family = ScaledSum::builder(&client).capacity(2).build().unwrap();
    std::thread::scope(|s| {
        for t in 0..4 {
            let family = &family;
            s.spawn(move || {
                for i in 0..15 {
                    let k = (t + i / 5) % 3;
                    let y = family.call([1f32, 2.0], [0.5, 0.5], k).unwrap();
                    assert_eq!(values::<f32>(&y), [k as f32 + 0.5, 2.0 * k as f32 + 0.5]);
                }
            });
        }
    });
    let stats = family.stats();
    assert_eq!(stats.hits + stats.misses, 60);
    assert!(stats.entries <= 2 && stats.compiles >= 3, "{stats}");
}
