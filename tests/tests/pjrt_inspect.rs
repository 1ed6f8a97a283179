//! What a compiled program is and costs, by a real plugin.

mod plugin;

use dispatch_runtime::engine::pjrt::mark_donors;
use dispatch_runtime::graph::{Combine, Conv, Graph, Key, Padding, Value, Window, fori, if_else};
use dispatch_runtime::prelude::*;
use dispatch_runtime::program::Source;
use plugin::{add, client, compile, pjrt};

/// `%a x %b` of f32[m,k] and f32[k,n].
fn matmul(m: i64, k: i64, n: i64) -> String {
    format!(
        "func.func @main(%a: tensor<{m}x{k}xf32>, %b: tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
           %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
             : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>
           return %0 : tensor<{m}x{n}xf32>
         }}"
    )
}

/// The optimised HLO of a text.
fn hlo(text: &str) -> String {
    compile(client(), text).inspect().unwrap().optimized_hlo.unwrap()
}

#[test]
fn a_matrix_product_costs_two_operations_a_term() {
    for (m, k, n) in [(8, 16, 4), (3, 5, 7), (200, 300, 100)] {
        let inspection = compile(client(), &matmul(m, k, n)).inspect().unwrap();
        assert_eq!(inspection.flops, Some((2 * m * k * n) as f64));
        assert_eq!(inspection.bytes_accessed, Some((4 * (m * k + k * n + m * n)) as f64));
    }
}

/// A program by name, and its operations where every compiler makes the same of it.
type Priced = (&'static str, Value, Option<i64>);

/// Programs of all kinds, of arguments.
fn priced(graph: &Graph) -> Vec<Priced> {
    let input = |shape: &[i64]| graph.input("x", &Aval::new(DType::F32, shape));
    let (x, square, vector) = (input(&[37, 53]), input(&[24, 24]), input(&[1000]));
    let (image, kernel) = (input(&[2, 17, 19, 3]), input(&[3, 5, 3, 8]));
    let n = graph.input("n", &Aval::new(DType::I32, []));
    let rows = graph.input("rows", &Aval::new(DType::I32, [5]));

    // A step of gradient descent, as in the example `mlp`.
    let (w1, w2, labels) = (input(&[53, 16]), input(&[16, 3]), input(&[37, 3]));
    let hidden = x.matmul(&w1).tanh();
    let d_logits = (hidden.matmul(&w2).softmax(-1) - &labels) / 37;
    let d_hidden = d_logits.matmul(&w2.t()) * (1.0 - hidden.square());
    let step = w1 - x.t().matmul(&d_hidden) * 0.5;

    let conv = |options: Conv| image.conv(&kernel, &options);
    let layout = "NHWC,HWIO->NHWC";
    let elements = 37 * 53;
    vec![
        ("a chain", (&x * 2 + 1) * &x - &x / 3, Some(5 * elements)),
        // What takes a series is counted apart.
        ("a chain with tanh and exp", x.tanh() * x.exp() + &x, Some(2 * elements)),
        ("a choice", x.gt(0).select(&x, x.square()), Some(3 * elements)),
        ("a product", x.matmul(&x.t()), Some(2 * 37 * 53 * 37)),
        ("a layer", (x.matmul(&x.t()) + 1).relu(), Some(2 * 37 * 53 * 37 + 2 * 37 * 37)),
        ("a step of training", step, None),
        ("softmax", x.softmax(-1), None),
        ("a variance", x.var(0, 1), None),
        ("a sum", vector.sum(..), None),
        ("a greatest place", x.argmax(1), None),
        ("cumulative sums", x.cumsum(0), None),
        // 17 of 17 rows meet the middle row of the kernel, 16 the others; of 19 columns 19, 18 and 17.
        (
            "a convolution",
            conv(Conv::new(layout).padding(Padding::Same)),
            Some(2 * 2 * 3 * 8 * (16 + 17 + 16) * (17 + 18 + 19 + 18 + 17)),
        ),
        (
            "a strided convolution",
            conv(Conv::new(layout).strides([2, 3])),
            Some(2 * 2 * 3 * 8 * (8 * 3) * (5 * 5)),
        ),
        ("a dilated convolution", conv(Conv::new(layout).dilation([2, 1]).input_dilation([3, 2])), None),
        ("a pooling", image.max_pool(&Window::new([1, 2], [2, 2]).strides([2, 2])), Some(3 * 2 * 8 * 9 * 3)),
        // n log2 n, rounded up.
        ("a sort", vector.sort(0), Some(1000 * 10)),
        ("rows", x.take(&rows, 0), None),
        ("replaced rows", x.put(&rows, 2.0, 0, Combine::Mul), None),
        ("a slice", x.dynamic_slice([&n, &n], [3, 4]) + 1, None),
        ("a replaced slice", x.dynamic_update_slice(&input(&[3, 4]), [&n, &n]), None),
        // The multiplication and the index's addition and comparison, once.
        ("a loop", fori(0, &n, x.clone(), |_, x| x.tanh() * 2), Some(elements + 2)),
        ("a branch", if_else(&n.gt(0), || square.matmul(&square), || &square + 1), None),
        ("a transform", vector.rfft(-1), None),
        ("random numbers", Key::seed(n.convert(DType::U64)).normal(DType::F32, [100]), None),
    ]
}

#[test]
fn operations_and_bytes_are_counted_alike_whoever_counts() {
    let graph = Graph::new();
    for (name, value, flops) in priced(&graph) {
        let executable = client().compile(graph.program(&value).unwrap()).unwrap();
        let inspection = executable.inspect().unwrap();
        let (counted, bytes) = pjrt(&executable).counted_costs().unwrap().expect("a module");
        // The default plugin's own numbers; elsewhere these are the same ones.
        assert_eq!(inspection.flops, Some(counted), "flops of {name}: {inspection}");
        assert_eq!(inspection.bytes_accessed, Some(bytes), "bytes of {name}: {inspection}");
        if let Some(flops) = flops {
            assert_eq!(counted, flops as f64, "flops of {name}: {inspection}");
        }
    }
}

#[test]
fn a_fusion_reads_its_arguments_and_writes_its_results() {
    let graph = Graph::new();
    let [a, b] = ["a", "b"].map(|name| graph.input(name, &Aval::new(DType::F32, [100, 10])));
    let fused =
        client().compile(graph.program((&a * &b + &a).tanh() * 3).unwrap()).unwrap().inspect().unwrap();
    assert_eq!(fused.flops, Some(3.0 * 1000.0), "{fused}");
    assert_eq!(fused.bytes_accessed, Some(3.0 * 4000.0), "{fused}");
}

#[test]
fn memory_is_that_of_arguments_results_and_scratch() {
    let memory = |text: &str| compile(client(), text).inspect().unwrap().memory.unwrap();
    let product = memory(&matmul(8, 16, 4));
    assert_eq!((product.arguments, product.outputs, product.alias), (4 * (8 * 16 + 16 * 4), 4 * 8 * 4, 0));
    assert_eq!(product.peak(), product.arguments + product.outputs + product.temp);

    let donated = memory(&mark_donors(&add("tensor<1000xf32>"), &[true, false]).unwrap());
    assert_eq!((donated.arguments, donated.outputs, donated.alias), (8000, 4000, 4000));
    assert_eq!(donated.peak(), 8000 + donated.temp);

    // A sort works on a copy.
    let sorted = memory(
        "func.func @main(%a: tensor<1000xf32>) -> tensor<f32> {
           %0 = \"stablehlo.sort\"(%a) ({
             ^bb0(%x: tensor<f32>, %y: tensor<f32>):
               %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
               stablehlo.return %c : tensor<i1>
           }) : (tensor<1000xf32>) -> tensor<1000xf32>
           %1 = stablehlo.slice %0 [500:501] : (tensor<1000xf32>) -> tensor<1xf32>
           %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
           return %2 : tensor<f32> }",
    );
    assert!(sorted.temp >= 4000, "{sorted}");
}

#[test]
fn the_text_is_that_of_the_compiled_program() {
    let text = hlo(&matmul(8, 16, 4));
    assert!(text.starts_with("HloModule "), "{text}");
    let layouts = "entry_computation_layout={(f32[8,16]{1,0}, f32[16,4]{1,0})->f32[8,4]{1,0}}";
    assert!(text.lines().next().unwrap().contains(layouts), "{text}");
    assert!(text.contains("\nENTRY %main"), "{text}");
    assert!(text.contains(": f32[8,16], "), "{text}");
    assert!(text.contains("), lhs_contracting_dims={1}, rhs_contracting_dims={0}"), "{text}");
    assert_eq!(text.matches("ENTRY").count(), 1);

    let text = hlo(&mark_donors(&add("tensor<4xf32>"), &[false, true]).unwrap());
    assert!(text.contains("input_output_alias={ {}: (1, {}, may-alias) }"), "{text}");
}

#[test]
fn what_the_compiler_folded_and_fused_shows() {
    // Constants are added when the program is compiled.
    let text = hlo("func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
           %0 = stablehlo.constant dense<[0.1, 1.0e20, -0.25]> : tensor<3xf32>
           %1 = stablehlo.add %0, %0 : tensor<3xf32>
           %2 = stablehlo.multiply %a, %1 : tensor<3xf32>
           %3 = stablehlo.tanh %2 : tensor<3xf32>
           return %3 : tensor<3xf32> }");
    assert!(text.contains("constant({0.2, 2e20, -0.5})"), "{text}");
    assert!(!text.contains(" add("), "{text}");
    let fused = text.lines().find(|line| line.contains(" fusion(")).expect(&text);
    assert!(fused.contains("kind=kLoop, calls=%"), "{text}");
    let called = fused.split("calls=").nth(1).unwrap().split([',', ' ']).next().unwrap();
    assert!(text.contains(&format!("\n{called} (")), "{text}");
}

#[test]
fn every_operand_and_computation_of_a_large_program_has_its_name() {
    // A loop, a choice and a reduction.
    let text = hlo(
        "func.func @main(%a: tensor<8xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<f32>, tensor<8xcomplex<f32>>) {
           %z = stablehlo.complex %a, %a : tensor<8xcomplex<f32>>
           %zero = stablehlo.constant dense<0.0> : tensor<f32>
           %one = stablehlo.constant dense<1> : tensor<i32>
           %start = stablehlo.constant dense<0> : tensor<i32>
           %i, %x = stablehlo.while(%k = %start, %v = %a) : tensor<i32>, tensor<8xf32>
             cond { %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
                    stablehlo.return %c : tensor<i1> }
             do { %next = stablehlo.add %k, %one : tensor<i32>
                  %w = stablehlo.sine %v : tensor<8xf32>
                  stablehlo.return %next, %w : tensor<i32>, tensor<8xf32> }
           %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
             : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
           %branch = \"stablehlo.case\"(%n) ({ %p = stablehlo.fft %z, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
                stablehlo.return %p : tensor<8xcomplex<f32>> }, { stablehlo.return %z : tensor<8xcomplex<f32>> })
             : (tensor<i32>) -> tensor<8xcomplex<f32>>
           return %x, %sum, %branch : tensor<8xf32>, tensor<f32>, tensor<8xcomplex<f32>> }",
    );
    for part in [" while(", "condition=%", "body=%", " conditional(", "branch_computations={%", "to_apply=%"]
    {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!text.contains("%?"), "{text}");
    // What is called is there, before its caller.
    for (at, _) in text.match_indices("to_apply=%").chain(text.match_indices("body=%")) {
        let name = text[at..].split_once('=').unwrap().1.split([',', ' ', '\n', '}']).next().unwrap();
        let defined = text.find(&format!("\n{name} (")).unwrap_or_else(|| panic!("no {name} in {text}"));
        assert!(defined < at, "{name} in {text}");
    }
}

#[test]
fn a_report_says_what_was_compiled_for_what_and_its_costs() {
    let inspection = compile(client(), &matmul(8, 16, 4)).inspect().unwrap();
    let report = inspection.to_string();
    let head =
        format!("(f32[8,16], f32[16,4]) -> (f32[8,4])\non cpu:0, by {}\n", client().engine().description());
    assert!(report.starts_with(&head), "{report}");
    assert!(report.contains("\nflops      1024\naccessed   896 B\n"), "{report}");
    assert!(report.contains("= 768 B arguments + 128 B results + "), "{report}");
    assert!(report.ends_with(inspection.optimized_hlo.unwrap().as_str()), "{report}");
    assert_eq!(inspection.stablehlo, None);
}

#[test]
fn a_program_with_compile_options_is_inspected_like_one_without() {
    // An options message may be empty.
    let options = dispatch_runtime::CompileOptions::from_proto(Vec::new()).unwrap();
    let source = Source::StableHlo(matmul(8, 16, 4));
    let with = client().compile_with(&source, client().default_device(), &options).unwrap();
    let (with, without) = (with.inspect().unwrap(), client().compile(&source).unwrap().inspect().unwrap());
    assert_eq!((with.memory, with.flops), (without.memory, without.flops));
    assert!(with.optimized_hlo.unwrap().contains("lhs_contracting_dims={1}"));
}

#[test]
fn inspecting_leaves_nothing_and_changes_nothing() {
    let client = client();
    let executable = compile(client, &add("tensor<4xf32>"));
    let first = executable.inspect().unwrap();
    assert_eq!(pjrt(&executable).memory_stats().ok(), first.memory);
    for _ in 0..20 {
        assert_eq!(executable.inspect().unwrap(), first);
    }
    let a = client.array(&[1f32; 4], [4]).unwrap();
    assert_eq!(executable.execute(&[&a, &a]).unwrap()[0].to_vec::<f32>().unwrap(), [2.0; 4]);
}

/// `a x b`, in the memory of `a` if that has the size of the result.
#[dispatch_family]
fn product(
    #[dynamic(dtype = [f32, f64], shape = [m, k], donate)] a: Aval,
    #[dynamic(dtype = dtype(a), shape = [k, n])] b: Aval,
    #[static_arg] name: String,
) -> Result<Program> {
    let c = Aval::new(a.dtype(), [m, n]);
    let _ = k;
    Program::stablehlo(format!(
        "func.func @main(%{name}: {a}, %b: {b}) -> {c} {{
           %0 = stablehlo.dot_general %{name}, %b, contracting_dims = [1] x [0] : ({a}, {b}) -> {c}
           return %0 : {c}
         }}"
    ))
}

#[test]
fn a_family_is_inspected_for_any_shapes_with_its_stablehlo() {
    let family = Product::new(&client());
    let (a, b) = (Aval::new(DType::F32, [8, 16]), Aval::new(DType::F32, [16, 16]));
    let inspection = family.inspect(&a, &b, "left".into()).unwrap();
    assert_eq!(inspection.inputs, [a.clone(), b.clone()]);
    assert_eq!(inspection.outputs, [Aval::new(DType::F32, [8, 16])]);
    assert_eq!(inspection.flops, Some((2 * 8 * 16 * 16) as f64));
    let memory = inspection.memory.unwrap();
    assert_eq!(
        (memory.arguments, memory.outputs, memory.alias),
        (4 * (8 * 16 + 16 * 16), 4 * 8 * 16, 4 * 8 * 16)
    );

    let report = inspection.to_string();
    let stablehlo = inspection.stablehlo.unwrap();
    // The program that was compiled: with the mark of the argument that is given away.
    assert!(stablehlo.contains("@main(%left: tensor<8x16xf32> {jax.buffer_donor = true}, %b"), "{stablehlo}");
    let optimized = inspection.optimized_hlo.unwrap();
    assert!(optimized.contains("input_output_alias={ {}: (0, {}, may-alias) }"), "{optimized}");
    let (first, second) = report.split_once(&stablehlo).unwrap();
    assert!(first.ends_with("\n-- StableHLO --\n\n"), "{report}");
    assert_eq!(second, format!("\n\n-- optimized HLO --\n\n{optimized}"));

    let other =
        family.inspect(Aval::new(DType::F64, [2, 3]), Aval::new(DType::F64, [3, 5]), "x".into()).unwrap();
    assert_eq!(other.flops, Some((2 * 2 * 3 * 5) as f64));
    assert_eq!(other.memory.unwrap().arguments, 8 * (2 * 3 + 3 * 5));
    assert_eq!((family.stats().compiles, family.stats().entries), (0, 0));
}
