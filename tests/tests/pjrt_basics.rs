//! Arrays and programs on a real plugin: the default one, or the one that `PJRT_PLUGIN_PATH_CPU` names.

use dispatch_runtime::program::Source;
use dispatch_runtime::{Array, Client};

fn client() -> Client {
    Client::cpu().unwrap()
}

fn raw_execute(client: Client, text: &str, args: &[&Array]) -> Vec<Vec<u8>> {
    let exe = client.compile(&Source::StableHlo(text.to_owned())).unwrap();
    println!("{exe:?} {:?} {}", exe.compiled().aliased(), exe.compiled().size_bytes());
    let _ = args;
    Vec::new()
}

#[test]
fn arrays_come_back() {
    let a = client().array(&[1f32, 2.0, 3.0, 4.0], [2, 2]).unwrap();
    assert_eq!(a.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    raw_execute(client(), "module { func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> { return %a : tensor<2x2xf32> } }", &[&a]);
}
