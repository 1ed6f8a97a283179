mod r_families;

#[ffi_handler]
pub fn rotate_add(#[arg] x: Buffer<f32>, #[ret] out: BufferMut<f32>) -> ffi::Result<()> {
    todo!()
}

#[ffi_handler(target = "rotate_add")]
pub fn other(#[arg] x: Buffer<f32>, #[ret] out: BufferMut<f32>) -> ffi::Result<()> {
    todo!()
}

// Of another stage, so it has no target.
#[ffi_handler(stage = instantiate)]
fn prepared() -> ffi::Result<u64> {
    todo!()
}
