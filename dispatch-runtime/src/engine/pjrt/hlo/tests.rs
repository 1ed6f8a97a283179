//! Hand-made modules against what XLA prints for them. The expected texts are those of XLA (JAX 0.10).

use prost::Message;

use super::proto::*;
use super::{attributes, literal, shape, text, text::Printer};
use crate::engine::pjrt::proto::{Layout, Shape, Tile};

const F32: i32 = 11;

fn array(element_type: i32, dimensions: &[i64]) -> Shape {
    let minor_to_major = (0..dimensions.len() as i64).rev().collect();
    let layout = Some(Layout { minor_to_major, ..Default::default() });
    Shape { element_type, dimensions: dimensions.to_vec(), layout, ..Default::default() }
}

fn tuple(tuple_shapes: Vec<Shape>) -> Shape {
    Shape { element_type: shape::TUPLE, tuple_shapes, ..Default::default() }
}

fn instruction(id: i64, name: &str, opcode: &str, operands: &[i64]) -> Instruction {
    Instruction {
        id,
        name: name.into(),
        opcode: opcode.into(),
        shape: Some(array(F32, &[2])),
        operand_ids: operands.to_vec(),
        ..Default::default()
    }
}

fn computation(id: i64, name: &str, instructions: Vec<Instruction>) -> Computation {
    let parameters: Vec<_> = instructions.iter().filter(|i| i.opcode == "parameter").collect();
    let program_shape = ProgramShape {
        parameters: parameters.iter().filter_map(|p| p.shape.clone()).collect(),
        parameter_names: parameters.iter().map(|p| p.name.clone()).collect(),
        result: instructions.last().and_then(|root| root.shape.clone()),
    };
    Computation {
        id,
        name: name.into(),
        root_id: instructions.last().map_or(0, |root| root.id),
        program_shape: Some(program_shape),
        instructions,
        ..Default::default()
    }
}

/// A module whose entry is the last computation.
fn module(computations: Vec<Computation>) -> Module {
    let entry = computations.last().expect("an entry");
    Module {
        name: "m".into(),
        entry_computation_id: entry.id,
        host_program_shape: entry.program_shape.clone(),
        computations,
        ..Default::default()
    }
}

#[test]
fn a_module_is_written_in_the_order_of_its_schedule() {
    let mut fused = instruction(14, "fusion", "fusion", &[12, 11]);
    fused.fusion_kind = "kLoop".into();
    fused.called_computation_ids = vec![1];
    fused.control_predecessor_ids = vec![13];
    fused.metadata = Some(Metadata { op_name: "f/\"add\"".into(), stack_frame_id: 2, ..Default::default() });
    fused.backend_config_payload = Some(Payload { id: Some(0), ..Default::default() });
    let mut second = instruction(12, "b", "parameter", &[]);
    second.parameter_number = 1;
    let inner = computation(
        1,
        "inner",
        vec![
            instruction(1, "p", "parameter", &[]),
            instruction(2, "q", "parameter", &[]),
            instruction(3, "sum", "add", &[1, 2]),
        ],
    );
    let main = computation(
        2,
        "main",
        vec![instruction(11, "a", "parameter", &[]), second, instruction(13, "copy", "copy", &[11]), fused],
    );
    let mut module = module(vec![inner, main]);
    module.schedule = Some(Schedule {
        sequences: [(2, InstructionSequence { instruction_ids: vec![12, 11, 13, 14] })].into(),
    });
    module.input_output_alias = Some(InputOutputAlias {
        entries: vec![AliasEntry {
            output_shape_index: vec![0],
            parameter_number: 1,
            kind: 2,
            ..Default::default()
        }],
    });
    module.buffer_donor = Some(BufferDonor { entries: vec![BufferDonorEntry::default()] });
    module.payloads = vec![b"{\"a\":1}".to_vec()];
    module.stack_frame_index = Some(StackFrameIndex {
        file_names: vec!["x.py".into()],
        file_locations: vec![FileLocation { file_name_id: 1, line: 7 }],
        stack_frames: vec![StackFrame { file_location_id: 9 }, StackFrame { file_location_id: 1 }],
    });
    assert_eq!(
        text(&module.encode_to_vec()).unwrap(),
        r#"HloModule m, is_scheduled=true, input_output_alias={ {0}: (1, {}, must-alias) }, buffer_donor={ (0, {}) }, entry_computation_layout={(f32[2]{0}, f32[2]{0})->f32[2]{0}}

%inner (p: f32[2], q: f32[2]) -> f32[2] {
  %p = f32[2]{0} parameter(0)
  %q = f32[2]{0} parameter(0)
  ROOT %sum = f32[2]{0} add(%p, %q)
}

ENTRY %main (a: f32[2], b: f32[2]) -> f32[2] {
  %b = f32[2]{0} parameter(1)
  %a = f32[2]{0} parameter(0)
  %copy = f32[2]{0} copy(%a)
  ROOT %fusion = f32[2]{0} fusion(%b, %a), kind=kLoop, calls=%inner, control-predecessors={%copy}, metadata={op_name="f/\"add\"" source_file="x.py" source_line=7}, backend_config={"a":1}
}
"#
    );
}

#[test]
fn shapes_are_written_with_layouts_tiles_and_spaces() {
    let with = |change: fn(&mut Shape)| {
        let mut shape = array(F32, &[2, 3]);
        change(&mut shape);
        shape::text(&shape, true)
    };
    assert_eq!(with(|_| ()), "f32[2,3]{1,0}");
    assert_eq!(with(|s| s.layout = None), "f32[2,3]");
    assert_eq!(with(|s| s.is_dynamic_dimension = vec![false, true]), "f32[2,<=3]{1,0}");
    assert_eq!(with(|s| s.layout.as_mut().unwrap().memory_space = 5), "f32[2,3]{1,0:S(5)}");
    assert_eq!(
        with(|s| {
            let layout = s.layout.as_mut().unwrap();
            layout.tiles = vec![Tile { dimensions: vec![8, 128] }, Tile { dimensions: vec![2, 1] }];
            layout.element_size_in_bits = 4;
        }),
        "f32[2,3]{1,0:T(8,128)(2,1)E(4)}"
    );
    assert_eq!(shape::text(&array(F32, &[2, 3]), false), "f32[2,3]");
    assert_eq!(shape::text(&array(17, &[]), true), "token[]");
    assert_eq!(shape::text(&array(99, &[]), true), "type99[]");
    let nested = tuple(vec![array(1, &[]), tuple(vec![]), array(16, &[4])]);
    assert_eq!(shape::text(&nested, true), "(pred[], (), bf16[4]{0})");
    assert_eq!(
        shape::text(&tuple(vec![array(4, &[]); 6]), true),
        "(s32[], s32[], s32[], s32[], s32[], /*index=5*/s32[])"
    );
}

#[test]
fn constants_are_written_out_when_they_are_small() {
    let of = |element_type: i32, sizes: &[i64], literal: Literal| {
        literal::text(&Literal { shape: Some(array(element_type, sizes)), ..literal })
    };
    let f32s =
        |sizes: &[i64], f32s: &[f32]| of(F32, sizes, Literal { f32s: f32s.to_vec(), ..Default::default() });
    assert_eq!(f32s(&[], &[0.1]), "0.1");
    assert_eq!(
        f32s(&[7], &[0.0, -0.0, 1e-7, 1e20, f32::NAN, f32::NEG_INFINITY, 2.0]),
        "{0, -0, 1e-7, 1e20, nan, -inf, 2}"
    );
    assert_eq!(f32s(&[10], &[1.0; 10]), "{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}");
    assert_eq!(f32s(&[11], &[1.0; 11]), "{...}");
    assert_eq!(f32s(&[2, 0], &[]), "{ {}, {} }");
    assert_eq!(f32s(&[0, 2], &[]), "{}");
    assert_eq!(f32s(&[0], &[]), "{}");

    let s8s = Literal { s8s: vec![1, 254, 3, 4], ..Default::default() };
    assert_eq!(of(2, &[2, 2], s8s.clone()), "{ { 1, -2 }, { 3, 4 } }");
    assert_eq!(of(2, &[2, 1, 2], s8s), "{ { { 1, -2 } }, { { 3, 4 } } }");
    let preds = |n: usize| Literal { preds: vec![true; n], ..Default::default() };
    assert_eq!((of(1, &[], preds(1)), of(1, &[2], preds(2))), ("true".into(), "{1, 1}".into()));
    let pair = Literal { c64s: vec![1.0, 2.0, -0.0, -0.5], ..Default::default() };
    assert_eq!(of(15, &[2], pair), "{(1, 2), (-0, -0.5)}");
    let halves = half::f16::from_f32(1.5).to_bits().to_le_bytes().to_vec();
    assert_eq!(of(10, &[], Literal { f16s: halves, ..Default::default() }), "1.5");
    let halves = half::bf16::from_f32(-3.0).to_bits().to_le_bytes().to_vec();
    assert_eq!(of(16, &[1], Literal { bf16s: halves, ..Default::default() }), "{-3}");
    assert_eq!(of(3, &[], Literal { s16s: vec![0xff, 0xff], ..Default::default() }), "-1");
    assert_eq!(of(7, &[], Literal { u16s: vec![0xff, 0xff], ..Default::default() }), "65535");
    assert_eq!(of(5, &[], Literal { s64s: vec![i64::MIN], ..Default::default() }), i64::MIN.to_string());
    assert_eq!(of(9, &[], Literal { u64s: vec![u64::MAX], ..Default::default() }), u64::MAX.to_string());
    let parts = vec![Literal { shape: Some(array(4, &[])), s32s: vec![7], ..Default::default() }; 2];
    let both = Literal { shape: Some(tuple(vec![])), tuple: parts, ..Default::default() };
    assert_eq!(literal::text(&both), "( 7, 7 )");
}

#[test]
fn constants_that_make_no_sense_are_left_out_at_once() {
    let zeros =
        |sizes: &[i64]| literal::text(&Literal { shape: Some(array(F32, sizes)), ..Default::default() });
    assert_eq!(zeros(&[2]), "{...}"); // two elements are stated, none is there
    assert_eq!(zeros(&[]), "{...}");
    assert_eq!(zeros(&[10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 0]), "{...}");
    assert_eq!(zeros(&[i64::MAX, i64::MAX]), "{...}");
    assert_eq!(zeros(&[-1]), "{...}");
    assert_eq!(zeros(&vec![1; 60_000]), "{...}");
    assert_eq!(literal::text(&Literal::default()), "{...}");
    let unknown = Literal { shape: Some(array(21, &[])), ..Default::default() };
    assert_eq!(literal::text(&unknown), "{...}");
}

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

#[test]
fn modules_with_holes_are_written_as_far_as_they_go() {
    assert_eq!(text(&[]).unwrap(), "HloModule \n");
    assert!(text(&[0xff]).is_err());
    let mut lost = instruction(5, "x", "add", &[6]);
    lost.shape = None;
    lost.metadata = Some(Metadata { stack_frame_id: 4, ..Default::default() });
    lost.backend_config_payload = Some(Payload { id: Some(3), ..Default::default() });
    let module = Module {
        computations: vec![Computation { instructions: vec![lost], ..Default::default() }],
        ..Default::default()
    };
    assert_eq!(
        text(&module.encode_to_vec()).unwrap(),
        "HloModule \n\nENTRY % () ->  {\n  %x =  add(%?6)\n}\n"
    );
}
