//! What stands behind an instruction's operands: `dimensions={0}, to_apply=%add`.

use super::proto::{
    ConvolutionDimensions, DotDimensions, GatherDimensions, Instruction, Metadata, Padding,
    ScatterDimensions, SliceDimension, TriangularSolve, Window,
};
use super::text::Printer;
use super::{braced, joined, literal, shape};

/// The attributes of an instruction, in the order in which XLA prints them.
pub fn of(instruction: &Instruction, printer: &Printer<'_>) -> Vec<String> {
    let mut all = own(instruction);
    all.extend(calls(instruction, printer));
    all.extend(common(instruction, printer));
    all
}

/// Those of the operation.
fn own(instruction: &Instruction) -> Vec<String> {
    let mut all = Vec::new();
    let dimensions = &instruction.dimensions;
    match &*instruction.opcode {
        "iota" => all.push(format!("iota_dimension={}", joined(dimensions, ","))),
        "get-tuple-element" => all.push(format!("index={}", instruction.tuple_index)),
        "broadcast" | "concatenate" | "map" | "reduce" | "reverse" | "sort" | "transpose" => {
            all.push(format!("dimensions={}", braced(dimensions)));
        }
        "slice" => all.push(format!("slice={}", slice(&instruction.slice))),
        "dynamic-slice" => {
            all.push(format!("dynamic_slice_sizes={}", braced(&instruction.dynamic_slice_sizes)))
        }
        "compare" => {
            all.push(format!("direction={}", instruction.comparison_direction));
            // The others follow from the operands.
            if instruction.comparison_type == "TOTALORDER" {
                all.push("type=TOTALORDER".into());
            }
        }
        "fusion" => all.push(format!("kind={}", instruction.fusion_kind)),
        "fft" => {
            let kind = ["FFT", "IFFT", "RFFT", "IRFFT"].get(instruction.fft_type as usize);
            all.push(format!("fft_type={}", kind.unwrap_or(&"?")));
            all.push(format!("fft_length={}", braced(&instruction.fft_length)));
        }
        "reduce-precision" => {
            all.push(format!("exponent_bits={}", instruction.exponent_bits));
            all.push(format!("mantissa_bits={}", instruction.mantissa_bits));
        }
        "rng" => {
            let kind = ["invalid", "uniform", "normal"].get(instruction.distribution as usize);
            all.push(format!("distribution=rng_{}", kind.unwrap_or(&"?")));
        }
        "rng-bit-generator" => {
            let kind = ["default", "three_fry", "philox"].get(instruction.rng_algorithm as usize);
            all.push(format!("algorithm=rng_{}", kind.unwrap_or(&"?")));
        }
        "rng-get-and-update-state" => all.push(format!("delta={}", instruction.delta)),
        "batch-norm-training" | "batch-norm-inference" | "batch-norm-grad" => {
            all.push(format!("epsilon={}", literal::float(format!("{:?}", instruction.epsilon))));
            all.push(format!("feature_index={}", instruction.feature_index));
        }
        "topk" => {
            all.push(format!("k={}", instruction.k));
            all.push(format!("largest={}", instruction.largest));
        }
        _ if !dimensions.is_empty() => all.push(format!("dimensions={}", braced(dimensions))),
        _ => {}
    }
    all.extend(instruction.window.as_ref().and_then(window));
    all.extend(instruction.convolution.as_ref().map(convolution));
    all.extend(instruction.dot.as_ref().map(dot));
    all.extend(instruction.gather.as_ref().map(|numbers| gather(numbers, &instruction.gather_slice_sizes)));
    all.extend(instruction.scatter.as_ref().map(scatter));
    all.extend(instruction.padding.as_ref().map(padding));
    all.extend(instruction.triangular_solve.as_ref().map(triangular_solve));
    all.extend(instruction.cholesky.as_ref().map(|options| format!("lower={}", options.lower)));
    for (name, count) in [
        ("feature_group_count", instruction.feature_group_count),
        ("batch_group_count", instruction.batch_group_count),
    ] {
        if count > 1 {
            all.push(format!("{name}={count}"));
        }
    }
    if instruction.channel_id > 0 {
        all.push(format!("channel_id={}", instruction.channel_id));
    }
    all.extend(precision(instruction));
    for (name, set) in [
        ("indices_are_sorted", instruction.indices_are_sorted),
        ("unique_indices", instruction.unique_indices),
        ("is_stable", instruction.is_stable),
    ] {
        if set {
            all.push(format!("{name}=true"));
        }
    }
    if instruction.opcode == "custom-call" {
        all.extend(custom_call(instruction));
    }
    all
}

/// The computations that an instruction calls, by their part in it.
fn calls(instruction: &Instruction, printer: &Printer<'_>) -> Vec<String> {
    let called: Vec<String> =
        instruction.called_computation_ids.iter().map(|&id| printer.called(id)).collect();
    let all = || format!("{{{}}}", called.join(", "));
    match (&*instruction.opcode, &*called) {
        (_, []) => vec![],
        ("while", [body, condition]) => vec![format!("condition={condition}"), format!("body={body}")],
        ("select-and-scatter", [select, scatter]) => {
            vec![format!("select={select}"), format!("scatter={scatter}")]
        }
        ("conditional", _) => vec![format!("branch_computations={}", all())],
        ("fusion" | "async-start", [one]) => vec![format!("calls={one}")],
        ("custom-call", _) => vec![format!("called_computations={}", all())],
        (_, [one]) => vec![format!("to_apply={one}")],
        _ => vec![format!("called_computations={}", all())],
    }
}

/// What every instruction may have.
fn common(instruction: &Instruction, printer: &Printer<'_>) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(attributes) = instruction.frontend_attributes.as_ref().filter(|a| !a.map.is_empty()) {
        let pairs = attributes.map.iter().map(|(key, value)| format!("{key}={}", quoted(value)));
        all.push(format!("frontend_attributes={{{}}}", joined(pairs, ",")));
    }
    if !instruction.control_predecessor_ids.is_empty() {
        let before = instruction.control_predecessor_ids.iter().map(|&id| printer.value(id));
        all.push(format!("control-predecessors={{{}}}", joined(before, ", ")));
    }
    all.extend(instruction.metadata.as_ref().and_then(|metadata| self::metadata(metadata, printer)));
    let payload = instruction.backend_config_payload.as_ref();
    let config = match payload.and_then(|payload| payload.id) {
        Some(id) => printer.payload(id),
        None => payload.map(|payload| &*payload.value),
    };
    let config = config.filter(|config| !config.is_empty()).unwrap_or(&instruction.backend_config);
    if !config.is_empty() {
        let config = String::from_utf8_lossy(config);
        let is_dictionary = config.starts_with('{') && config.ends_with('}');
        all.push(format!("backend_config={}", if is_dictionary { config.into() } else { quoted(&config) }));
    }
    all
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

fn metadata(metadata: &Metadata, printer: &Printer<'_>) -> Option<String> {
    let mut parts = Vec::new();
    if !metadata.op_name.is_empty() {
        parts.push(format!("op_name={}", quoted(&metadata.op_name)));
    }
    if let Some((file, line)) = printer.source(metadata) {
        parts.push(format!("source_file={} source_line={line}", quoted(file)));
    }
    (!parts.is_empty()).then(|| format!("metadata={{{}}}", parts.join(" ")))
}

/// `{[1:7:2], [0:6:1]}`; strides only where some stride is not 1.
fn slice(dimensions: &[SliceDimension]) -> String {
    let strides = dimensions.iter().any(|d| d.stride != 1);
    let ranges = dimensions.iter().map(|d| match strides {
        true => format!("[{}:{}:{}]", d.start, d.limit, d.stride),
        false => format!("[{}:{}]", d.start, d.limit),
    });
    format!("{{{}}}", joined(ranges, ", "))
}

/// `1_2_1x0_0_0`: low, high and, if any is set, interior padding.
fn padding(padding: &Padding) -> String {
    let interior = padding.dimensions.iter().any(|d| d.interior != 0);
    let dimensions = padding.dimensions.iter().map(|d| match interior {
        true => format!("{}_{}_{}", d.low, d.high, d.interior),
        false => format!("{}_{}", d.low, d.high),
    });
    format!("padding={}", joined(dimensions, "x"))
}

/// `window={size=3x3 stride=2x1 pad=1_2x0_0}`: the parts that are not as usual.
fn window(window: &Window) -> Option<String> {
    let dimensions = &window.dimensions;
    if dimensions.is_empty() {
        return None;
    }
    let mut parts = vec![format!("size={}", joined(dimensions.iter().map(|d| d.size), "x"))];
    let mut part = |name: &str, usual: &str, values: Vec<String>| {
        if values.iter().any(|value| value != usual) {
            parts.push(format!("{name}={}", values.join("x")));
        }
    };
    part("stride", "1", dimensions.iter().map(|d| d.stride.to_string()).collect());
    let pads = dimensions.iter().map(|d| format!("{}_{}", d.padding_low, d.padding_high));
    part("pad", "0_0", pads.collect());
    part("lhs_dilate", "1", dimensions.iter().map(|d| d.base_dilation.to_string()).collect());
    part("rhs_dilate", "1", dimensions.iter().map(|d| d.window_dilation.to_string()).collect());
    let reversals = dimensions.iter().map(|d| u8::from(d.window_reversal).to_string());
    part("rhs_reversal", "0", reversals.collect());
    Some(format!("window={{{}}}", parts.join(" ")))
}

/// `dim_labels=b01f_01io->b01f`: what each dimension of image, kernel and result is.
fn convolution(numbers: &ConvolutionDimensions) -> String {
    let labels = |first: (char, i64), second: (char, i64), spatial: &[i64]| {
        let mut labels = vec!["?".to_owned(); spatial.len() + 2];
        let spatial = spatial.iter().enumerate().map(|(i, &at)| (i.to_string(), at));
        for (label, at) in
            [first, second].map(|(label, at)| (label.to_string(), at)).into_iter().chain(spatial)
        {
            if let Some(place) = usize::try_from(at).ok().and_then(|at| labels.get_mut(at)) {
                *place = label;
            }
        }
        labels.concat()
    };
    let n = numbers;
    format!(
        "dim_labels={}_{}->{}",
        labels(('b', n.input_batch), ('f', n.input_feature), &n.input_spatial),
        labels(('i', n.kernel_input_feature), ('o', n.kernel_output_feature), &n.kernel_spatial),
        labels(('b', n.output_batch), ('f', n.output_feature), &n.output_spatial),
    )
}

/// `a={0}, b={1}`; where the flag is set, a list without numbers is left out.
fn named(lists: &[(&str, &[i64], bool)]) -> String {
    let shown = lists.iter().filter(|(_, numbers, optional)| !(*optional && numbers.is_empty()));
    joined(shown.map(|(name, numbers, _)| format!("{name}={}", braced(numbers))), ", ")
}

fn dot(numbers: &DotDimensions) -> String {
    named(&[
        ("lhs_batch_dims", &numbers.lhs_batch, true),
        ("lhs_contracting_dims", &numbers.lhs_contracting, false),
        ("rhs_batch_dims", &numbers.rhs_batch, true),
        ("rhs_contracting_dims", &numbers.rhs_contracting, false),
    ])
}

fn gather(numbers: &GatherDimensions, slice_sizes: &[i64]) -> String {
    let dimensions = named(&[
        ("offset_dims", &numbers.offset, false),
        ("collapsed_slice_dims", &numbers.collapsed_slice, false),
        ("start_index_map", &numbers.start_index_map, false),
        ("operand_batching_dims", &numbers.operand_batching, true),
        ("start_indices_batching_dims", &numbers.start_indices_batching, true),
    ]);
    format!("{dimensions}, index_vector_dim={}, slice_sizes={}", numbers.index_vector, braced(slice_sizes))
}

fn scatter(numbers: &ScatterDimensions) -> String {
    let dimensions = named(&[
        ("update_window_dims", &numbers.update_window, false),
        ("inserted_window_dims", &numbers.inserted_window, false),
        ("scatter_dims_to_operand_dims", &numbers.to_operand, false),
        ("input_batching_dims", &numbers.input_batching, true),
        ("scatter_indices_batching_dims", &numbers.indices_batching, true),
    ]);
    format!("{dimensions}, index_vector_dim={}", numbers.index_vector)
}

fn triangular_solve(options: &TriangularSolve) -> String {
    let transpose =
        ["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"].get(options.transpose_a as usize);
    let flags = [
        ("left_side", options.left_side),
        ("lower", options.lower),
        ("unit_diagonal", options.unit_diagonal),
    ];
    let mut parts: Vec<String> =
        flags.iter().filter(|(_, set)| *set).map(|(name, _)| format!("{name}=true")).collect();
    parts.push(format!("transpose_a={}", transpose.unwrap_or(&"?")));
    parts.join(", ")
}

/// `operand_precision={highest,highest}`, unless all are the default.
fn precision(instruction: &Instruction) -> Option<String> {
    let operands = &instruction.precision.as_ref()?.operands;
    let names = ["default", "high", "highest", "packed_nibble"];
    let text = operands.iter().map(|&p| names.get(p as usize).copied().unwrap_or("?"));
    operands
        .iter()
        .any(|&precision| precision != 0)
        .then(|| format!("operand_precision={{{}}}", joined(text, ",")))
}

fn custom_call(instruction: &Instruction) -> Vec<String> {
    let mut all = vec![format!("custom_call_target={}", quoted(&instruction.custom_call_target))];
    if instruction.constrain_layout {
        let shapes = instruction.operand_shapes_with_layout.iter().map(|s| shape::text(s, true));
        all.push(format!("operand_layout_constraints={{{}}}", joined(shapes, ", ")));
    }
    if instruction.custom_call_has_side_effect {
        all.push("custom_call_has_side_effect=true".into());
    }
    if !instruction.output_operand_aliasing.is_empty() {
        let pairs = instruction.output_operand_aliasing.iter().map(|alias| {
            let (output, operand) = (braced(&alias.output_shape_index), braced(&alias.operand_shape_index));
            format!("{output}: ({}, {operand})", alias.operand_index)
        });
        all.push(format!("output_to_operand_aliasing={{{}}}", joined(pairs, ", ")));
    }
    let versions = [
        "API_VERSION_UNSPECIFIED",
        "API_VERSION_ORIGINAL",
        "API_VERSION_STATUS_RETURNING",
        "API_VERSION_STATUS_RETURNING_UNIFIED",
        "API_VERSION_TYPED_FFI",
    ];
    // The original one is not worth a word.
    if let Some(version) = versions
        .get(instruction.custom_call_api_version as usize)
        .filter(|_| instruction.custom_call_api_version > 1)
    {
        all.push(format!("api_version={version}"));
    }
    all
}
