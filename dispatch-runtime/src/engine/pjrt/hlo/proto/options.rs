//! What an instruction says beyond its operands: numbers of dimensions, windows, the options of one operation.

use prost::Message;

/// `xla.Window`.
#[derive(Clone, PartialEq, Message)]
pub struct Window {
    #[prost(message, repeated, tag = "1")]
    pub dimensions: Vec<WindowDimension>,
}

#[derive(Clone, PartialEq, Message)]
pub struct WindowDimension {
    #[prost(int64, tag = "1")]
    pub size: i64,
    #[prost(int64, tag = "2")]
    pub stride: i64,
    #[prost(int64, tag = "3")]
    pub padding_low: i64,
    #[prost(int64, tag = "4")]
    pub padding_high: i64,
    #[prost(int64, tag = "5")]
    pub window_dilation: i64,
    #[prost(int64, tag = "6")]
    pub base_dilation: i64,
    #[prost(bool, tag = "7")]
    pub window_reversal: bool,
}

/// `xla.ConvolutionDimensionNumbers`.
#[derive(Clone, PartialEq, Message)]
pub struct ConvolutionDimensions {
    #[prost(int64, tag = "7")]
    pub input_batch: i64,
    #[prost(int64, tag = "8")]
    pub input_feature: i64,
    #[prost(int64, repeated, tag = "11")]
    pub input_spatial: Vec<i64>,
    #[prost(int64, tag = "3")]
    pub kernel_input_feature: i64,
    #[prost(int64, tag = "4")]
    pub kernel_output_feature: i64,
    #[prost(int64, repeated, tag = "6")]
    pub kernel_spatial: Vec<i64>,
    #[prost(int64, tag = "9")]
    pub output_batch: i64,
    #[prost(int64, tag = "10")]
    pub output_feature: i64,
    #[prost(int64, repeated, tag = "12")]
    pub output_spatial: Vec<i64>,
}

/// `xla.HloInstructionProto.SliceDimensions`.
#[derive(Clone, PartialEq, Message)]
pub struct SliceDimension {
    #[prost(int64, tag = "1")]
    pub start: i64,
    #[prost(int64, tag = "2")]
    pub limit: i64,
    #[prost(int64, tag = "3")]
    pub stride: i64,
}

/// `xla.PaddingConfig`.
#[derive(Clone, PartialEq, Message)]
pub struct Padding {
    #[prost(message, repeated, tag = "1")]
    pub dimensions: Vec<PaddingDimension>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PaddingDimension {
    #[prost(int64, tag = "1")]
    pub low: i64,
    #[prost(int64, tag = "2")]
    pub high: i64,
    #[prost(int64, tag = "3")]
    pub interior: i64,
}

/// `xla.DotDimensionNumbers`.
#[derive(Clone, PartialEq, Message)]
pub struct DotDimensions {
    #[prost(int64, repeated, tag = "1")]
    pub lhs_contracting: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub rhs_contracting: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub lhs_batch: Vec<i64>,
    #[prost(int64, repeated, tag = "4")]
    pub rhs_batch: Vec<i64>,
}

/// `xla.GatherDimensionNumbers`.
#[derive(Clone, PartialEq, Message)]
pub struct GatherDimensions {
    #[prost(int64, repeated, tag = "1")]
    pub offset: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub collapsed_slice: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub start_index_map: Vec<i64>,
    #[prost(int64, tag = "4")]
    pub index_vector: i64,
    #[prost(int64, repeated, tag = "5")]
    pub operand_batching: Vec<i64>,
    #[prost(int64, repeated, tag = "6")]
    pub start_indices_batching: Vec<i64>,
}

/// `xla.ScatterDimensionNumbers`.
#[derive(Clone, PartialEq, Message)]
pub struct ScatterDimensions {
    #[prost(int64, repeated, tag = "1")]
    pub update_window: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub inserted_window: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub to_operand: Vec<i64>,
    #[prost(int64, tag = "4")]
    pub index_vector: i64,
    #[prost(int64, repeated, tag = "5")]
    pub input_batching: Vec<i64>,
    #[prost(int64, repeated, tag = "6")]
    pub indices_batching: Vec<i64>,
}

/// `xla.PrecisionConfig`.
#[derive(Clone, PartialEq, Message)]
pub struct Precision {
    #[prost(int32, repeated, tag = "1")]
    pub operands: Vec<i32>,
}

/// `xla.TriangularSolveOptions`.
#[derive(Clone, PartialEq, Message)]
pub struct TriangularSolve {
    #[prost(bool, tag = "1")]
    pub left_side: bool,
    #[prost(bool, tag = "2")]
    pub lower: bool,
    #[prost(bool, tag = "3")]
    pub unit_diagonal: bool,
    #[prost(int32, tag = "4")]
    pub transpose_a: i32,
}

/// `xla.CholeskyOptions`.
#[derive(Clone, PartialEq, Message)]
pub struct Cholesky {
    #[prost(bool, tag = "1")]
    pub lower: bool,
}
