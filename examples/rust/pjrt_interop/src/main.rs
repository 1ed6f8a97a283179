//! One client, used through this runtime and through the crates.io `pjrt` crate.
//!
//! That crate's own client and `execute` do not work on the plugins of today. Its programs, compile options and host
//! buffers do, and so do its clients and buffers once this runtime has made them.

use dispatch_runtime::engine::pjrt::CompileOptions;
use dispatch_runtime::program::Source;
use dispatch_runtime::{Client, HostArray};

const PROGRAM: &str = "func.func @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<f64> {
  %0 = stablehlo.dot %x, %y : (tensor<3xf64>, tensor<3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What a user of the `pjrt` crate has.
    let program = pjrt::Program::new(pjrt::ProgramFormat::MLIR, PROGRAM);
    let options = pjrt::CompileOptions::new();
    let x = pjrt::HostBuffer::builder().data(vec![1.0f64, 2.0, 3.0]).build();

    // The client is this runtime's, and the other crate's too.
    let client = Client::cpu()?;
    let same = client.to_pjrt()?;
    println!("{client}: {} with {} device(s)", same.platform_name(), same.addressable_devices().len());

    // Compile and run here.
    let device = client.default_device();
    let executable =
        client.compile_with(Source::try_from(&program)?, device, &CompileOptions::try_from(&options)?)?;
    let x = client.upload(HostArray::try_from(&x)?.view(), device)?;
    let y = client.array(&[4.0, 5.0, 6.0], [3])?;
    let dot = executable.execute(&[&x, &y])?.remove(0);

    // Read the result there, from the same buffer.
    let lent = dot.to_pjrt()?;
    let pjrt::HostBuffer::F64(value) = lent.copy_to_host_sync()? else { return Err("not an f64".into()) };
    println!("{:?} . {:?} = {:?}", x.to_vec::<f64>()?, y.to_vec::<f64>()?, value.data());
    println!("the executable has {} result", executable.to_pjrt()?.executable().num_outputs());
    assert_eq!(value.data(), [32.0]);
    Ok(())
}
