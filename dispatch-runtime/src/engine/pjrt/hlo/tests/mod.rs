//! Hand-made modules against what XLA prints and counts for them: texts and numbers are those of JAX 0.10.

use prost::Message;

use super::proto::*;
use super::{literal, shape};
use crate::engine::pjrt::proto::{Layout, Shape, Tile};

mod attributes;
mod cost;

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

/// The text of a serialized module.
fn text(module: &[u8]) -> Result<String, prost::DecodeError> {
    super::Module::read(module).map(|module| module.text())
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
