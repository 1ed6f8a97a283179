//! Several devices of one client, several clients, several plugins, several threads.

mod plugin;

use std::sync::Arc;

use dispatch_runtime::engine::pjrt::ClientOptions;
use dispatch_runtime::program::Source;
use dispatch_runtime::{Client, Device};
use plugin::{add, cached_plugins, client, client_with_devices, compile, run, values};

fn two_devices() -> (Client, Device, Device) {
    let client = client_with_devices(2);
    let devices: Vec<Device> = client.devices().collect();
    assert_eq!(devices.len(), 2);
    (client, devices[0], devices[1])
}

#[test]
fn devices_have_names_and_ids_of_their_own() {
    let (client, first, second) = two_devices();
    assert_eq!((first.to_string(), second.to_string()), ("cpu:0".into(), "cpu:1".into()));
    let ids: Vec<i64> = client.engine().devices().iter().map(|d| d.id).collect();
    assert_ne!(ids[0], ids[1]);
    assert_eq!(client.default_device(), first);
}

#[test]
fn a_program_for_the_second_device_runs_there() {
    let (client, first, second) = two_devices();
    let executable = client.compile_on(Source::StableHlo(add("tensor<4xf32>")), second).unwrap();
    let data = [1f32, 2.0, 3.0, 4.0];
    let there = client.array_on(&data, [4], second).unwrap();
    let sum = run(&executable, &[&there, &there]);
    assert_eq!((sum.device(), values::<f32>(&sum)), (second, vec![2.0, 4.0, 6.0, 8.0]));

    let here = client.array_on(&data, [4], first).unwrap();
    assert_eq!(executable.execute(&[&there, &here]).unwrap_err().code(), "device");
}

#[test]
fn copies_between_devices_keep_the_data() {
    let (client, first, second) = two_devices();
    let data: Vec<i64> = (0..12).collect();
    let here = client.array_on(&data, [3, 4], first).unwrap();
    let there = here.to_device(second).unwrap();
    assert_eq!(
        (there.device(), there.shape(), values::<i64>(&there)),
        (second, &[3i64, 4][..], data.clone())
    );
    drop(here);
    let back = there.to_device(first).unwrap();
    assert_eq!((back.device(), values::<i64>(&back)), (first, data));

    let empty = client.array_on::<f32>(&[], [0, 3], first).unwrap().to_device(second).unwrap();
    assert_eq!(values::<f32>(&empty), []);
    let scalar = client.array_on(&[7u8], [], first).unwrap().to_device(second).unwrap();
    assert_eq!(values::<u8>(&scalar), [7]);
}

#[test]
fn a_copy_waits_for_a_result_that_is_still_computed() {
    let (client, first, second) = two_devices();
    let n = 1 << 20;
    let text = format!(
        "func.func @main(%a: tensor<{n}xf64>) -> tensor<{n}xf64> {{
           %0 = stablehlo.sine %a : tensor<{n}xf64>
           %1 = stablehlo.cosine %0 : tensor<{n}xf64>
           %2 = stablehlo.subtract %1, %1 : tensor<{n}xf64>
           %3 = stablehlo.add %2, %a : tensor<{n}xf64>
           return %3 : tensor<{n}xf64> }}"
    );
    let executable = client.compile_on(Source::StableHlo(text), first).unwrap();
    let data: Vec<f64> = (0..n).map(f64::from).collect();
    let a = client.array_on(&data, [i64::from(n)], first).unwrap();
    for _ in 0..3 {
        let result = run(&executable, &[&a]);
        let copy = result.to_device(second).unwrap();
        drop(result);
        assert_eq!(values::<f64>(&copy), data);
    }
}

#[test]
fn a_copy_is_an_array_of_its_own() {
    let (client, first, second) = two_devices();
    let text = "func.func @main(%a: tensor<4xf32> {jax.buffer_donor = true}) -> tensor<4xf32> {
        %0 = stablehlo.add %a, %a : tensor<4xf32>
        return %0 : tensor<4xf32> }";
    let double = client.compile_on(Source::StableHlo(text.into()), first).unwrap();
    let a = client.array_on(&[1f32, 2.0, 3.0, 4.0], [4], first).unwrap();
    let copy = a.to_device(second).unwrap();
    let doubled = run(&double, &[&a]);
    assert!(a.is_donated());
    assert_eq!(values::<f32>(&doubled), [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(values::<f32>(&copy), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn the_default_client_is_one_for_the_process() {
    let here = client();
    let there = std::thread::spawn(client).join().unwrap();
    assert_eq!(here, there);
    assert_ne!(here, client_with_devices(1));
}

#[test]
fn all_plugins_fit_into_one_process() {
    let plugins = cached_plugins();
    let clients: Vec<Client> =
        plugins.iter().map(|path| Client::from_plugin(path, &ClientOptions::new()).unwrap()).collect();
    let sums: Vec<_> = clients
        .iter()
        .map(|&client| {
            let a = client.array(&[1f32, 2.0], [2]).unwrap();
            (run(&compile(client, &add("tensor<2xf32>")), &[&a, &a]), a)
        })
        .collect();
    for (sum, _) in &sums {
        assert_eq!(values::<f32>(sum), [2.0, 4.0]);
    }
    // An array of one client is none of another's.
    if let [one, two, ..] = clients[..] {
        let foreign = two.array(&[1f32, 2.0], [2]).unwrap();
        let error = compile(one, &add("tensor<2xf32>")).execute(&[&foreign, &foreign]).unwrap_err();
        assert_eq!(error.code(), "client");
    }
    println!("{} plugins", clients.len());
}

#[test]
fn threads_share_executables_and_arrays() {
    let client = client();
    let executable = Arc::new(compile(client, &add("tensor<8xf32>")));
    let a = client.array(&[1f32; 8], [8]).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|t| {
            let (executable, a) = (executable.clone(), a.clone());
            std::thread::spawn(move || {
                for i in 0..500 {
                    let b = a.client().array(&[(t * i) as f32; 8], [8]).unwrap();
                    assert_eq!(values::<f32>(&run(&executable, &[&a, &b])), [1.0 + (t * i) as f32; 8]);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn impossible_client_options_are_errors() {
    // The plugins themselves would end the process at the first, and give a client without devices at the second.
    for wrong in
        [ClientOptions::new().set("cpu_device_count", "two"), ClientOptions::new().set("cpu_device_count", 0)]
    {
        let error = Client::for_platform("cpu", &wrong).unwrap_err();
        assert_eq!(error.code(), "option");
        assert!(
            error.to_string().starts_with("option `cpu_device_count`: expected an integer from 1"),
            "{error}"
        );
    }
    // A later value replaces an earlier one.
    let options = ClientOptions::new().set("cpu_device_count", 7).set("cpu_device_count", 3i64);
    assert_eq!(Client::for_platform("cpu", &options).unwrap().devices().len(), 3);
}

#[test]
fn options_that_the_plugin_does_not_know_are_its_own_business() {
    let options = ClientOptions::new()
        .set("dispatch_text", "x")
        .set("dispatch_ints", vec![1i64, 2])
        .set("dispatch_float", 0.5f32)
        .set("dispatch_bool", true);
    match Client::for_platform("cpu", &options) {
        Ok(client) => assert!(client.devices().len() > 0),
        Err(error) => assert_eq!(error.code(), "pjrt", "{error}"),
    }
}
