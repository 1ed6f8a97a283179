mod r_families;
mod math;

//- src/rust/src/math.rs
#[ffi_handler]
fn rotate_add(#[arg] x: Buffer<f32>, #[ret] out: BufferMut<f32>) -> ffi::Result<()> {
    todo!()
}

mod inner {
    #[ffi_handler]
    pub fn twice(#[arg] x: Buffer<f32>, #[ret] out: BufferMut<f32>) -> ffi::Result<()> {
        todo!()
    }
}

#[ffi_handler]
pub fn wrong(#[arg(dtype = f31)] x: Buffer<f32>, #[ret] out: BufferMut<f32>) -> ffi::Result<()> {
    todo!()
}
