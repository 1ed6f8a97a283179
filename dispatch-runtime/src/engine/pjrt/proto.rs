//! The few protocol buffer messages of XLA that the runtime writes or reads, by their field numbers. Everything else in
//! a message is skipped.

use std::collections::BTreeMap;

use prost::Message;

use crate::{Aval, DType};

/// `xla.CompileOptionsProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct CompileOptions {
    #[prost(message, optional, tag = "3")]
    pub executable_build_options: Option<BuildOptions>,
    /// XLA's flags by name.
    #[prost(btree_map = "string, message", tag = "7")]
    pub env_option_overrides: BTreeMap<String, OptionOverride>,
}

/// `xla.OptionOverrideProto`: the value of a flag, as far as the runtime sets any.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OptionOverride {
    #[prost(bool, optional, tag = "2")]
    pub bool_field: Option<bool>,
}

/// `xla.ExecutableBuildOptionsProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BuildOptions {
    #[prost(int64, tag = "1")]
    pub device_ordinal: i64,
    #[prost(int64, tag = "4")]
    pub num_replicas: i64,
    #[prost(int64, tag = "5")]
    pub num_partitions: i64,
    #[prost(message, optional, tag = "9")]
    pub device_assignment: Option<DeviceAssignment>,
}

/// `xla.DeviceAssignmentProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DeviceAssignment {
    #[prost(int32, tag = "1")]
    pub replica_count: i32,
    #[prost(int32, tag = "2")]
    pub computation_count: i32,
    #[prost(message, repeated, tag = "3")]
    pub computation_devices: Vec<ComputationDevice>,
}

/// The devices of one computation, a replica each.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ComputationDevice {
    #[prost(int64, repeated, tag = "1")]
    pub replica_device_ids: Vec<i64>,
}

/// The compile options of a program for one device, or the one that the plugin takes where none is named, encoded.
pub(super) fn compile_options(device_id: Option<i64>) -> Vec<u8> {
    let assignment = |device_id| DeviceAssignment {
        replica_count: 1,
        computation_count: 1,
        computation_devices: vec![ComputationDevice { replica_device_ids: vec![device_id] }],
    };
    let build = BuildOptions {
        device_ordinal: -1,
        num_replicas: 1,
        num_partitions: 1,
        device_assignment: device_id.map(assignment),
    };
    CompileOptions { executable_build_options: Some(build), ..CompileOptions::default() }.encode_to_vec()
}

/// What a program is compiled with on a platform unless the user says otherwise, encoded.
///
/// XLA on CPU by default takes a maximum or a minimum as `a < b ? b : a`, which loses NaN, in contrast to StableHLO.
pub(super) fn default_options(platform: &str) -> Vec<u8> {
    let mut options = CompileOptions::default();
    if platform == "cpu" {
        let off = OptionOverride { bool_field: Some(false) };
        options.env_option_overrides.insert("xla_cpu_enable_fast_min_max".into(), off);
    }
    options.encode_to_vec()
}

/// The content of field 1, if a message starts with it and it is a message itself. What follows is not looked at.
///
/// This is the module in an `xla.HloModuleProtoWithConfig`.
pub(super) fn first_field(message: &[u8]) -> Option<&[u8]> {
    let mut rest = message.strip_prefix(&[1 << 3 | 2])?;
    let len = prost::encoding::decode_varint(&mut rest).ok()?;
    rest.get(..usize::try_from(len).ok()?)
}

/// `xla.HloModuleProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Module {
    #[prost(message, optional, tag = "4")]
    pub host_program_shape: Option<ProgramShape>,
    #[prost(message, optional, tag = "8")]
    pub input_output_alias: Option<InputOutputAlias>,
}

/// `xla.ProgramShapeProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ProgramShape {
    #[prost(message, repeated, tag = "1")]
    pub parameters: Vec<Shape>,
    #[prost(message, optional, tag = "2")]
    pub result: Option<Shape>,
}

/// `xla.ShapeProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(int32, tag = "2")]
    pub element_type: i32,
    #[prost(int64, repeated, tag = "3")]
    pub dimensions: Vec<i64>,
    #[prost(message, repeated, tag = "4")]
    pub tuple_shapes: Vec<Shape>,
    #[prost(message, optional, tag = "5")]
    pub layout: Option<Layout>,
    #[prost(bool, repeated, tag = "6")]
    pub is_dynamic_dimension: Vec<bool>,
}

/// `xla.LayoutProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Layout {
    #[prost(int64, repeated, tag = "1")]
    pub minor_to_major: Vec<i64>,
    #[prost(message, repeated, tag = "6")]
    pub tiles: Vec<Tile>,
    #[prost(int64, tag = "7")]
    pub element_size_in_bits: i64,
    #[prost(int64, tag = "8")]
    pub memory_space: i64,
}

/// `xla.TileProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Tile {
    #[prost(int64, repeated, tag = "1")]
    pub dimensions: Vec<i64>,
}

/// `xla.HloInputOutputAliasProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InputOutputAlias {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<AliasEntry>,
}

/// One aliased argument.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AliasEntry {
    #[prost(int64, tag = "2")]
    pub parameter_number: i64,
}

impl Shape {
    /// Dtype and shape, if the runtime has them: arrays of a known element type with fixed sizes.
    pub fn aval(&self) -> Option<Aval> {
        if self.is_dynamic_dimension.contains(&true) || self.dimensions.iter().any(|&n| n < 0) {
            return None;
        }
        Aval::try_new(dtype(self.element_type)?, &self.dimensions)
    }

    /// Whether the elements lie in row-major order. Without a layout they do.
    pub fn is_row_major(&self) -> bool {
        self.layout
            .as_ref()
            .is_none_or(|l| l.minor_to_major.iter().rev().copied().eq(0..l.minor_to_major.len() as i64))
    }
}

/// The dtype of an `xla.PrimitiveType`.
fn dtype(primitive: i32) -> Option<DType> {
    use DType::*;
    Some(match primitive {
        1 => Bool,
        2 => I8,
        3 => I16,
        4 => I32,
        5 => I64,
        6 => U8,
        7 => U16,
        8 => U32,
        9 => U64,
        10 => F16,
        11 => F32,
        12 => F64,
        15 => C64,
        16 => BF16,
        18 => C128,
        _ => return None,
    })
}
