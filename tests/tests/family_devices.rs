//! Where a call runs, and what of it is in the key.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

use dispatch_runtime::engine::fake::{FakeEngine, Op};
use dispatch_runtime::prelude::*;
use dispatch_tests::{array_on, first, zeros};

#[dispatch_family]
fn by_input(
    #[dynamic(dtype = f32, shape = [])] a: Aval,
    #[dynamic(dtype = f32, shape = [])] b: Aval,
) -> Result<Program> {
    first(&[a, b])
}

#[dispatch_family(device = fixed)]
fn fixed(
    #[dynamic(dtype = f32, shape = [])] a: Aval,
    #[dynamic(dtype = f32, shape = [])] b: Aval,
) -> Result<Program> {
    first(&[a, b])
}

fn scalar(device: Device, value: f32) -> Array {
    device.client().array_on(&[value], [], device).unwrap()
}

fn devices<const N: usize>(client: Client) -> [Device; N] {
    client.devices().collect::<Vec<_>>().try_into().unwrap()
}

// --- first_input

#[test]
fn a_call_runs_on_the_device_of_its_arrays() {
    let (client, state) = FakeEngine::client(2);
    let family = ByInput::new(&client);
    for device in devices::<2>(client) {
        for _ in 0..2 {
            let y = family.call(scalar(device, 1.0), 2.0).unwrap();
            assert_eq!(y.device(), device);
            // The host value goes there too: the fake engine would not run with it elsewhere.
            let y = family.call(2.0, scalar(device, 1.0)).unwrap();
            assert_eq!((y.device(), y.to_vec::<f32>().unwrap()[0]), (device, 2.0));
        }
    }
    assert_eq!((state.compiles(), state.count(Op::Copy)), (2, 0));
    drop(family);
    state.assert_clean();
}

#[test]
fn arrays_on_two_devices_are_an_error_that_names_the_second() {
    let (client, state) = FakeEngine::client(2);
    let [d0, d1] = devices(client);
    let error = ByInput::new(&client).call(scalar(d1, 1.0), scalar(d0, 1.0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `b`: expected an array on fake:1, as the first array, got one on fake:0"
    );
    assert_eq!((error.code(), state.compiles()), ("device", 0));
}

#[test]
fn two_handles_of_one_device_are_one_key() {
    let (client, state) = FakeEngine::client(2);
    let family = ByInput::new(&client);
    let again = devices::<2>(client)[1];
    let array = scalar(client.devices().nth(1).unwrap(), 1.0);
    for device in [client.devices().last().unwrap(), again, array.device()] {
        family.call(scalar(device, 1.0), 0.0).unwrap();
    }
    assert_eq!(state.compiles(), 1);
}

// --- default_device

static DEFAULT: AtomicU32 = AtomicU32::new(0);

fn chosen(client: &Client) -> Device {
    client.devices().nth(DEFAULT.load(SeqCst) as usize).unwrap()
}

#[dispatch_family(default_device = chosen)]
fn resolved(
    #[dynamic(dtype = f32, shape = [])] a: Aval,
    #[dynamic(dtype = f32, shape = [])] b: Aval,
) -> Result<Program> {
    first(&[a, b])
}

#[test]
fn changing_the_default_device_misses_only_for_calls_without_arrays() {
    let (client, state) = FakeEngine::client(3);
    let [d0, d1, d2] = devices(client);
    let family = Resolved::new(&client);
    let on_0 = scalar(d0, 5.0);

    assert_eq!(family.call(1.0, 2.0).unwrap().device(), d0);
    family.call(&on_0, 2.0).unwrap();
    assert_eq!(state.compiles(), 1);

    DEFAULT.store(1, SeqCst);
    family.call(&on_0, 2.0).unwrap();
    assert_eq!(state.compiles(), 1);
    assert_eq!(family.call(1.0, 2.0).unwrap().device(), d1);
    assert_eq!(state.compiles(), 2);
    // A program compiled for arrays on a device serves calls without arrays there.
    family.call(scalar(d2, 1.0), 2.0).unwrap();
    DEFAULT.store(2, SeqCst);
    assert_eq!(family.call(1.0, 2.0).unwrap().device(), d2);
    assert_eq!(state.compiles(), 3);

    DEFAULT.store(0, SeqCst);
    family.call(1.0, 2.0).unwrap();
    assert_eq!(state.compiles(), 3);
    assert_eq!((family.stats().compiles, family.stats().misses), (3, 3));
}

#[test]
fn the_default_device_is_not_asked_for_if_there_is_an_array() {
    mod resolver {
        use super::*;

        pub static ASKED: AtomicUsize = AtomicUsize::new(0);

        pub fn counting(client: &Client) -> Device {
            ASKED.fetch_add(1, SeqCst);
            client.default_device()
        }
    }

    #[dispatch_family(default_device = resolver::counting)]
    fn asks(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let client = Client::host();
    let family = Asks::new(&client);
    family.call(scalar(client.default_device(), 1.0)).unwrap();
    assert_eq!(resolver::ASKED.load(SeqCst), 0);
    family.call(1.0).unwrap();
    family.warm(Aval::new(DType::F32, [])).unwrap();
    family.explain(1.0).unwrap();
    assert_eq!(resolver::ASKED.load(SeqCst), 3);
}

#[test]
fn a_default_device_of_another_client_is_an_error() {
    fn stranger(_: &Client) -> Device {
        Client::host_with_devices(1).unwrap().default_device()
    }
    #[dispatch_family(default_device = stranger)]
    fn estranged(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let (client, _) = FakeEngine::client(1);
    let error = Estranged::new(&client).call(1.0).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("client", Some("default_device")));
}

#[test]
fn calls_without_arrays_and_resolver_run_on_the_first_device() {
    let (client, _) = FakeEngine::client(2);
    let y = ByInput::new(&client).call(1.0, 2.0).unwrap();
    assert_eq!(y.device(), client.default_device());
}

#[test]
fn the_builder_chooses_the_device_of_calls_without_arrays() {
    let (client, state) = FakeEngine::client(3);
    let [d0, d1, d2] = devices(client);
    let family = Resolved::builder(&client).device(d2).build().unwrap();
    assert_eq!(family.call(1.0, 2.0).unwrap().device(), d2);
    assert_eq!(family.call(scalar(d1, 1.0), 2.0).unwrap().device(), d1);
    assert_eq!(family.call(scalar(d0, 1.0), 2.0).unwrap().device(), d0);
    assert_eq!(state.compiles(), 3);
}

#[test]
fn the_builder_refuses_a_device_of_another_client() {
    let (client, _) = FakeEngine::client(1);
    let error = ByInput::builder(&client).device(Client::host().default_device()).build().err().unwrap();
    assert_eq!(
        error.to_string(),
        concat!(
            "option `device`: expected a device of client fake of the fake engine, ",
            "got one of client host of the host engine 0.1.0"
        )
    );
}

// --- fixed

#[test]
fn a_fixed_family_copies_arrays_to_its_device() {
    let (client, state) = FakeEngine::client(3);
    let [d0, d1, d2] = devices(client);
    let family = Fixed::builder(&client).device(d1).build().unwrap();
    let live = state.live_buffers();
    for (a, b) in [(d0, d2), (d1, d1), (d2, d0), (d0, d0)] {
        let (a, b) = (scalar(a, 3.0), scalar(b, 4.0));
        let y = family.call(&a, &b).unwrap();
        assert_eq!((y.device(), y.to_vec::<f32>().unwrap()[0]), (d1, 3.0));
        // The arrays stay where they are, and what they are.
        assert_eq!(a.to_vec::<f32>().unwrap(), [3.0]);
    }
    assert_eq!(family.call(1.0, 2.0).unwrap().device(), d1);
    // The key carries no device.
    assert_eq!((state.compiles(), state.count(Op::Copy)), (1, 6));
    assert_eq!(state.live_buffers(), live, "the copies end with their calls");
    drop(family);
    state.assert_clean();
}

#[test]
fn a_failed_copy_is_an_error_and_leaves_nothing() {
    let (client, state) = FakeEngine::client(2);
    let [d0, d1] = devices(client);
    let family = Fixed::builder(&client).device(d1).build().unwrap();
    let (a, b) = (scalar(d0, 3.0), scalar(d0, 4.0));
    state.fail(Op::Copy, 1);
    assert_eq!(family.call(&a, &b).unwrap_err().code(), "pjrt");
    assert_eq!(family.call(&a, &b).unwrap().to_vec::<f32>().unwrap(), [3.0]);
    drop((a, b, family));
    state.assert_clean();
}

#[test]
fn a_fixed_family_copies_lists_and_structs_too() {
    #[derive(InputTree)]
    struct Pair<T> {
        #[dynamic(dtype = f32, shape = [])]
        a: T,
        #[dynamic(dtype = f32, shape = [])]
        b: Vec<T>,
    }

    #[dispatch_family(device = fixed)]
    fn moved(
        #[dynamic(dtype = f32, shape = [])] xs: Vec<Aval>,
        #[dynamic] pair: Pair<Aval>,
        #[dynamic(dtype = f32, shape = [])] y: Aval,
    ) -> Result<Program> {
        let mut all = xs;
        all.push(pair.a);
        all.extend(pair.b);
        all.push(y);
        zeros(&all, &[Aval::new(DType::F32, [])])
    }
    let (client, state) = FakeEngine::client(2);
    let [d0, d1] = devices(client);
    let family = Moved::builder(&client).device(d1).build().unwrap();
    let pair = Pair { a: scalar(d0, 1.0), b: vec![scalar(d1, 1.0), scalar(d0, 1.0)] };
    let y = family.call([scalar(d0, 1.0), scalar(d1, 2.0)], &pair, scalar(d0, 1.0)).unwrap();
    assert_eq!((y.device(), state.count(Op::Copy)), (d1, 4));
    drop((y, pair, family));
    state.assert_clean();
}

#[test]
fn an_array_of_another_client_is_not_copied() {
    let (client, state) = FakeEngine::client(1);
    let (other, _) = FakeEngine::client(1);
    let family = Fixed::new(&client);
    let error = family.call(scalar(other.default_device(), 1.0), 1.0).unwrap_err();
    assert_eq!((error.code(), error.argument()), ("client", Some("a")));
    assert_eq!((state.compiles(), state.count(Op::Copy)), (0, 0));
}

#[test]
fn the_builder_fixes_the_device_of_a_family_that_follows_its_inputs() {
    let (client, state) = FakeEngine::client(2);
    let [d0, d1] = devices(client);
    let family = ByInput::builder(&client).device_policy(DevicePolicy::Fixed).device(d1).build().unwrap();
    for (a, b) in [(d0, d1), (d1, d0), (d0, d0), (d1, d1)] {
        assert_eq!(family.call(scalar(a, 1.0), scalar(b, 1.0)).unwrap().device(), d1);
    }
    assert_eq!(state.compiles(), 1);
}

#[test]
fn the_builder_lets_a_fixed_family_follow_its_inputs() {
    let (client, state) = FakeEngine::client(2);
    let [d0, d1] = devices(client);
    let family = Fixed::builder(&client).device_policy(DevicePolicy::FirstInput).build().unwrap();
    for device in [d0, d1, d0, d1] {
        assert_eq!(family.call(scalar(device, 1.0), 1.0).unwrap().device(), device);
    }
    assert_eq!((state.compiles(), state.count(Op::Copy)), (2, 0));
    assert_eq!(family.call(scalar(d0, 1.0), scalar(d1, 1.0)).unwrap_err().code(), "device");
}

#[test]
fn a_fixed_device_is_that_of_the_resolver_if_nobody_names_one() {
    fn second(client: &Client) -> Device {
        client.devices().nth(1).unwrap()
    }
    #[dispatch_family(default_device = second)]
    fn here(#[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        first(&[a])
    }
    let (client, _) = FakeEngine::client(2);
    let [d0, d1] = devices(client);
    let family = Here::builder(&client).device_policy(DevicePolicy::Fixed).build().unwrap();
    assert_eq!(family.call(scalar(d0, 1.0)).unwrap().device(), d1);
}

// --- context

#[test]
fn the_context_is_part_of_the_key_and_told_to_the_body() {
    static PRECISION: AtomicU32 = AtomicU32::new(1);

    #[derive(Clone, Debug, PartialEq, StaticArg)]
    struct Settings {
        precision: u32,
        name: String,
    }

    fn settings() -> Settings {
        Settings { precision: PRECISION.load(SeqCst), name: "x".repeat(3) }
    }

    #[dispatch_family(context = settings)]
    fn contextual(cx: &CompileCx, #[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        assert!(cx.context::<u32>().is_none());
        let precision = cx.context::<Settings>().unwrap().precision as f32;
        Program::host([a.clone()], [a], move |_| Ok(vec![HostArray::new([precision], [])?]))
    }
    let family = Contextual::new(&Client::host());
    let call = || family.call(0.0).unwrap().to_vec::<f32>().unwrap()[0];
    assert_eq!([call(), call()], [1.0, 1.0]);
    PRECISION.store(2, SeqCst);
    assert_eq!(
        family.explain(0.0).unwrap().to_string(),
        concat!(
            r#"miss: context is Settings { precision: 2, name: "xxx" }, "#,
            r#"the nearest entry has Settings { precision: 1, name: "xxx" }"#
        )
    );
    assert_eq!([call(), call()], [2.0, 2.0]);
    PRECISION.store(1, SeqCst);
    assert_eq!(call(), 1.0);
    assert_eq!(family.stats().compiles, 2);
}

#[test]
fn a_context_and_an_argument_of_that_name_are_told_apart() {
    static CONTEXT: AtomicU32 = AtomicU32::new(1);

    fn current() -> u32 {
        CONTEXT.load(SeqCst)
    }

    #[dispatch_family(context = current)]
    fn both(#[dynamic(dtype = f32, shape = [])] a: Aval, #[static_arg] context: u32) -> Result<Program> {
        let _ = context;
        first(&[a])
    }
    let family = Both::new(&Client::host());
    family.call(0.0, 1).unwrap();
    CONTEXT.store(2, SeqCst);
    assert_eq!(family.explain(0.0, 1).unwrap().to_string(), "miss: context is 2, the nearest entry has 1");
    CONTEXT.store(1, SeqCst);
    assert_eq!(family.explain(0.0, 2).unwrap().to_string(), "miss: `context` is 2, the nearest entry has 1");
}

#[test]
fn a_body_without_context_has_none() {
    #[dispatch_family]
    fn bare(cx: &CompileCx, #[dynamic(dtype = f32, shape = [])] a: Aval) -> Result<Program> {
        assert!(cx.context::<()>().is_none());
        first(&[a])
    }
    Bare::new(&Client::host()).call(0.0).unwrap();
}

// --- arrays and devices

#[test]
fn arrays_know_their_device_and_copies_go_to_another() {
    let (client, state) = FakeEngine::client(2);
    let [d0, d1] = devices(client);
    let x = array_on(d0, DType::I32, &[2, 2]);
    let y = x.to_device(d1).unwrap();
    assert_eq!((x.device(), y.device(), y.aval()), (d0, d1, x.aval()));
    assert_eq!(x.to_device(d0).unwrap().device(), d0);
    assert_eq!(state.count(Op::Copy), 1);
}
