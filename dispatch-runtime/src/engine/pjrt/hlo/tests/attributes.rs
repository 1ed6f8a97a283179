//! What stands behind an instruction's operands.

use super::super::proto::*;
use super::super::{attributes, text::Printer};
use super::{F32, array, computation, instruction, module};

/// The attributes of an operation that calls `%f` and `%g`, ids 1 and 2.
fn attributes_of(opcode: &str, change: impl FnOnce(&mut Instruction)) -> String {
    let module = module(vec![computation(1, "f", vec![]), computation(2, "g", vec![])]);
    let mut instruction = instruction(1, "x", opcode, &[]);
    change(&mut instruction);
    attributes::of(&instruction, &Printer::new(&module)).join(", ")
}

#[test]
fn attributes_are_those_that_xla_prints() {
    assert_eq!(attributes_of("add", |_| ()), "");
    assert_eq!(attributes_of("broadcast", |_| ()), "dimensions={}");
    assert_eq!(attributes_of("iota", |i| i.dimensions = vec![1]), "iota_dimension=1");
    assert_eq!(attributes_of("get-tuple-element", |i| i.tuple_index = 3), "index=3");
    assert_eq!(attributes_of("get-dimension-size", |i| i.dimensions = vec![1]), "dimensions={1}");
    assert_eq!(
        attributes_of("dynamic-slice", |i| i.dynamic_slice_sizes = vec![2, 3]),
        "dynamic_slice_sizes={2,3}"
    );
    let ranges = |strides: [i64; 2]| {
        attributes_of("slice", |i| {
            i.slice = strides.map(|stride| SliceDimension { start: 1, limit: 7, stride }).to_vec();
        })
    };
    assert_eq!(
        (ranges([1, 1]), ranges([2, 1])),
        ("slice={[1:7], [1:7]}".into(), "slice={[1:7:2], [1:7:1]}".into())
    );
    let pads = |interior: i64| {
        attributes_of("pad", |i| {
            let first = PaddingDimension { low: 1, high: 2, interior };
            i.padding =
                Some(Padding { dimensions: vec![first, PaddingDimension { low: -1, ..Default::default() }] });
        })
    };
    assert_eq!((pads(1), pads(0)), ("padding=1_2_1x-1_0_0".into(), "padding=1_2x-1_0".into()));
    let compare = |kind: &str| {
        attributes_of("compare", |i| {
            (i.comparison_direction, i.comparison_type) = ("LT".into(), kind.into());
        })
    };
    assert_eq!(compare("FLOAT"), "direction=LT");
    assert_eq!(compare("TOTALORDER"), "direction=LT, type=TOTALORDER");
    assert_eq!(
        attributes_of("fft", |i| (i.fft_type, i.fft_length) = (3, vec![6])),
        "fft_type=IRFFT, fft_length={6}"
    );
    assert_eq!(attributes_of("fft", |i| i.fft_type = -1), "fft_type=?, fft_length={}");
    assert_eq!(
        attributes_of("reduce-precision", |i| (i.exponent_bits, i.mantissa_bits) = (5, 10)),
        "exponent_bits=5, mantissa_bits=10"
    );
    assert_eq!(attributes_of("rng-bit-generator", |_| ()), "algorithm=rng_default");
    assert_eq!(attributes_of("rng", |i| i.distribution = 1), "distribution=rng_uniform");
    assert_eq!(attributes_of("topk", |i| (i.k, i.largest) = (3, true)), "k=3, largest=true");
    assert_eq!(
        attributes_of("triangular-solve", |i| {
            i.triangular_solve =
                Some(TriangularSolve { left_side: true, transpose_a: 1, ..Default::default() });
        }),
        "left_side=true, transpose_a=NO_TRANSPOSE"
    );
    assert_eq!(attributes_of("cholesky", |i| i.cholesky = Some(Cholesky { lower: true })), "lower=true");
    assert_eq!(
        attributes_of("batch-norm-training", |i| (i.epsilon, i.feature_index) = (0.001, 3)),
        "epsilon=0.001, feature_index=3"
    );
}

#[test]
fn the_numbers_of_dimensions_are_those_that_xla_prints() {
    assert_eq!(
        attributes_of("dot", |i| {
            i.dot = Some(DotDimensions {
                lhs_contracting: vec![2],
                rhs_contracting: vec![1],
                lhs_batch: vec![0],
                rhs_batch: vec![0],
            });
            i.precision = Some(Precision { operands: vec![2, 2] });
        }),
        "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}, \
         operand_precision={highest,highest}"
    );
    assert_eq!(
        attributes_of("dot", |i| {
            i.dot = Some(DotDimensions::default());
            i.precision = Some(Precision { operands: vec![0, 0] });
        }),
        "lhs_contracting_dims={}, rhs_contracting_dims={}"
    );
    let dimension = |size, stride, padding_low, padding_high, window_dilation| WindowDimension {
        size,
        stride,
        padding_low,
        padding_high,
        window_dilation,
        base_dilation: 1,
        ..Default::default()
    };
    let numbers = ConvolutionDimensions {
        input_batch: 0,
        input_feature: 3,
        input_spatial: vec![1, 2],
        kernel_input_feature: 2,
        kernel_output_feature: 3,
        kernel_spatial: vec![0, 1],
        output_batch: 0,
        output_feature: 3,
        output_spatial: vec![1, 2],
    };
    assert_eq!(
        attributes_of("convolution", |i| {
            let dimensions = vec![dimension(3, 2, 1, 2, 1), dimension(3, 1, 0, 0, 2)];
            i.window = Some(Window { dimensions });
            i.convolution = Some(numbers.clone());
            (i.feature_group_count, i.batch_group_count) = (2, 1);
        }),
        "window={size=3x3 stride=2x1 pad=1_2x0_0 rhs_dilate=1x2}, dim_labels=b01f_01io->b01f, \
         feature_group_count=2"
    );
    let odd = ConvolutionDimensions { input_batch: -1, input_feature: 9, ..numbers };
    let labels = attributes_of("convolution", |i| i.convolution = Some(odd));
    assert_eq!(labels, "dim_labels=?01?_01io->b01f");
    assert_eq!(
        attributes_of("reduce-window", |i| {
            i.window = Some(Window { dimensions: vec![dimension(9, 1, 8, 0, 1), dimension(1, 1, 0, 0, 1)] });
            i.called_computation_ids = vec![1];
        }),
        "window={size=9x1 pad=8_0x0_0}, to_apply=%f"
    );
    assert_eq!(
        attributes_of("gather", |i| {
            i.gather = Some(GatherDimensions {
                offset: vec![1, 2],
                start_index_map: vec![0],
                index_vector: 1,
                ..Default::default()
            });
            i.gather_slice_sizes = vec![1, 7];
            i.indices_are_sorted = true;
        }),
        "offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,7}, \
         indices_are_sorted=true"
    );
    assert_eq!(
        attributes_of("scatter", |i| {
            i.scatter = Some(ScatterDimensions {
                update_window: vec![1],
                inserted_window: vec![0],
                to_operand: vec![0],
                input_batching: vec![2],
                indices_batching: vec![0],
                index_vector: 1,
            });
            i.unique_indices = true;
            i.called_computation_ids = vec![2];
        }),
        "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, \
         input_batching_dims={2}, scatter_indices_batching_dims={0}, index_vector_dim=1, unique_indices=true, \
         to_apply=%g"
    );
}

#[test]
fn called_computations_are_named_by_their_part() {
    let calls =
        |opcode: &str, ids: &[i64]| attributes_of(opcode, |i| i.called_computation_ids = ids.to_vec());
    assert_eq!(calls("while", &[1, 2]), "condition=%g, body=%f");
    assert_eq!(calls("conditional", &[1, 2]), "branch_computations={%f, %g}");
    assert_eq!(calls("select-and-scatter", &[1, 2]), "select=%f, scatter=%g");
    assert_eq!(calls("call", &[2]), "to_apply=%g");
    assert_eq!(calls("call", &[77]), "to_apply=%?77");
    assert_eq!(
        attributes_of("sort", |i| {
            (i.dimensions, i.is_stable, i.called_computation_ids) = (vec![0], true, vec![1]);
        }),
        "dimensions={0}, is_stable=true, to_apply=%f"
    );
    assert_eq!(
        attributes_of("custom-call", |i| {
            i.custom_call_target = "my_\"target\"".into();
            i.constrain_layout = true;
            i.operand_shapes_with_layout = vec![array(F32, &[4, 4])];
            i.custom_call_has_side_effect = true;
            i.output_operand_aliasing =
                vec![OutputOperandAliasing { output_shape_index: vec![0], ..Default::default() }];
            i.custom_call_api_version = 4;
            i.frontend_attributes = Some(FrontendAttributes { map: [("k".into(), "v".into())].into() });
            i.backend_config = b"opaque".to_vec();
        }),
        "custom_call_target=\"my_\\\"target\\\"\", operand_layout_constraints={f32[4,4]{1,0}}, \
         custom_call_has_side_effect=true, output_to_operand_aliasing={{0}: (0, {})}, \
         api_version=API_VERSION_TYPED_FFI, frontend_attributes={k=\"v\"}, backend_config=\"opaque\""
    );
}
