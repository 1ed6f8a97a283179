//! Views of host data: what they refuse, and what they give to whom.

use dispatch_runtime::host::Converted;
use dispatch_runtime::prelude::*;

const DATA: [i32; 6] = [1, 2, 3, 4, 5, 6];

fn strided<'a>(shape: &'a [i64], strides: &'a [i64], offset: usize) -> Result<HostView<'a>> {
    HostView::strided(&DATA, shape, strides, offset)
}

#[test]
fn nobody_gets_elements_of_a_view_that_is_not_dense_as_if_it_were() {
    for (shape, strides, offset) in [
        (&[2, 3][..], &[1, 2][..], 0),
        (&[2, 2], &[2, 1], 1),
        (&[3], &[0], 0),
        (&[3], &[-1], 2),
        (&[], &[], 3),
    ] {
        let view = strided(shape, strides, offset).unwrap();
        assert!(!view.is_dense() && view.bytes().is_none() && view.as_slice::<i32>().is_none(), "{view:?}");
        assert_eq!((view.strides(), view.offset()), (strides.to_vec(), offset));
        assert_eq!((view.aval().strides(), view.aval().offset()), (Some(strides), offset));
        let dense = HostArray::from_view(view);
        assert!(dense.view().is_dense() && dense.aval().is_dense());
    }
    // Written with strides, but dense.
    for (shape, strides) in
        [(&[2, 3][..], &[3, 1][..]), (&[1, 6], &[-40, 1]), (&[6, 1], &[1, 1]), (&[0, 2], &[5, 5])]
    {
        let view = strided(shape, strides, 0).unwrap();
        assert!(view.is_dense() && view.aval().strides().is_none());
        assert_eq!(view.as_slice::<i32>().unwrap().len(), view.len());
    }
    // A column-major vector is a vector.
    assert!(HostView::column_major(&DATA, &[1, 6, 1]).unwrap().is_dense());
    assert!(HostView::column_major::<i32>(&[], &[3, 0, 2]).unwrap().is_dense());
    assert_eq!(HostView::column_major(&DATA, &[3, 1, 2]).unwrap().strides(), [1, 2, 3]);
}

#[test]
fn a_view_stays_inside_of_its_data() {
    let told = |shape: &[i64], strides: &[i64], offset| match strided(shape, strides, offset) {
        Err(error) => error.to_string(),
        Ok(view) => panic!("{view:?}"),
    };
    let inside = "argument `strides`: expected strides and an offset inside of 6 elements, got";
    let cases: [(&[i64], &[i64], usize, &str); 8] = [
        (&[2, 3], &[1, 3], 0, "strides [1,3] from offset 0, which reach element 7"),
        (&[3], &[-1], 1, "strides [-1] from offset 1, which reach element -1"),
        (&[], &[], 6, "strides [] from offset 6, which reach element 6"),
        (
            &[1],
            &[1],
            usize::MAX,
            "strides [1] from offset 18446744073709551615, which reach element 18446744073709551615",
        ),
        (
            &[2],
            &[i64::MIN],
            0,
            "strides [-9223372036854775808] from offset 0, which reach element -9223372036854775808",
        ),
        (
            &[2],
            &[i64::MAX],
            0,
            "strides [9223372036854775807] from offset 0, which reach element 9223372036854775807",
        ),
        (&[1 << 40], &[0], 6, "strides [0] from offset 6, which reach element 6"),
        (&[0, 3], &[1, 1], 7, "offset 7"),
    ];
    for (shape, strides, offset, expected) in cases {
        let told = told(shape, strides, offset);
        // What reaches further than any data is refused in other words.
        let free = told.replace("inside of some data", "inside of 6 elements");
        assert_eq!(free, format!("{inside} {expected}"));
    }
    let told_count = told(&[2, 3], &[1], 0);
    assert_eq!(told_count, "argument `strides`: expected one stride for each dimension of [2,3], got [1]");
    assert!(
        told(&[-1], &[1], 0).starts_with("argument `shape`: expected shape that an array can have, got [-1]")
    );
    assert!(told(&[1 << 32, 1 << 32], &[0, 0], 0).starts_with("argument `shape`: "));
    assert!(HostView::column_major(&DATA, &[2, 2]).is_err());
}

#[test]
fn more_elements_than_there_is_memory_for_are_an_error() {
    // One element stands for 2^59 of them.
    let view = strided(&[1 << 59], &[0], 5).unwrap();
    assert_eq!(HostArray::try_from_view(view).unwrap_err().code(), "shape");
    assert!(Client::host().upload(view, Client::host().default_device()).is_err());
    let told = Converted::new(view, DType::F64, &|| "x".into()).unwrap_err();
    assert_eq!(told.argument(), Some("x"));
}

#[test]
fn strided_data_is_converted_in_its_own_order() {
    let columns = HostView::column_major(&DATA, &[2, 3]).unwrap();
    let converted = Converted::new(columns, DType::F32, &String::new).unwrap();
    assert_eq!(converted.view().as_slice::<f32>(), Some(&[1.0, 3.0, 5.0, 2.0, 4.0, 6.0][..]));
    // Of the same dtype it is the view itself.
    let same = Converted::new(columns, DType::I32, &String::new).unwrap();
    assert_eq!((same.view().strides(), same.view().as_ptr()), (vec![1, 2], columns.as_ptr()));
    let one = Converted::new(strided(&[], &[], 4).unwrap(), DType::F64, &String::new).unwrap();
    assert_eq!(one.view().as_slice::<f64>(), Some(&[5.0][..]));
    let wrong = [0.5f64, 1.0, 2.0, 3.5];
    let wrong = HostView::strided(&wrong, &[2, 2], &[-1, -2], 3).unwrap();
    let told = Converted::new(wrong, DType::I32, &|| "x".into()).unwrap_err();
    assert!(told.to_string().ends_with("got 3.5 at index [0, 0]"), "{told}");
}

#[test]
fn programs_take_what_is_dense_whatever_layout_their_types_came_with() {
    let columns = HostView::column_major(&DATA, &[2, 3]).unwrap();
    let client = Client::host();
    let program = Program::<Array>::host([columns.aval()], [columns.aval()], |args| {
        assert_eq!(args[0].as_slice::<i32>(), Some(&[1, 3, 5, 2, 4, 6][..]));
        Ok(vec![HostArray::from_view(args[0])])
    });
    let executable = client.compile(program.unwrap()).unwrap();
    assert_eq!(executable.inputs(), [Aval::new(DType::I32, [2, 3])]);
    let x = client.upload(columns, client.default_device()).unwrap();
    assert_eq!(executable.execute(&[&x]).unwrap()[0].to_vec::<i32>().unwrap(), [1, 3, 5, 2, 4, 6]);

    let graph = dispatch_runtime::graph::Graph::new();
    let x = graph.input("x", &columns.aval());
    assert!(x.aval().is_dense());
    let text = graph.program(&x + 1).unwrap().source().to_string();
    assert!(text.contains("tensor<2x3xi32>") && !text.contains("strided"), "{text}");
}
