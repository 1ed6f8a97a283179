//! Two copies of the runtime in one process, as two R packages have them: here one copy stands for both, with a client that
//! it made and one that it adopted.

use std::sync::OnceLock;

use dispatch_runtime::engine::Engine;
use dispatch_runtime::engine::pjrt::{ClientOptions, PjrtEngine};
use dispatch_runtime::prelude::*;

fn engine(client: Client) -> &'static PjrtEngine {
    client.engine().as_any().downcast_ref().unwrap()
}

/// A client, and another one for the same `PJRT_Client`.
fn clients() -> (Client, Client) {
    static CLIENTS: OnceLock<(Client, Client)> = OnceLock::new();
    *CLIENTS.get_or_init(|| {
        let options = ClientOptions::new().set("cpu_device_count", 2);
        let made = Client::for_platform("cpu", &options).unwrap();
        let engine = engine(made);
        // SAFETY: the plugin is initialised, and the client is its own; both live as long as the process.
        let adopted = unsafe { Client::adopt_pjrt(engine.api(), engine.client(), engine.plugin_path()) };
        (made, adopted.unwrap())
    })
}

/// The array as the other copy has it.
fn lend(array: &Array, to: Client) -> Array {
    // SAFETY: the buffer is one of the `PJRT_Client` that both know; dtype, shape and device are its own.
    unsafe {
        Array::from_owner(
            to,
            array.raw(),
            array.device().index(),
            array.dtype(),
            array.shape(),
            array.clone().into_owner(),
        )
    }
}

/// `a + b`
#[dispatch_family]
fn sum(
    cx: &CompileCx,
    #[dynamic(dtype = f32, shape = [n])] a: Value,
    #[dynamic(dtype = f32, shape = [n])] b: Value,
) -> Result<Program> {
    cx.program(a + b)
}

/// `a + a`, in its memory.
#[dispatch_family]
fn doubled(cx: &CompileCx, #[dynamic(dtype = f32, shape = [n], donate)] a: Value) -> Result<Program> {
    cx.program(&a + &a)
}

#[test]
fn an_adopted_client_has_the_devices_of_the_one_that_was_made() {
    let (made, adopted) = clients();
    assert_ne!(made, adopted);
    assert_eq!(engine(made).client(), engine(adopted).client());
    assert_eq!(engine(made).devices(), engine(adopted).devices());
    assert_eq!(adopted.devices().len(), 2);
    for i in 0..2 {
        assert_eq!(engine(made).device(i), engine(adopted).device(i));
    }
}

#[test]
fn a_lent_array_is_an_argument_to_a_family_of_the_adopted_client() {
    let (made, adopted) = clients();
    let family = Sum::new(&adopted);
    let device = made.devices().nth(1).unwrap();
    let a = made.array_on(&[1f32, 2.0, 3.0], [3], device).unwrap();
    let b = adopted.array_on(&[10f32, 20.0, 30.0], [3], adopted.devices().nth(1).unwrap()).unwrap();
    let lent = lend(&a, adopted);
    assert_eq!(family.call(&lent, &b).unwrap().to_vec::<f32>().unwrap(), [11.0, 22.0, 33.0]);
    // As it is, it belongs to another client.
    assert_eq!(family.call(&a, &b).unwrap_err().code(), "client");
    drop(a);
    assert_eq!(lent.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0]);
    // And the result goes back.
    let back = lend(&family.call(&lent, &lent).unwrap(), made);
    assert_eq!(Sum::new(&made).call(&back, &back).unwrap().to_vec::<f32>().unwrap(), [4.0, 8.0, 12.0]);
}

#[test]
fn what_an_adopted_client_consumes_is_gone_for_the_owner() {
    let (made, adopted) = clients();
    let a = made.array(&[1f32, 2.0], [2]).unwrap();
    let lent = lend(&a, adopted);
    let family = Doubled::new(&adopted);
    assert_eq!(family.call(&lent).unwrap().to_vec::<f32>().unwrap(), [2.0, 4.0]);
    assert!(a.is_donated());
    assert_eq!(a.to_vec::<f32>().unwrap_err().code(), "donated");
    assert_eq!(family.call(lend(&a, adopted)).unwrap_err().code(), "donated");
}
