//! Convolutions and windows of the builder, on a real plugin: against their definitions, and values of JAX.

use dispatch_runtime::graph::{Conv, Graph, Padding, Value, Window};
use dispatch_runtime::prelude::*;

/// A program whose arrays are arguments, so that the device computes and not the compiler.
#[derive(Default)]
struct Bench {
    graph: Option<Graph>,
    args: Vec<Array>,
}

impl Bench {
    fn value(&mut self, ints: &Ints, dtype: DType) -> Value {
        self.input(&ints.data, &ints.shape).convert(dtype)
    }

    fn input<T: Element>(&mut self, data: &[T], shape: &[i64]) -> Value {
        self.args.push(Client::cpu().unwrap().array(data, shape).unwrap());
        self.graph.get_or_insert_with(Graph::new).input("x", &Aval::new(T::DTYPE, shape))
    }

    fn run<const N: usize>(self, values: [Value; N]) -> Vec<Array> {
        let program = self.graph.unwrap().program(values).unwrap();
        let executable = Client::cpu().unwrap().compile(&program).unwrap();
        let results = executable.execute(&self.args.iter().collect::<Vec<_>>()).unwrap();
        dispatch_tests::loaded::same_when_loaded(&program, &executable, &self.args, &results);
        results
    }
}

/// A small array of integers.
#[derive(Clone, Debug, PartialEq)]
struct Ints {
    shape: Vec<i64>,
    data: Vec<i64>,
}

impl Ints {
    /// Numbers that are `factor` apart, in a range of `modulus`.
    fn pattern(shape: &[i64], factor: i64, modulus: i64, least: i64) -> Ints {
        let n: i64 = shape.iter().product();
        Ints { shape: shape.to_vec(), data: (0..n).map(|i| i * factor % modulus + least).collect() }
    }

    /// The element there; none outside.
    fn get(&self, index: &[i64]) -> Option<i64> {
        let mut at = 0;
        for (&i, &n) in index.iter().zip(&self.shape) {
            if !(0..n).contains(&i) {
                return None;
            }
            at = at * n + i;
        }
        Some(self.data[at as usize])
    }
}

/// All indices of a shape, in order.
fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    shape.iter().fold(vec![vec![]], |all, &n| {
        all.iter().flat_map(|index| (0..n).map(|i| [&index[..], &[i]].concat()).collect::<Vec<_>>()).collect()
    })
}

struct Case {
    layout: &'static str,
    array: &'static [i64],
    kernel: &'static [i64],
    strides: &'static [i64],
    dilation: &'static [i64],
    input_dilation: &'static [i64],
    padding: &'static [(i64, i64)],
    groups: i64,
    batch_groups: i64,
    flip: bool,
}

const CASE: Case = Case {
    layout: "NCW,OIW->NCW",
    array: &[2, 4, 6],
    kernel: &[6, 4, 3],
    strides: &[1],
    dilation: &[1],
    input_dilation: &[1],
    padding: &[(0, 0)],
    groups: 1,
    batch_groups: 1,
    flip: false,
};

const CASES: [Case; 19] = [
    CASE,
    Case { strides: &[2], padding: &[(1, 2)], flip: true, ..CASE },
    Case { dilation: &[2], padding: &[(3, 0)], ..CASE },
    Case { input_dilation: &[3], padding: &[(2, 1)], strides: &[2], flip: true, ..CASE },
    Case { padding: &[(-1, 2)], ..CASE },
    Case { padding: &[(-2, -1)], input_dilation: &[2], strides: &[3], dilation: &[2], ..CASE },
    Case { kernel: &[6, 4, 1], padding: &[(-1, -1)], ..CASE },
    Case { kernel: &[6, 2, 3], groups: 2, ..CASE },
    Case { kernel: &[8, 1, 3], groups: 4, padding: &[(1, 1)], ..CASE },
    Case { batch_groups: 2, strides: &[2], ..CASE },
    Case { layout: "WNC,WIO->CWN", array: &[5, 3, 2], kernel: &[2, 2, 4], ..CASE },
    Case {
        layout: "HNCW,OWIH->NWHC",
        array: &[4, 1, 2, 5],
        kernel: &[3, 2, 2, 3],
        strides: &[1, 2],
        dilation: &[1, 3],
        input_dilation: &[2, 1],
        padding: &[(0, 1), (2, 2)],
        flip: true,
        ..CASE
    },
    Case {
        layout: "NCDHW,OIDHW->NCDHW",
        array: &[1, 2, 3, 3, 3],
        kernel: &[2, 2, 2, 1, 2],
        strides: &[1, 1, 1],
        dilation: &[1, 1, 1],
        input_dilation: &[1, 1, 1],
        padding: &[(0, 0), (1, 0), (0, 1)],
        ..CASE
    },
    Case {
        layout: "NCabcd,OIabcd->NCabcd",
        array: &[1, 1, 2, 2, 3, 2],
        kernel: &[1, 1, 2, 1, 2, 2],
        strides: &[1; 4],
        dilation: &[1; 4],
        input_dilation: &[1; 4],
        padding: &[(0, 0); 4],
        flip: true,
        ..CASE
    },
    Case {
        layout: "NC,OI->NC",
        array: &[3, 4],
        kernel: &[2, 4],
        strides: &[],
        dilation: &[],
        input_dilation: &[],
        padding: &[],
        ..CASE
    },
    Case { array: &[0, 4, 6], ..CASE },
    Case { array: &[2, 0, 6], kernel: &[6, 0, 3], ..CASE },
    Case { array: &[2, 4, 0], padding: &[(2, 2)], ..CASE },
    Case { array: &[2, 4, 2], ..CASE },
];

impl Case {
    fn options(&self) -> Conv {
        let conv = Conv::new(self.layout).strides(self.strides).padding(self.padding).dilation(self.dilation);
        let conv =
            conv.input_dilation(self.input_dilation).groups(self.groups).batch_groups(self.batch_groups);
        if self.flip { conv.flip() } else { conv }
    }

    fn operands(&self) -> (Ints, Ints) {
        (Ints::pattern(self.array, 7, 5, -2), Ints::pattern(self.kernel, 3, 4, -1))
    }

    /// The sum of products, written down from the definition.
    fn expected(&self, shape: &[i64]) -> Ints {
        let (array, kernel) = self.operands();
        let (parts, to) = self.layout.split_once("->").unwrap();
        let (from, by) = parts.split_once(',').unwrap();
        let place = |text: &str, letter: char| text.find(letter).unwrap();
        let axes: Vec<char> = from.chars().filter(|c| !"NC".contains(*c)).collect();
        let taken = kernel.shape[place(by, 'I')];
        let (given, examples) = (kernel.shape[place(by, 'O')], array.shape[place(from, 'N')]);
        let window: Vec<i64> = axes.iter().map(|&axis| kernel.shape[place(by, axis)]).collect();
        let one = |index: Vec<i64>| {
            let (n, o) = (index[place(to, 'N')], index[place(to, 'C')]);
            let mut sum = 0;
            for i in 0..taken {
                for k in indices(&window) {
                    let mut x = vec![0; array.shape.len()];
                    let mut w = vec![0; kernel.shape.len()];
                    x[place(from, 'C')] = o / (given / self.groups) * taken + i;
                    x[place(from, 'N')] =
                        o / (given / self.batch_groups) * (examples / self.batch_groups) + n;
                    (w[place(by, 'O')], w[place(by, 'I')]) = (o, i);
                    let mut between = false;
                    for (a, &axis) in axes.iter().enumerate() {
                        let at = index[place(to, axis)] * self.strides[a] + k[a] * self.dilation[a]
                            - self.padding[a].0;
                        between |= at.rem_euclid(self.input_dilation[a]) != 0;
                        x[place(from, axis)] = at.div_euclid(self.input_dilation[a]);
                        w[place(by, axis)] = if self.flip { window[a] - 1 - k[a] } else { k[a] };
                    }
                    if !between {
                        sum += array.get(&x).unwrap_or(0) * kernel.get(&w).unwrap();
                    }
                }
            }
            sum
        };
        Ints { shape: shape.to_vec(), data: indices(shape).into_iter().map(one).collect() }
    }
}

#[test]
fn a_convolution_is_the_sum_of_products_at_each_place() {
    let mut bench = Bench::default();
    let values = CASES.each_ref().map(|case| {
        let (array, kernel) = case.operands();
        bench.value(&array, DType::F32).conv(&bench.value(&kernel, DType::F32), &case.options())
    });
    for ((case, value), result) in CASES.iter().zip(&values).zip(bench.run(values.clone())) {
        let expected = case.expected(value.shape());
        let got: Vec<i64> = result.to_vec::<f32>().unwrap().iter().map(|x| *x as i64).collect();
        assert_eq!((result.shape(), got), (&expected.shape[..], expected.data), "{:?}", case.options());
    }
}

#[test]
fn every_dtype_is_convolved() {
    let case =
        Case { strides: &[2], padding: &[(1, 2)], dilation: &[2], kernel: &[4, 2, 3], groups: 2, ..CASE };
    let dtypes: [DType; 14] = DType::ALL[1..].try_into().unwrap();
    let (array, kernel) = case.operands();
    let mut bench = Bench::default();
    let values = dtypes.map(|dtype| {
        let y = bench.value(&array, dtype).conv(&bench.value(&kernel, dtype), &case.options());
        assert_eq!(y.dtype(), dtype);
        match dtype {
            DType::C64 | DType::C128 => y.real().convert(DType::I64),
            _ => y.convert(DType::I64),
        }
    });
    let results = bench.run(values);
    let expected = case.expected(&[2, 4, 3]);
    for (dtype, result) in dtypes.iter().zip(results) {
        let wrapped = expected.data.iter().map(|&x| match dtype {
            DType::U8 => i64::from(x as u8),
            DType::U16 => i64::from(x as u16),
            DType::U32 => i64::from(x as u32),
            _ => x,
        });
        assert_eq!(result.to_vec::<i64>().unwrap(), wrapped.collect::<Vec<_>>(), "{dtype}");
    }
    let i = Value::scalar(0f64).complex(1.0);
    let mut bench = Bench::default();
    let z = bench.value(&array, DType::C128) * (1.0 + &i);
    let kernel = bench.value(&kernel, DType::C128) * i;
    let results = bench.run([z.conv(&kernel, &case.options()).imag().convert(DType::I64)]);
    assert_eq!(results[0].to_vec::<i64>().unwrap(), expected.data);
}

#[test]
fn padding_is_chosen_as_jax_does() {
    let mut bench = Bench::default();
    let mut conv = |array: &[i64], kernel: &[i64], options: &Conv| {
        let array = bench.value(&Ints::pattern(array, 7, 5, -2), DType::I32);
        array.conv(&bench.value(&Ints::pattern(kernel, 3, 4, -1), DType::I32), options)
    };
    let images = Conv::new("NHWC,HWIO->NHWC").strides([2, 1]).padding(Padding::Same);
    let wide = Conv::new("NCW,OIW->NCW").padding([(2, 1)]).input_dilation([2]).dilation([2]).groups(2);
    let lower = Conv::new("NCW,OIW->NCW").strides([2]).padding(Padding::SameLower).batch_groups(2);
    let convolved = [
        conv(&[1, 5, 4, 2], &[3, 2, 2, 2], &images),
        conv(&[2, 4, 5], &[4, 2, 3], &wide),
        conv(&[2, 4, 5], &[4, 4, 3], &lower),
    ];
    let row = bench.input(&[1f32, f32::NAN, 3.0, -4.0, 0.5, 2.0, 7.0], &[7]);
    let [a, b, c] = convolved;
    let results = bench.run([
        a,
        b,
        c,
        row.max_pool(&Window::new([0], [3]).strides([2]).padding(Padding::Same)),
        row.sum_pool(&Window::new([-1], [2]).strides([2]).dilation([3]).padding([(1, 2)])),
    ]);
    assert_eq!(results[0].shape(), [1, 3, 4, 2]);
    assert_eq!(
        results[0].to_vec::<i32>().unwrap(),
        [3, -6, -7, 6, -7, 8, -1, 2, 7, -6, 7, -8, -3, 0, -4, 2, -7, 8, 3, 0, 8, -8, 4, -6]
    );
    let rows = [[-2, 0, 8, 0, -1, 0, 0, 0], [-2, 0, -8, 0, 3, 0, 4, 0]].concat().repeat(4);
    assert_eq!(results[1].to_vec::<i32>().unwrap(), rows);
    assert_eq!(results[2].to_vec::<i32>().unwrap(), [-4, 2, 0].repeat(4));
    let maxima = results[3].to_vec::<f32>().unwrap();
    assert!(maxima[..2].iter().all(|x| x.is_nan()) && maxima[2..] == [2.0, 7.0]);
    let sums = results[4].to_vec::<f32>().unwrap();
    assert!(sums[1].is_nan());
    assert_eq!([sums[0], sums[2], sums[3]], [3.0, 3.0, 2.0]);
}

/// The elements of each window that lie in the array.
fn windows(array: &Ints, shape: &[i64], [sizes, strides, dilation, low]: [&[i64]; 4]) -> Vec<Vec<i64>> {
    let window = |index: Vec<i64>| {
        let at = |k: Vec<i64>| {
            let at = (0..shape.len()).map(|a| index[a] * strides[a] + k[a] * dilation[a] - low[a]);
            array.get(&at.collect::<Vec<_>>())
        };
        indices(sizes).into_iter().filter_map(at).collect()
    };
    indices(shape).into_iter().map(window).collect()
}

#[test]
fn a_pooling_reduces_what_lies_in_each_window() {
    let array = Ints::pattern(&[3, 5, 6], 7, 11, -5);
    let cases = [
        Window::new([1], [2]),
        Window::new([-1, 1], [2, 3]).strides([2, 1]).dilation([3, 1]).padding([(2, 1), (1, 2)]),
        Window::new([0, 1, 2], [1, 1, 2]).padding([(0, 0), (-1, -2), (-1, 0)]),
        Window::new([2], [4]).strides([3]).dilation([2]).padding([(4, 5)]),
        Window::new([2], [1]).padding([(2, 2)]),
        Window::new([1], [7]),
    ];
    let numbers: [[&[i64]; 4]; 6] = [
        [&[1, 2, 1], &[1, 1, 1], &[1, 1, 1], &[0, 0, 0]],
        [&[1, 3, 2], &[1, 1, 2], &[1, 1, 3], &[0, 1, 2]],
        [&[1, 1, 2], &[1, 1, 1], &[1, 1, 1], &[0, -1, -1]],
        [&[1, 1, 4], &[1, 1, 3], &[1, 1, 2], &[0, 0, 4]],
        [&[1, 1, 1], &[1, 1, 1], &[1, 1, 1], &[0, 0, 2]],
        [&[1, 7, 1], &[1, 1, 1], &[1, 1, 1], &[0, 0, 0]],
    ];
    let mut bench = Bench::default();
    let x = bench.value(&array, DType::I64);
    let (shorts, floats) = (x.convert(DType::I16), x.convert(DType::F64));
    let sums = cases.each_ref().map(|window| x.sum_pool(window));
    let maxima = cases.each_ref().map(|window| shorts.max_pool(window));
    let minima = cases.each_ref().map(|window| floats.min_pool(window));
    let means = cases.each_ref().map(|window| floats.avg_pool(window));
    let shapes = sums.each_ref().map(|value| value.shape().to_vec());
    let all: [Value; 24] = [sums, maxima, minima, means].concat().try_into().unwrap();
    let results = bench.run(all);
    let [sums, maxima, minima, means]: [&[Array]; 4] =
        results.chunks(6).collect::<Vec<_>>().try_into().unwrap();
    for (i, shape) in shapes.iter().enumerate() {
        let all = windows(&array, shape, numbers[i]);
        assert!(shape.contains(&0) || !all.is_empty());
        let sum = |window: &Vec<i64>| window.iter().sum::<i64>();
        assert_eq!(sums[i].to_vec::<i64>().unwrap(), all.iter().map(sum).collect::<Vec<_>>(), "sums of {i}");
        let max: Vec<i16> = all.iter().map(|w| w.iter().max().map_or(i16::MIN, |x| *x as i16)).collect();
        assert_eq!(maxima[i].to_vec::<i16>().unwrap(), max, "maxima of {i}");
        let min: Vec<f64> = all.iter().map(|w| w.iter().min().map_or(f64::INFINITY, |x| *x as f64)).collect();
        assert_eq!(minima[i].to_vec::<f64>().unwrap(), min, "minima of {i}");
        let mean = all.iter().map(|w| sum(w) as f64 / w.len() as f64);
        let got = means[i].to_vec::<f64>().unwrap();
        assert_eq!(got.len(), all.len());
        assert!(
            got.iter().zip(mean).all(|(x, y)| (x - y).abs() < 1e-15 || x.is_nan() && y.is_nan()),
            "{got:?}"
        );
    }
}

#[test]
fn every_dtype_is_pooled() {
    let array = Ints::pattern(&[2, 5], 7, 11, 0);
    let window = Window::new([1], [2]).strides([2]).padding(Padding::Same);
    let ordered: [DType; 13] = DType::ALL[..13].try_into().unwrap();
    let numbers: [DType; 14] = DType::ALL[1..].try_into().unwrap();
    let inexact: [DType; 6] = DType::ALL[9..].try_into().unwrap();
    let real = |x: Value| if x.dtype().is_complex() { x.real() } else { x }.convert(DType::F64);
    let mut bench = Bench::default();
    let values = ordered.map(|dtype| real(bench.value(&array, dtype).max_pool(&window)));
    let maxima = bench.run(values);
    let mut bench = Bench::default();
    let values = ordered.map(|dtype| real(bench.value(&array, dtype).min_pool(&window)));
    let minima = bench.run(values);
    let mut bench = Bench::default();
    let values = numbers.map(|dtype| real(bench.value(&array, dtype).sum_pool(&window)));
    let sums = bench.run(values);
    let mut bench = Bench::default();
    let values = inexact.map(|dtype| real(bench.value(&array, dtype).avg_pool(&window)));
    let means = bench.run(values);
    // 0 7 3 10 6, 2 9 5 1 8
    for (i, (max, min)) in maxima.iter().zip(&minima).enumerate() {
        let (high, low) = if i == 0 {
            ([1.0; 6], [0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
        } else {
            ([7.0, 10.0, 6.0, 9.0, 5.0, 8.0], [0.0, 3.0, 6.0, 2.0, 1.0, 8.0])
        };
        assert_eq!(max.to_vec::<f64>().unwrap(), high);
        assert_eq!(min.to_vec::<f64>().unwrap(), low);
    }
    for sum in sums {
        assert_eq!(sum.to_vec::<f64>().unwrap(), [7.0, 13.0, 6.0, 11.0, 6.0, 8.0]);
    }
    for mean in means {
        assert_eq!(mean.to_vec::<f64>().unwrap(), [3.5, 6.5, 6.0, 5.5, 3.0, 8.0]);
    }

    let mut bench = Bench::default();
    let scalar = bench.input(&[3f32], &[]);
    let none = Window::new([], []);
    let empty = bench.input::<f32>(&[], &[0, 3]);
    let wide = Window::new([0], [2]).padding([(1, 2)]);
    let ones = bench.value(&Ints::pattern(&[1000], 0, 1, 1), DType::BF16);
    let (ints, bools) = (bench.input(&[1i32, 2, 3, 4], &[4]), bench.input(&[true, false, true], &[3]));
    let results = bench.run([
        scalar.max_pool(&none),
        scalar.avg_pool(&none),
        empty.max_pool(&wide),
        empty.avg_pool(&wide),
        empty.sum_pool(&Window::new([1], [2])),
        // 256 + 1 is 256 in bf16.
        ones.sum_pool(&Window::new([0], [1000])).convert(DType::F32),
        ints.reduce_window(1, &Window::new([0], [3]), |a, b| a * b),
        bools.reduce_window(false, &Window::new([0], [2]), |a, b| a ^ b),
    ]);
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [3.0]);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [3.0]);
    assert_eq!(results[2].to_vec::<f32>().unwrap(), [f32::NEG_INFINITY; 6]);
    assert!(results[3].to_vec::<f32>().unwrap().iter().all(|x| x.is_nan()));
    assert_eq!((results[3].shape(), results[4].shape()), (&[2, 3][..], &[0, 2][..]));
    assert_eq!(results[5].to_vec::<f32>().unwrap(), [1000.0]);
    assert_eq!(results[6].to_vec::<i32>().unwrap(), [6, 24]);
    assert_eq!(results[7].to_vec::<bool>().unwrap(), [true, true]);
}
