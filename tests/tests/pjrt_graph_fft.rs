//! Fourier transforms of the builder, on a real plugin: against their definition, and values of numpy.

use dispatch_runtime::graph::{Graph, Value};
use dispatch_runtime::prelude::*;
use num_complex::{Complex32, Complex64};

type Array64 = (Vec<i64>, Vec<Complex64>);

/// The transform along one axis, written down from the definition; `sign` is -1 on the way there.
fn along((shape, data): &Array64, axis: usize, sign: f64) -> Array64 {
    let n = shape[axis];
    let inner: i64 = shape[axis + 1..].iter().product();
    let one = |i: usize| {
        let (outer, j, k) = (i as i64 / (n * inner), i as i64 / inner % n, i as i64 % inner);
        let term = |m: i64| {
            let angle = sign * std::f64::consts::TAU * (j * m % n) as f64 / n as f64;
            data[((outer * n + m) * inner + k) as usize] * Complex64::cis(angle)
        };
        let sum: Complex64 = (0..n).map(term).sum();
        if sign > 0.0 { sum / n as f64 } else { sum }
    };
    (shape.clone(), (0..data.len()).map(one).collect())
}

/// The first half of an axis.
fn half((shape, data): &Array64, axis: usize) -> Array64 {
    let (n, inner) = (shape[axis], shape[axis + 1..].iter().product::<i64>());
    let mut shape = shape.clone();
    shape[axis] = n / 2 + 1;
    let kept = data.iter().enumerate().filter(|(i, _)| *i as i64 / inner % n <= n / 2);
    (shape, kept.map(|(_, z)| *z).collect())
}

fn pattern(shape: &[i64]) -> Array64 {
    let n: i64 = shape.iter().product();
    let part = |i: i64, factor: i64| (i * factor % 11) as f64 / 4.0 - 1.0;
    (shape.to_vec(), (0..n).map(|i| Complex64::new(part(i, 7), part(i, 5))).collect())
}

fn close(result: &Array, expected: &Array64, tolerance: f64) {
    assert_eq!(result.shape(), expected.0);
    let got: Vec<Complex64> = match result.dtype() {
        DType::F32 => result.to_vec::<f32>().unwrap().iter().map(|x| f64::from(*x).into()).collect(),
        DType::F64 => result.to_vec::<f64>().unwrap().iter().map(|x| (*x).into()).collect(),
        DType::C64 => {
            let parts = result.to_vec::<Complex32>().unwrap();
            parts.iter().map(|z| Complex64::new(z.re.into(), z.im.into())).collect()
        }
        _ => result.to_vec().unwrap(),
    };
    for (x, y) in got.iter().zip(&expected.1) {
        assert!((x - y).norm() < tolerance, "{x} instead of {y} in {:?}", expected.0);
    }
}

#[test]
fn a_transform_is_the_sum_of_its_definition() {
    // Sizes that are powers of 2, odd, prime, and 1; axes in front, behind and in the middle, more than XLA takes at once.
    let cases: [(&[i64], &[i64]); 9] = [
        (&[8], &[0]),
        (&[1], &[0]),
        (&[3, 7], &[1]),
        (&[6, 5], &[0]),
        (&[2, 13, 4], &[1]),
        (&[4, 3, 5], &[2, 0]),
        (&[2, 3, 4, 5], &[0, 1, 2, 3]),
        (&[2, 2, 3, 2, 3], &[4, 3, 1, 0, 2]),
        (&[2, 3], &[]),
    ];
    let client = Client::cpu().unwrap();
    for (wide, tolerance) in [(DType::C128, 1e-12), (DType::C64, 2e-4)] {
        let graph = Graph::new();
        let mut args = Vec::new();
        let values: Vec<[Value; 4]> = cases
            .iter()
            .map(|(shape, axes)| {
                let data = pattern(shape);
                args.push(client.array(&data.1, *shape).unwrap());
                let z = graph.input("z", &Aval::new(DType::C128, shape)).convert(wide);
                let real = z.real();
                let (there, back) = (z.fft(axes.to_vec()), z.ifft(axes.to_vec()));
                let Some(&last) = axes.last() else { return [there, back, real.clone(), real] };
                let half = real.rfft(axes.to_vec());
                let again = half.irfft(axes.to_vec(), shape[last as usize]);
                [there, back, half, again]
            })
            .collect();
        let values: [Value; 36] = values.concat().try_into().unwrap();
        let executable = client.compile(graph.program(values).unwrap()).unwrap();
        let results = executable.execute(&args.iter().collect::<Vec<_>>()).unwrap();
        for ((shape, axes), results) in cases.iter().zip(results.chunks(4)) {
            let data = pattern(shape);
            let real = (data.0.clone(), data.1.iter().map(|z| z.re.into()).collect());
            let all = |data: &Array64, sign| {
                axes.iter().fold(data.clone(), |x, axis| along(&x, *axis as usize, sign))
            };
            close(&results[0], &all(&data, -1.0), tolerance);
            close(&results[1], &all(&data, 1.0), tolerance);
            let full = all(&real, -1.0);
            close(
                &results[2],
                &axes.last().map_or(full.clone(), |last| half(&full, *last as usize)),
                tolerance,
            );
            close(&results[3], &real, tolerance);
        }
    }
}

#[test]
fn transforms_are_those_of_numpy() {
    let r = [1.0, 2.0, -3.0, 4.0, 0.5, 0.0, -1.0, 2.5, 3.0, 1.0, 2.0, 2.0, 0.0, 1.0, -4.0];
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F64, [3, 5]));
    let empty = graph.input("empty", &Aval::new(DType::C64, [0, 4]));
    let program = graph.program((
        [x.rfft(..), x.complex(x.reverse(0)).fft(0), x.rfft([1, 0]), x.rfft(1).irfft(-1, 4)],
        [empty.fft(-1), empty.ifft(1), empty.irfft(1, 6), empty.real().rfft(1)],
    ));
    let client = Client::cpu().unwrap();
    let executable = client.compile(program.unwrap()).unwrap();
    let nothing: [Complex32; 0] = [];
    let args = (client.array(&r, [3, 5]).unwrap(), client.array(&nothing, [0, 4]).unwrap());
    let results = executable.execute(&[&args.0, &args.1]).unwrap();
    let z = |re, im| Complex64::new(re, im);
    let half = [
        z(11.0, 0.0),
        z(-2.9131189606246326, -0.2346361951373228),
        z(4.913118960624631, -11.316799276117408),
        z(1.25, -3.8971143170299736),
        z(9.23644206579904, 8.498835469383941),
        z(0.9572675177582357, -3.7211758076697015),
        z(1.25, 3.8971143170299736),
        z(-3.4327466304871423, -0.2004632994328741),
        z(-8.01096295307013, -7.579245393727246),
    ];
    close(&results[0], &(vec![3, 3], half.to_vec()), 1e-13);
    let columns = [
        z(3.0, 3.0),
        z(3.0, 3.0),
        z(-0.5, -0.5),
        z(8.0, 8.0),
        z(-2.5, -2.5),
        z(-0.8660254037844386, 3.232050807568877),
        z(-1.098076211353316, 4.098076211353316),
        z(0.5131397208144124, -1.9150635094610964),
        z(1.1339745962155614, -4.232050807568877),
        z(2.433012701892219, -9.080127018922193),
        z(0.8660254037844386, -0.2320508075688772),
        z(4.098076211353316, -1.098076211353316),
        z(-9.013139720814412, 2.4150635094610964),
        z(2.8660254037844384, -0.7679491924311228),
        z(1.5669872981077808, -0.41987298107780724),
    ];
    close(&results[1], &(vec![3, 5], columns.to_vec()), 1e-13);
    assert_eq!(results[2].shape(), [2, 5]);
    assert_eq!(results[3].shape(), [3, 4]);
    let shapes: Vec<&[i64]> = results[4..].iter().map(|array| array.shape()).collect();
    assert_eq!(shapes, [&[0, 4][..], &[0, 4], &[0, 6], &[0, 3]]);
}
