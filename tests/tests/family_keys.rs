//! Which calls share a program.

use dispatch_runtime::prelude::*;
use dispatch_tests::{array, first, zeros};

#[dispatch_family]
fn anything(#[dynamic(dtype = any, shape = [..])] a: Aval) -> Result<Program> {
    first(&[a])
}

/// Asserts that each of these shapes has a program of its own.
fn all_different(shapes: &[&[i64]]) {
    let client = Client::host();
    for colliding in [false, true] {
        let builder = Anything::builder(&client);
        let family = if colliding { builder.colliding_hashes() } else { builder }.build().unwrap();
        for _ in 0..2 {
            for shape in shapes {
                let y = family.call(array(client, DType::F32, shape)).unwrap();
                assert_eq!(y.shape(), *shape);
            }
        }
        assert_eq!(
            (family.stats().compiles, family.stats().hits),
            (shapes.len() as u64, shapes.len() as u64)
        );
    }
}

#[test]
fn shapes_that_differ_by_a_leading_one_are_different_keys() {
    all_different(&[&[128, 128], &[1, 128, 128], &[1, 1, 128, 128], &[128, 128, 1]]);
}

#[test]
fn a_scalar_and_arrays_of_one_element_are_different_keys() {
    all_different(&[&[], &[1], &[1, 1], &[1, 1, 1]]);
}

#[test]
fn empty_arrays_of_different_shapes_are_different_keys() {
    all_different(&[&[0], &[0, 3], &[3, 0], &[0, 0], &[2, 0, 3], &[0, 0, 0]]);
}

#[test]
fn shapes_of_the_same_numbers_in_another_order_are_different_keys() {
    all_different(&[&[2, 3], &[3, 2], &[6], &[2, 3, 1], &[1, 2, 3], &[23], &[2, 2, 3], &[2, 33]]);
}

#[test]
fn every_dtype_is_a_key_of_its_own() {
    let client = Client::host();
    let family = Anything::builder(&client).colliding_hashes().build().unwrap();
    for _ in 0..2 {
        for &dtype in DType::ALL {
            assert_eq!(family.call(array(client, dtype, &[2])).unwrap().dtype(), dtype);
        }
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (15, 15));
}

#[test]
fn what_is_fixed_needs_no_key_and_what_is_tied_enters_once() {
    #[dispatch_family]
    fn tied(
        #[dynamic(dtype = [f32, f64], shape = [m, 2])] a: Aval,
        #[dynamic(like(a))] b: Aval,
        #[dynamic(dtype = dtype(a), shape = [m])] c: Aval,
    ) -> Result<Program> {
        let _ = m;
        first(&[a, b, c])
    }
    let client = Client::host();
    let family = Tied::new(&client);
    let call = |dtype, m| {
        let x = array(client, dtype, &[m, 2]);
        family.call(&x, &x, array(client, dtype, &[m])).unwrap();
    };
    call(DType::F32, 1);
    call(DType::F32, 2);
    call(DType::F64, 1);
    let y = array(client, DType::F64, &[3, 2]);
    let Explanation::Miss { differences } = family.explain(&y, &y, array(client, DType::F64, &[3])).unwrap()
    else {
        panic!("nothing of this size is compiled")
    };
    let parts: Vec<&str> = differences.iter().map(|difference| difference.part.as_str()).collect();
    assert_eq!(parts, ["size 1 of `a` (m)"]);
}

#[test]
fn three_results_come_in_their_order() {
    #[dispatch_family]
    fn split(#[dynamic(dtype = f32, shape = [3])] a: Aval) -> Result<Program<(Array, Array, Array)>> {
        let one = Aval::new(DType::F32, []);
        Program::host([a], vec![one; 3], |args| {
            args[0].as_slice::<f32>().unwrap().iter().map(|x| HostArray::new([*x], [])).collect()
        })
    }
    let (a, b, c) = Split::new(&Client::host()).call([1f32, 2.0, 3.0]).unwrap();
    assert_eq!([a, b, c].map(|y| y.to_vec::<f32>().unwrap()[0]), [1.0, 2.0, 3.0]);
}

#[test]
fn two_families_of_one_declaration_share_nothing() {
    let client = Client::host();
    let (a, b) = (Anything::new(&client), Anything::new(&client));
    a.call(1.0).unwrap();
    assert_eq!((a.stats().entries, b.stats().entries), (1, 0));
    b.call(1.0).unwrap();
    assert_eq!(b.stats().compiles, 1);
}

#[test]
fn the_address_of_an_array_is_in_no_key() {
    let client = Client::host();
    let family = Anything::new(&client);
    let arrays: Vec<Array> = (0..5).map(|_| array(client, DType::F32, &[2])).collect();
    for x in arrays.iter().chain(&arrays) {
        family.call(x).unwrap();
    }
    assert_eq!((family.stats().compiles, family.stats().hits), (1, 9));
}

#[test]
fn keys_of_many_parts_are_exact() {
    #[dispatch_family(eviction = Unbounded)]
    fn wide(
        #[dynamic(dtype = any, shape = [.., n])] xs: Vec<Aval>,
        #[static_arg] names: Vec<String>,
        #[static_arg] flags: [bool; 3],
    ) -> Result<Program> {
        let _ = (n, names, flags);
        zeros(&xs, &[Aval::new(DType::F32, [])])
    }
    let client = Client::host();
    for colliding in [false, true] {
        let builder = Wide::builder(&client);
        let family = if colliding { builder.colliding_hashes() } else { builder }.build().unwrap();
        let mut keys = 0;
        for shapes in [
            vec![],
            vec![[1, 2]],
            vec![[2, 1]],
            vec![[1, 2], [1, 2]],
            vec![[1, 2], [2, 2]],
            vec![[2, 2], [1, 2]],
        ] {
            for names in [vec![], vec![""], vec!["", ""], vec!["a", "bc"], vec!["ab", "c"], vec!["abc"]] {
                for flags in 0..8 {
                    let xs: Vec<Array> = shapes.iter().map(|shape| array(client, DType::I8, shape)).collect();
                    if xs.is_empty() {
                        continue;
                    }
                    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
                    let flags = [flags & 1 > 0, flags & 2 > 0, flags & 4 > 0];
                    for _ in 0..2 {
                        family.call(&xs, names.clone(), flags).unwrap();
                    }
                    keys += 1;
                }
            }
        }
        assert_eq!((family.stats().compiles, family.stats().hits), (keys, keys));
    }
}
