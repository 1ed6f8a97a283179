use super::*;
use crate::graph::Graph;
use crate::program::Source;
use crate::{Aval, DType};

#[test]
fn a_convolution_is_printed_with_all_its_numbers() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2, 8, 9, 4]));
    let k = graph.input("k", &Aval::new(DType::F32, [3, 2, 6, 2]));
    let conv = Conv::new("NHWC, WHOI -> CNWH").strides([2, 1]).padding([(1, 0), (0, 2)]).groups(2).flip();
    let conv = conv.dilation([1, 3]).input_dilation([2, 1]);
    let program = graph.program(x.conv(&k, &conv)).unwrap();
    let Source::StableHlo(text) = program.source() else { unreachable!() };
    assert_eq!(
        text.lines().nth(2).unwrap().trim(),
        "%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[1, 0, o, i]->[f, b, 1, 0], \
         window = {stride = [2, 1], pad = [[1, 0], [0, 2]], lhs_dilate = [2, 1], rhs_dilate = [1, 3], \
         reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : \
         (tensor<2x8x9x4xf32>, tensor<3x2x6x2xf32>) -> tensor<6x2x5x8xf32>"
    );
}

#[test]
fn a_wrong_convolution_says_why() {
    let graph = Graph::new();
    let x = graph.input("x", &Aval::new(DType::F32, [2, 4, 6]));
    let input = |dtype, shape: [i64; 3]| graph.input("k", &Aval::new(dtype, shape));
    let k = input(DType::F32, [6, 4, 3]);
    let plain = || Conv::new("NCW,OIW->NCW");
    let reason = |value: Value| {
        let error = value.check().unwrap_err().to_string();
        let (operation, reason) = error.split_once("`: ").unwrap();
        assert!(operation.starts_with("`conv(x: f32[2,4,6], k: "), "{operation}");
        let (reason, line) = reason.rsplit_once(", at ").unwrap();
        assert!(line.starts_with("dispatch-runtime/src/graph/ops/conv/tests.rs:"), "{line}");
        reason.to_owned()
    };
    for (options, wanted) in [
        (Conv::new("NCW,OIW"), "the layout `NCW,OIW` is not of the form `NCHW,OIHW->NCHW`"),
        (Conv::new("NCW->NCW"), "the layout `NCW->NCW` is not of the form `NCHW,OIHW->NCHW`"),
        (Conv::new("NW,OIW->NCW"), "the layout `NW,OIW->NCW` has no `C` in `NW`"),
        (Conv::new("NCW,OIW->CW"), "the layout `NCW,OIW->CW` has no `N` in `CW`"),
        (Conv::new("NCW,OI->NCW"), "the layout `NCW,OI->NCW` has no `W` in `OI`"),
        (Conv::new("NCWW,OIW->NCW"), "the layout `NCWW,OIW->NCW` has several `W` in `NCWW`"),
        (
            Conv::new("NCW,OIWH->NCW"),
            "the layout `NCW,OIWH->NCW` has `H` in `OIWH`, which the array does not have",
        ),
        (
            Conv::new("NC1,OI1->NC1"),
            "the layout `NC1,OI1->NC1` has `1` in `NC1`, which is no axis to move along",
        ),
        (
            Conv::new("NCO,OIO->NCO"),
            "the layout `NCO,OIO->NCO` has `O` in `NCO`, which is no axis to move along",
        ),
        (Conv::new("NC,OI->NC"), "the layout of the array is `NC`, but it has 3 dimensions"),
        (plain().strides([1, 1]), "strides [1,1] for 1 axis to move along"),
        (plain().dilation([]), "dilation [] for 1 axis to move along"),
        (plain().padding([(0, 0), (0, 0)]), "2 paddings for 1 axis"),
        (plain().strides([0]), "the stride of axis W is 0; it has to be at least 1"),
        (plain().dilation([-1]), "the dilation of axis W is -1; it has to be at least 1"),
        (plain().input_dilation([0]), "the input dilation of axis W is 0; it has to be at least 1"),
        (plain().padding([(-4, -3)]), "the padding of axis W takes away more than there is"),
        (plain().padding([(i64::MAX, 1)]), "the padding of axis W is too large"),
        (plain().input_dilation([i64::MAX]), "the padding of axis W is too large"),
        (plain().padding([(1 << 61, 0)]), "no array of f32 has the shape [2,6,2305843009213693956]"),
        (
            plain().padding(Padding::Same).input_dilation([2]),
            "with an input dilation, `Same` says too little: write the padding",
        ),
        (plain().groups(0), "there are 0 groups; there has to be at least 1"),
        (plain().groups(2), "the array has 4 channels, the kernel takes 4 for each of 2 groups"),
        (plain().batch_groups(4), "the 6 channels that the kernel gives are not divided by 4 groups"),
        (plain().batch_groups(3), "the 2 examples are not divided by 3 groups"),
        (plain().groups(2).batch_groups(2), "channels and examples cannot both be divided into groups"),
    ] {
        assert_eq!(reason(x.conv(&k, &options)), wanted);
    }
    let mixed = "f32 and f64 are different dtypes; write `.convert(DType::F32)` or `.convert(DType::F64)`";
    assert_eq!(reason(x.conv(&input(DType::F64, [6, 4, 3]), &plain())), mixed);
    let channels = reason(x.conv(&input(DType::F32, [6, 3, 3]), &plain()));
    assert_eq!(channels, "the array has 4 channels, the kernel takes 3");
    let groups = reason(x.conv(&input(DType::F32, [5, 2, 3]), &plain().groups(2)));
    assert_eq!(groups, "the 5 channels that the kernel gives are not divided by 2 groups");
    let empty = reason(x.conv(&input(DType::F32, [6, 4, 0]), &plain()));
    assert_eq!(empty, "the window of axis W is 0; it has to be at least 1");
}
