//! Random numbers of the builder, on a real plugin: against Threefry written down here, and by what they are likely to be.

use std::collections::HashSet;

use dispatch_runtime::graph::{Graph, Key, Value, fori};
use dispatch_runtime::prelude::*;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

/// What is drawn with the key of a seed. The seed is an argument, so that the device computes and not the compiler.
fn run<const N: usize>(seed: i64, values: impl FnOnce(Key) -> [Value; N]) -> Vec<Array> {
    let graph = Graph::new();
    let key = Key::seed(graph.input("seed", &Aval::new(DType::I64, [])));
    let program = graph.program(values(key)).unwrap();
    let client = Client::cpu().unwrap();
    client.compile(&program).unwrap().execute(&[&client.array(&[seed], []).unwrap()]).unwrap()
}

fn get<T: Element>(array: &Array) -> Vec<T> {
    array.to_vec().unwrap()
}

/// Threefry-2x32 with 20 rounds: Salmon et al., Parallel random numbers: as easy as 1, 2, 3.
fn threefry(key: u64, counter: u64) -> u64 {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let k = [key as u32, (key >> 32) as u32];
    let k = [k[0], k[1], k[0] ^ k[1] ^ 0x1BD1_1BDA];
    let mut x = (counter as u32).wrapping_add(k[0]);
    let mut y = ((counter >> 32) as u32).wrapping_add(k[1]);
    for i in 0..5 {
        for r in ROTATIONS[i % 2] {
            x = x.wrapping_add(y);
            y = y.rotate_left(r) ^ x;
        }
        x = x.wrapping_add(k[(i + 1) % 3]);
        y = y.wrapping_add(k[(i + 2) % 3]).wrapping_add(i as u32 + 1);
    }
    u64::from(y) << 32 | u64::from(x)
}

fn splitmix(seed: u64) -> [u64; 2] {
    [1, 2].map(|i| {
        let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15u64.wrapping_mul(i));
        let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    })
}

/// What a key draws as `u64`, and as `u32`.
fn words(key: [u64; 2], n: u64) -> Vec<u64> {
    (0..n).map(|i| threefry(key[0], key[1].wrapping_add(i))).collect()
}

fn halves(key: [u64; 2], n: u64) -> Vec<u32> {
    words(key, n.div_ceil(2)).iter().flat_map(|x| [*x as u32, (x >> 32) as u32]).take(n as usize).collect()
}

#[test]
fn bits_are_those_of_threefry() {
    // The known answer of the authors' library, for a key and a counter of zeros.
    assert_eq!(threefry(0, 0), 0x99BA_4EFE_6B20_0159);
    let state = splitmix(42);
    let results = run(42, |key| {
        [
            key.bits(DType::U64, [2, 3]),
            key.bits(DType::I64, [7]),
            key.bits(DType::U32, [3, 3]),
            key.bits(DType::I32, []),
            key.bits(DType::U16, [5]),
            key.bits(DType::I16, [1]),
            key.bits(DType::U8, [5]),
            key.bits(DType::I8, [2, 3]),
            key.bits(DType::U8, [2, 0]),
            key.data().clone(),
        ]
    });
    assert_eq!(get::<u64>(&results[0]), words(state, 6));
    assert_eq!(get::<i64>(&results[1]), words(state, 7).iter().map(|x| *x as i64).collect::<Vec<_>>());
    assert_eq!(get::<u32>(&results[2]), halves(state, 9));
    assert_eq!(get::<i32>(&results[3]), [halves(state, 1)[0] as i32]);
    assert_eq!(get::<u16>(&results[4]), halves(state, 5).iter().map(|x| *x as u16).collect::<Vec<_>>());
    assert_eq!(get::<i16>(&results[5]), [halves(state, 1)[0] as i16]);
    assert_eq!(get::<u8>(&results[6]), halves(state, 5).iter().map(|x| *x as u8).collect::<Vec<_>>());
    assert_eq!(get::<i8>(&results[7]), halves(state, 6).iter().map(|x| *x as i8).collect::<Vec<_>>());
    assert_eq!(results[8].shape(), [2, 0]);
    assert_eq!(get::<u64>(&results[9]), state);
}

#[test]
fn keys_come_from_seeds_splits_and_counts() {
    let graph = Graph::new();
    let seed = graph.input("seed", &Aval::new(DType::I32, []));
    let count = graph.input("count", &Aval::new(DType::U8, []));
    let data = graph.input("data", &Aval::new(DType::U64, [2]));
    let key = Key::seed(3);
    let [a, b, c]: [Key; 3] = key.split_n(3).try_into().unwrap();
    let (first, second) = key.split();
    let in_loop = fori(0, 3, Value::zeros(DType::U64, [2]), |i, sum| sum + key.fold_in(i).data());
    let (carried, _) = fori(0, 2, (key.clone(), Value::scalar(0i32)), |_, (key, n)| (key.split().1, n + 1));
    let program = graph.program((
        [Key::seed(&seed).data().clone(), key.fold_in(&count).data().clone(), Key::seed(-5).data().clone()],
        [a, b, c, first, second].map(|key| key.data().clone()),
        in_loop,
        carried.data().clone(),
        Key::from_data(&data).bits(DType::U64, [1]),
    ));
    let client = Client::cpu().unwrap();
    let executable = client.compile(program.unwrap()).unwrap();
    let args = [client.array(&[-5i32], []), client.array(&[200u8], []), client.array(&[1u64, u64::MAX], [2])];
    let args = args.map(Result::unwrap);
    let results = executable.execute(&args.iter().collect::<Vec<_>>()).unwrap();
    let got: Vec<Vec<u64>> = results.iter().map(get::<u64>).collect();

    let state = splitmix(3);
    let split = words([state[0] ^ 0x0073_706C_6974, state[1]], 6);
    let fold = |i: u64| words([state[0] ^ 0x666F_6C64, state[1].wrapping_add(2 * i)], 2);
    assert_eq!(got[0], splitmix(-5i64 as u64));
    assert_eq!(got[1], fold(200));
    assert_eq!(got[2], got[0]);
    assert_eq!(got[3..6].concat(), split);
    assert_eq!(got[6..8].concat(), split[..4]);
    let sum = |i: usize| (0..3).fold(0u64, |sum, k| sum.wrapping_add(fold(k)[i]));
    assert_eq!(got[8], [sum(0), sum(1)]);
    let next = |key: [u64; 2]| -> [u64; 2] {
        words([key[0] ^ 0x0073_706C_6974, key[1]], 4)[2..].try_into().unwrap()
    };
    assert_eq!(got[9], next(next(state)));
    assert_eq!(got[10], [threefry(1, u64::MAX)]);
}

#[test]
fn streams_have_nothing_in_common() {
    let streams = run(0, |key| {
        let mut keys = vec![key.clone(), Key::seed(1), Key::seed(u64::MAX)];
        keys.extend(key.split_n(8));
        keys.extend((0..8).map(|i| key.fold_in(i)));
        keys.extend(keys[3].split_n(3));
        keys.extend(keys[11].split_n(3));
        let drawn: Vec<Value> = keys.iter().map(|key| key.bits(DType::U64, [1000])).collect();
        <[Value; 25]>::try_from(drawn).unwrap()
    });
    let streams: Vec<Vec<u64>> = streams.iter().map(get::<u64>).collect();
    let distinct: HashSet<u64> = streams.iter().flatten().copied().collect();
    assert_eq!(distinct.len(), 25_000);
    // Of two independent streams half of the bits are equal: 32 000 with a standard deviation of 126.
    for (i, a) in streams.iter().enumerate() {
        for b in &streams[..i] {
            let equal: u32 = a.iter().zip(b).map(|(a, b)| (a ^ b).count_zeros()).sum();
            assert!((f64::from(equal) - 32e3).abs() < 5.0 * 126.5, "{equal}");
        }
    }
}

/// Whether counts fit what is expected of them: chi-square within five standard deviations.
fn fits(counts: &[usize], expected: &[f64]) {
    let chi: f64 = counts.iter().zip(expected).map(|(n, e)| (*n as f64 - e).powi(2) / e).sum();
    let freedom = counts.len() as f64 - 1.0;
    assert!((chi - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{chi} for {freedom}: {counts:?}");
}

fn histogram(items: impl IntoIterator<Item = usize>, n: usize) -> Vec<usize> {
    let mut counts = vec![0; n];
    items.into_iter().for_each(|i| counts[i] += 1);
    counts
}

#[test]
fn integers_are_uniform() {
    let state = splitmix(5);
    let low = Value::constant(&[-3i16, 0, 100, i16::MIN], [4]);
    let high = Value::constant(&[-2i16, 7, 103, i16::MAX], [4]);
    let thirds = 3i64 << 61;
    let results = run(5, |key| {
        [
            key.uniform(DType::U8, [70_000], 10, 17),
            key.uniform(DType::U8, [100_000], 0, 256),
            key.uniform(DType::I8, [100_000], -128, 128),
            key.uniform(DType::I16, [1000, 4], &low, &high),
            key.uniform(DType::I32, [9], i32::MIN, 1i64 << 31),
            key.uniform(DType::U32, [9], 5, 1_000_000_000),
            key.uniform(DType::I64, [9], i64::MIN, i64::MAX),
            key.uniform(DType::U64, [9], 1, u64::MAX),
            key.uniform(DType::I64, [30_000], -thirds, thirds),
            key.uniform(DType::I64, [3], Value::scalar(-7i64), -6),
            key.uniform(DType::U64, [], 0, 1),
            key.uniform(DType::I32, [3, 0], 0, 1),
        ]
    });
    let dice = get::<u8>(&results[0]);
    assert!(dice.iter().all(|n| (10..17).contains(n)));
    fits(&histogram(dice.iter().map(|n| usize::from(n - 10)), 7), &[1e4; 7]);
    fits(&histogram(get::<u8>(&results[1]).iter().map(|n| usize::from(*n)), 256), &[1e5 / 256.0; 256]);
    let i8s = get::<i8>(&results[2]);
    fits(&histogram(i8s.iter().map(|n| (i32::from(*n) + 128) as usize), 256), &[1e5 / 256.0; 256]);
    let i16s = get::<i16>(&results[3]);
    let column = |i: usize| i16s.iter().skip(i).step_by(4).copied();
    assert!(column(0).all(|n| n == -3));
    fits(&histogram(column(1).map(|n| n as usize), 7), &[1e3 / 7.0; 7]);
    fits(&histogram(column(2).map(|n| n as usize - 100), 3), &[1e3 / 3.0; 3]);
    fits(&histogram(column(3).map(|n| ((i32::from(n) + 32768) / 8192) as usize), 8), &[125.0; 8]);

    // With 128 bits for each result, exactly.
    let narrow = |span: u64| {
        words(state, 9).into_iter().map(move |r| ((u128::from(r) * u128::from(span)) >> 64) as u64)
    };
    let wide = |span: u64, n: u64| -> Vec<u64> {
        let words = words(state, 2 * n);
        let product = |r: &[u64]| {
            // (2^64 a + b) * span / 2^128
            let (a, b) = (u128::from(r[0]) * u128::from(span), u128::from(r[1]) * u128::from(span));
            ((a + (b >> 64)) >> 64) as u64
        };
        words.chunks(2).map(product).collect()
    };
    let i32s: Vec<i32> = narrow(1 << 32).map(|n| (n as u32).wrapping_add(1 << 31) as i32).collect();
    assert_eq!(get::<i32>(&results[4]), i32s);
    assert_eq!(get::<u32>(&results[5]), narrow(999_999_995).map(|n| n as u32 + 5).collect::<Vec<_>>());
    let i64s: Vec<i64> = wide(u64::MAX, 9).into_iter().map(|n| i64::MIN.wrapping_add(n as i64)).collect();
    assert_eq!(get::<i64>(&results[6]), i64s);
    assert_eq!(get::<u64>(&results[7]), wide(u64::MAX - 1, 9).into_iter().map(|n| n + 1).collect::<Vec<_>>());
    let i64s = get::<i64>(&results[8]);
    let expected: Vec<i64> =
        wide(3 << 62, 30_000).into_iter().map(|n| (n as i64).wrapping_sub(thirds)).collect();
    assert_eq!(i64s, expected);
    let third = |n: &i64| ((i128::from(*n) + i128::from(thirds)) >> 62) as usize;
    fits(&histogram(i64s.iter().map(third), 3), &[1e4; 3]);
    assert_eq!(get::<i64>(&results[9]), [-7; 3]);
    assert_eq!(get::<u64>(&results[10]), [0]);
    assert_eq!(results[11].shape(), [3, 0]);
}

#[test]
fn floats_are_uniform_and_never_reach_the_upper_bound() {
    let state = splitmix(6);
    let next = f64::from(f32::from_bits(1f32.to_bits() + 1));
    let high = Value::constant(&[1f32, 0.0, -1.0], [3]);
    let results = run(6, |key| {
        [
            key.uniform(DType::F32, [400, 500], 0, 1),
            key.uniform(DType::F64, [100_000], 0, 1),
            key.uniform(DType::F16, [100_000], 0, 1),
            key.uniform(DType::BF16, [100_000], 0, 1),
            key.uniform(DType::F32, [100_000], 1, next),
            key.uniform(DType::F32, [100_000], 16_777_216, 16_777_220),
            key.uniform(DType::F32, [100_000], -3e38, 3e38),
            key.uniform(DType::F64, [100_000], -1.5e308, 1.5e308),
            key.uniform(DType::F32, [100_000, 3], high.clone() - 1.0, &high),
            key.uniform(DType::F64, [100_000], -2.5, 7.25),
            key.uniform(DType::BF16, [100_000], 2, 3),
            key.uniform(DType::F16, [100_000], -60_000, 60_000),
            key.uniform(DType::F32, [], 0, 1),
            key.uniform(DType::F32, [0], 0, 1),
        ]
    });
    // Exact, and so the same on each device.
    let expected: Vec<f32> = halves(state, 200_000).iter().map(|r| (r >> 8) as f32 / 16_777_216.0).collect();
    let unit = get::<f32>(&results[0]);
    assert!(unit == expected);
    assert!(unit.iter().all(|x| (0.0..1.0).contains(x)));
    fits(&histogram(unit.iter().map(|x| (x * 256.0) as usize), 256), &[2e5 / 256.0; 256]);
    let expected: Vec<f64> =
        words(state, 100_000).iter().map(|r| (r >> 11) as f64 * 0.5f64.powi(53)).collect();
    let unit = get::<f64>(&results[1]);
    assert!(unit == expected);
    let mean = unit.iter().sum::<f64>() / 1e5;
    let variance = unit.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
    assert!((mean - 0.5).abs() < 5.0 * (1f64 / 12e5).sqrt(), "{mean}");
    assert!((variance - 1.0 / 12.0).abs() < 5.0 * (1f64 / 180e5).sqrt(), "{variance}");
    let f16s: Vec<usize> = get::<f16>(&results[2]).iter().map(|x| (x.to_f64() * 2048.0) as usize).collect();
    fits(&histogram(f16s, 2048), &[1e5 / 2048.0; 2048]);
    let bf16s: Vec<usize> = get::<bf16>(&results[3]).iter().map(|x| (x.to_f64() * 256.0) as usize).collect();
    fits(&histogram(bf16s, 256), &[1e5 / 256.0; 256]);

    assert!(get::<f32>(&results[4]).iter().all(|x| *x == 1.0));
    let steps = get::<f32>(&results[5]);
    assert!(steps.iter().all(|x| [16_777_216.0, 16_777_218.0].contains(x)));
    for range in [
        results[6].to_vec::<f32>().unwrap().iter().map(|x| f64::from(*x / 3e38)).collect::<Vec<_>>(),
        get::<f64>(&results[7]).iter().map(|x| x / 1.5e308).collect(),
        get::<f16>(&results[11]).iter().map(|x| x.to_f64() / 60_000.0).collect(),
    ] {
        assert!(range.iter().all(|x| (-1.0..1.0).contains(x)));
        fits(&histogram(range.iter().map(|x| ((x + 1.0) * 8.0) as usize), 16), &[1e5 / 16.0; 16]);
    }
    for (i, x) in get::<f32>(&results[8]).iter().enumerate() {
        let high = [1.0, 0.0, -1.0][i % 3];
        assert!((high - 1.0..high).contains(x), "{x} below {high}");
    }
    let expected = unit.iter().map(|u| -2.5 * (1.0 - u) + 7.25 * u);
    assert!(
        get::<f64>(&results[9])
            .iter()
            .zip(expected)
            .all(|(x, y)| (x - y).abs() < 1e-14 && *x < 7.25 && *x >= -2.5)
    );
    assert!(get::<bf16>(&results[10]).iter().all(|x| (2.0..3.0).contains(&x.to_f64())));
    assert!(get::<f32>(&results[12])[0] < 1.0);
    assert_eq!(results[13].shape(), [0]);
}

/// The probability that a standard normal number is less, by the continued fraction and the series of erfc.
fn normal_below(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    let erfc = if z < 2.0 {
        let mut term = z;
        let mut sum = z;
        for n in 1..80 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        1.0 - sum * 2.0 / std::f64::consts::PI.sqrt()
    } else {
        let fraction = (1..60).rev().fold(z, |f, n| z + f64::from(n) / 2.0 / f);
        (-z * z).exp() / (fraction * std::f64::consts::PI.sqrt())
    };
    if x < 0.0 { erfc / 2.0 } else { 1.0 - erfc / 2.0 }
}

/// Whether numbers are normal: moments, tails, and the correlation of neighbours.
fn is_normal(x: &[f64], deviation: f64) {
    let n = x.len() as f64;
    let moment = |k: i32| x.iter().map(|x| (x / deviation).powi(k)).sum::<f64>() / n;
    for (k, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
        let error = (moment(k) - expected) / f64::sqrt(variance / n);
        assert!(error.abs() < 5.0, "moment {k}: {}", moment(k));
    }
    let edges = [
        -4.5, -4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0,
        4.5,
    ];
    let bin = |x: &f64| edges.iter().filter(|edge| **edge < x / deviation).count();
    let below: Vec<f64> = std::iter::once(0.0).chain(edges.map(normal_below)).chain([1.0]).collect();
    let expected: Vec<f64> = below.windows(2).map(|pair| (pair[1] - pair[0]) * n).collect();
    fits(&histogram(x.iter().map(bin), 20), &expected);
    for lag in [1, 2, 3] {
        let sum: f64 = x.iter().zip(&x[lag..]).map(|(a, b)| a * b / deviation.powi(2)).sum();
        assert!(sum.abs() < 5.0 * n.sqrt(), "neighbours at {lag}: {sum}");
    }
}

#[test]
fn normal_numbers_are_normal_to_the_tails() {
    assert!((normal_below(-1.0) - 0.158_655_253_931_457_05).abs() < 1e-14);
    assert!((normal_below(-4.0) / 3.167_124_183_311_992e-5 - 1.0).abs() < 1e-10);
    let state = splitmix(7);
    let results = run(7, |key| {
        [
            key.normal(DType::F32, [200_001]),
            key.normal(DType::F64, [200, 1000]),
            key.normal(DType::C64, [100_000]),
            key.normal(DType::C128, [3]),
            key.normal(DType::F16, [1001]),
            key.normal(DType::BF16, [3]),
            key.normal(DType::F32, []),
            key.normal(DType::F64, [0, 3]),
            key.normal(DType::F64, [3]),
        ]
    });
    let f32s = get::<f32>(&results[0]);
    is_normal(&f32s.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(), 1.0);
    let f64s = get::<f64>(&results[1]);
    is_normal(&f64s, 1.0);
    let complex = get::<Complex32>(&results[2]);
    let parts: Vec<f64> = complex.iter().flat_map(|z| [f64::from(z.re), f64::from(z.im)]).collect();
    is_normal(&parts, std::f64::consts::FRAC_1_SQRT_2);
    // By the formula: the first number of a pair makes the radius, the second one the angle.
    let scale = |r: u64| (r as f64 + 0.5) / 2f64.powi(64);
    let pairs: Vec<f64> = words(state, 200_000)
        .chunks(2)
        .flat_map(|r| {
            let (radius, angle) = ((-2.0 * scale(r[0]).ln()).sqrt(), scale(r[1]) * std::f64::consts::TAU);
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    assert!(f64s.iter().zip(&pairs).all(|(x, y)| (x - y).abs() < 1e-12));
    let z = get::<Complex64>(&results[3])[0] * std::f64::consts::SQRT_2;
    assert!((z.re - pairs[0]).abs() < 1e-12 && (z.im - pairs[1]).abs() < 1e-12);
    // Rounded from f32, and a longer row begins with a shorter one.
    assert!(get::<f16>(&results[4]).iter().zip(&f32s).all(|(x, y)| *x == f16::from_f32(*y)));
    assert!(get::<bf16>(&results[5]).iter().zip(&f32s).all(|(x, y)| *x == bf16::from_f32(*y)));
    assert_eq!(get::<f32>(&results[6]), f32s[..1]);
    assert_eq!(results[7].shape(), [0, 3]);
    assert_eq!(get::<f64>(&results[8]), f64s[..3]);
}

#[test]
fn the_extremes_of_a_draw_are_finite() {
    // States whose first u32 is as small or as large as it gets among 2^18.
    let (mut least, mut most) = ((u32::MAX, 0), (0, 0));
    for counter in 0..1 << 18 {
        let r = threefry(9, counter) as u32;
        least = least.min((r, counter));
        most = most.max((r, counter));
    }
    let graph = Graph::new();
    let state = graph.input("state", &Aval::new(DType::U64, [2]));
    let key = Key::from_data(&state);
    let program = graph.program([
        key.normal(DType::F32, []),
        key.exponential(DType::F32, []),
        key.uniform(DType::F32, [], 0, 1),
    ]);
    let client = Client::cpu().unwrap();
    let executable = client.compile(program.unwrap()).unwrap();
    let draws = [least.1, most.1].map(|counter| {
        let state = client.array(&[9, counter], [2]).unwrap();
        executable.execute(&[&state]).unwrap().iter().map(|x| get::<f32>(x)[0]).collect::<Vec<_>>()
    });
    let results = draws.concat();
    let expected = |r: u32| -((f64::from(r) + 0.5) / 2f64.powi(32)).ln();
    assert!((f64::from(results[1]) - expected(least.0)).abs() < 2e-5 && results[1] > 10.0);
    assert!(results[0].is_finite() && results[3].is_finite());
    assert!(results[4] >= 0.0 && results[4].is_sign_positive() && results[4] < 5e-5);
    assert_eq!(
        (results[2], results[5]),
        ((least.0 >> 8) as f32 / 16_777_216.0, (most.0 >> 8) as f32 / 16_777_216.0)
    );
}

#[test]
fn other_distributions() {
    let p = Value::constant(&[0f64, 0.25, 1.0, -1.0, 2.0, f64::NAN], [6]);
    let results = run(8, |key| {
        [
            key.exponential(DType::F32, [100_000]),
            key.exponential(DType::F64, [100_000]),
            key.bernoulli(0.3, [100_000]),
            key.bernoulli(0, [1000]),
            key.bernoulli(1, [1000]),
            key.bernoulli(&p, [10_000, 6]),
            key.bernoulli(0.5, []),
            key.exponential(DType::BF16, [2, 0]),
        ]
    });
    for x in [get::<f32>(&results[0]).iter().map(|x| f64::from(*x)).collect(), get::<f64>(&results[1])] {
        assert!(x.iter().all(|x| *x >= 0.0));
        // Sixteen parts that are as probable.
        fits(&histogram(x.iter().map(|x| ((-x).exp() * 16.0) as usize), 16), &[1e5 / 16.0; 16]);
    }
    let yes = |array: &Array| get::<bool>(array).iter().filter(|yes| **yes).count();
    fits(&[yes(&results[2]), 100_000 - yes(&results[2])], &[3e4, 7e4]);
    assert_eq!((yes(&results[3]), yes(&results[4])), (0, 1000));
    let rows = get::<bool>(&results[5]);
    let column = |i: usize| rows.iter().skip(i).step_by(6).filter(|yes| **yes).count();
    assert_eq!([0, 2, 3, 4, 5].map(column), [0, 10_000, 0, 10_000, 0]);
    fits(&[column(1), 10_000 - column(1)], &[2500.0, 7500.0]);
}

#[test]
fn each_order_is_as_probable() {
    let results = run(9, |key| {
        let orders = fori(0, 6000, (Value::zeros(DType::I32, [27]), key.clone()), |i, (counts, key)| {
            // The order of three numbers as one number: its digits in base 3.
            let digits = key.fold_in(i).permutation(3) * Value::constant(&[9i32, 3, 1], [3]);
            let hit = Value::iota(DType::I32, [27], 0).eq(digits.sum(..));
            (counts + hit.convert(DType::I32), key)
        });
        [orders.0, key.permutation(1000), key.permutation(0), key.permutation(1)]
    });
    let counts: Vec<usize> = get::<i32>(&results[0]).iter().map(|n| *n as usize).filter(|n| *n > 0).collect();
    assert_eq!(counts.len(), 6);
    fits(&counts, &[1e3; 6]);
    let mut order = get::<i32>(&results[1]);
    assert!(order.iter().enumerate().filter(|(i, x)| *i as i32 == **x).count() < 10);
    order.sort_unstable();
    assert!(order.into_iter().eq(0..1000));
    assert_eq!((results[2].shape(), get::<i32>(&results[3])), (&[0][..], vec![0]));
}

/// Small draws in a loop, which a plugin once compiled for minutes.
#[test]
fn a_loop_draws_what_its_rounds_draw_alone() {
    let draw =
        |key: Key| key.normal(DType::F32, [3]) + key.fold_in(9).uniform(DType::F32, [3], 0.0, 1.0).sin();
    let results = run(5, |key| {
        let folded = fori(0, 4, Value::zeros(DType::F32, [3]), |i, x| x + draw(key.fold_in(i)));
        let (_, split) = fori(0, 4, (key.clone(), Value::zeros(DType::F32, [3])), |_, (key, x)| {
            let (next, key) = key.split();
            (next, x + draw(key))
        });
        let mut alone = [Value::zeros(DType::F32, [3]), Value::zeros(DType::F32, [3])];
        let mut chain = key.clone();
        for i in 0..4 {
            alone[0] = &alone[0] + draw(key.fold_in(i));
            let (next, one) = chain.split();
            alone[1] = &alone[1] + draw(one);
            chain = next;
        }
        let [folded_alone, split_alone] = alone;
        [folded, folded_alone, split, split_alone]
    });
    for pair in results.chunks(2) {
        let (together, alone) = (get::<f32>(&pair[0]), get::<f32>(&pair[1]));
        assert!(together.iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-5), "{together:?} {alone:?}");
    }
}
