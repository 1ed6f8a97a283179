//! What the operations mean that move elements and change none.

use crate::interpret::Result;
use crate::tensor::Tensor;

/// What moves elements: the place that each element of the result comes from.
pub fn moved(name: &str, ints: &[i64], args: &[&Tensor]) -> Result {
    let x = args[0];
    let rank = x.shape.len();
    let axis = |i: i64| if i < 0 { (i + rank as i64) as usize } else { i as usize };
    let with = |i: &[i64], axis: usize, place: i64| {
        let mut i = i.to_vec();
        i[axis] = place;
        i
    };
    match name {
        "reshape" | "expand_dims" | "squeeze" | "flatten" => {
            let mut shape = x.shape.clone();
            match name {
                "reshape" => shape = ints.to_vec(),
                "flatten" => shape = vec![x.data.len() as i64],
                "expand_dims" => shape.insert(ints[0] as usize, 1),
                _ => shape.retain(|n| *n != 1),
            }
            Ok(Tensor { shape, ..x.clone() })
        }
        "transpose" => {
            let shape: Vec<i64> = ints.iter().map(|&i| x.shape[axis(i)]).collect();
            Tensor::make(x.dtype, &shape, |i| {
                let mut from = vec![0; rank];
                ints.iter().zip(i).for_each(|(&to, &i)| from[axis(to)] = i);
                x.get(&from)
            })
        }
        "broadcast_to" => Tensor::make(x.dtype, ints, |i| x.broadcast(i)),
        "reverse" => Tensor::make(x.dtype, &x.shape, |i| {
            let mut i = i.to_vec();
            ints.iter().for_each(|&a| i[axis(a)] = x.shape[axis(a)] - 1 - i[axis(a)]);
            x.get(&i)
        }),
        "tile" => {
            let shape: Vec<i64> = x.shape.iter().zip(ints).map(|(n, reps)| n * reps).collect();
            let back = |i: &[i64]| i.iter().zip(&x.shape).map(|(i, n)| i % n).collect::<Vec<_>>();
            Tensor::make(x.dtype, &shape, |i| x.get(&back(i)))
        }
        "slice_axis" => {
            let shape = with(&x.shape, axis(ints[0]), ints[2] - ints[1]);
            Tensor::make(x.dtype, &shape, |i| x.get(&with(i, axis(ints[0]), i[axis(ints[0])] + ints[1])))
        }
        "roll" => {
            let a = axis(ints[1]);
            Tensor::make(x.dtype, &x.shape, |i| x.get(&with(i, a, (i[a] - ints[0]).rem_euclid(x.shape[a]))))
        }
        "pad" => {
            let (low, high, gap) = (ints[0], ints[1], ints[2]);
            let spread = if x.shape[0] == 0 { 0 } else { (x.shape[0] - 1) * (gap + 1) + 1 };
            Tensor::make(x.dtype, &[spread + low + high], |i| {
                let place = i[0] - low;
                let inside = (0..spread).contains(&place) && place % (gap + 1) == 0;
                if inside { x.get(&[place / (gap + 1)]) } else { args[1].data[0] }
            })
        }
        "concatenate" => {
            let a = axis(ints[0]);
            let size = args.iter().map(|arg| arg.shape[a]).sum();
            Tensor::make(x.dtype, &with(&x.shape, a, size), |i| {
                let mut place = i[a];
                let part = args.iter().find(|arg| {
                    let inside = place < arg.shape[a];
                    place -= if inside { 0 } else { arg.shape[a] };
                    inside
                });
                part.expect("the sizes add up").get(&with(i, a, place))
            })
        }
        "take" => {
            let (a, indices) = (axis(ints[0]), args[1]);
            let mut shape = x.shape[..a].to_vec();
            shape.extend(&indices.shape);
            shape.extend(&x.shape[a + 1..]);
            Tensor::make(x.dtype, &shape, |i| {
                let (front, rest) = i.split_at(a);
                let (place, back) = rest.split_at(indices.shape.len());
                let place = indices.get(place).int().clamp(0, i128::from(x.shape[a]) - 1) as i64;
                x.get(&[front, &[place], back].concat())
            })
        }
        other => unreachable!("{other} moves nothing"),
    }
}
