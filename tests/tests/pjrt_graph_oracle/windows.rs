//! Cases of Fourier transforms, convolutions and windows.

use dispatch_runtime::graph::{Conv, Padding, Value, Window};

use crate::data::Case;

pub fn build(case: &Case, values: &[Value]) -> Option<Value> {
    let x = values.first()?;
    Some(match case.operation {
        "fft" => x.fft(case.ints("axes")),
        "ifft" => x.ifft(case.ints("axes")),
        "rfft" => x.rfft(case.ints("axes")),
        "irfft" => x.irfft(case.ints("axes"), case.int("n")),
        "conv" => x.conv(&values[1], &conv(case)),
        "max_pool" => x.max_pool(&window(case)),
        "min_pool" => x.min_pool(&window(case)),
        "sum_pool" => x.sum_pool(&window(case)),
        "avg_pool" => x.avg_pool(&window(case)),
        "reduce_window" => x.reduce_window(0, &window(case), |a, b| a + b),
        _ => return None,
    })
}

fn conv(case: &Case) -> Conv {
    let mut conv = Conv::new(case.text("layout"));
    if let Some(strides) = case.maybe("strides") {
        conv = conv.strides(strides);
    }
    if let Some(dilation) = case.maybe("dilation") {
        conv = conv.dilation(dilation);
    }
    if let Some(dilation) = case.maybe("input_dilation") {
        conv = conv.input_dilation(dilation);
    }
    if let Some(padding) = padding(case) {
        conv = conv.padding(padding);
    }
    if case.flag("flip") {
        conv = conv.flip();
    }
    conv.groups(case.maybe("groups").map_or(1, |n| n[0]))
        .batch_groups(case.maybe("batch_groups").map_or(1, |n| n[0]))
}

fn window(case: &Case) -> Window {
    let mut window = Window::new(case.ints("axes"), case.ints("sizes"));
    if let Some(strides) = case.maybe("strides") {
        window = window.strides(strides);
    }
    if let Some(dilation) = case.maybe("dilation") {
        window = window.dilation(dilation);
    }
    if let Some(padding) = padding(case) {
        window = window.padding(padding);
    }
    window
}

fn padding(case: &Case) -> Option<Padding> {
    Some(match case.find("padding")? {
        "same" => Padding::Same,
        "lower" => Padding::SameLower,
        _ => Padding::Explicit(case.ints("padding").chunks(2).map(|pair| (pair[0], pair[1])).collect()),
    })
}
