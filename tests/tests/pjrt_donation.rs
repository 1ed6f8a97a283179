//! Arguments whose memory a result takes over.

mod plugin;

use dispatch_runtime::engine::RunOptions;
use dispatch_runtime::engine::pjrt::mark_donors;
use dispatch_runtime::{Array, DType};
use plugin::{add, client, compile, engine, pjrt, run, values};

#[test]
fn a_marked_argument_gives_its_memory_to_the_result() {
    let client = client();
    let text = mark_donors(&add("tensor<4xf32>"), &[true, false]).unwrap();
    let executable = compile(client, &text);
    assert_eq!(executable.compiled().aliased(), [true, false]);
    assert_eq!(pjrt(&executable).memory_stats().unwrap().alias, 16);

    let (a, b) = (client.array(&[1f32; 4], [4]).unwrap(), client.array(&[2f32; 4], [4]).unwrap());
    assert_eq!(values::<f32>(&run(&executable, &[&a, &b])), [3.0; 4]);
    assert_eq!(a.to_vec::<f32>().unwrap_err().code(), "donated");
    assert_eq!(values::<f32>(&b), [2.0; 4]);
}

#[test]
fn large_memory_is_handed_over_and_little_memory_is_copied_where_that_is_faster() {
    let client = client();
    let donates_fast = engine(client).api_minor() >= 106;
    for n in [1usize, 1 << 14, (1 << 14) + 1, 1 << 18] {
        let text = mark_donors(&add(&format!("tensor<{n}xf32>")), &[true, false]).unwrap();
        let executable = compile(client, &text);
        // SAFETY: the options live as long as the executable, and are those of the C API: at byte 64 the number of
        // arguments that may not be donated in spite of their marks.
        let kept = unsafe { pjrt(&executable).execute_options().cast::<usize>().add(8).read() };
        assert_eq!(kept, usize::from(!donates_fast && n <= 1 << 14), "{n} floats");

        let step = client.array(&vec![1f32; n], [n as i64]).unwrap();
        let mut sum = client.array(&vec![0f32; n], [n as i64]).unwrap();
        for _ in 0..10 {
            let given = sum.clone();
            sum = run(&executable, &[&sum, &step]);
            assert_eq!(given.to_vec::<f32>().unwrap_err().code(), "donated");
        }
        assert!(values::<f32>(&sum).iter().all(|&x| x == 10.0), "{n} floats");
    }
}

#[test]
fn marks_stand_beside_other_attributes_locations_and_comments() {
    let client = client();
    let text = "#loc = loc(\"x\")
        module @m attributes {jax.uses_shape_polymorphism = false} {
          func.func private @helper(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }
          // func.func @main(%nothing: tensor<f32>) { return }
          func.func public @main(
              %arg0: tensor<4xf32> {jax.arg_info = \"a, {b}\"} loc(\"a\"),   // the first )
              %arg1: tensor<4xf32> loc(#loc)
              , %arg2: tensor<4xf32> {}
          ) -> (tensor<4xf32> {jax.result_info = \"\"}, tensor<4xf32>) {
            %0 = stablehlo.add %arg0, %arg2 : tensor<4xf32>
            %1 = stablehlo.multiply %arg1, %arg2 : tensor<4xf32>
            %2 = call @helper(%1) : (tensor<4xf32>) -> tensor<4xf32>
            return %0, %2 : tensor<4xf32>, tensor<4xf32>
          } }";
    for (donated, bytes) in
        [([true, false, false], 16), ([false, true, false], 16), ([true, true, false], 32)]
    {
        let executable = compile(client, &mark_donors(text, &donated).unwrap());
        assert_eq!(executable.compiled().aliased(), donated);
        assert_eq!(pjrt(&executable).memory_stats().unwrap().alias, bytes);
    }
}

#[test]
fn an_argument_that_no_result_can_take_over_is_not_aliased() {
    let client = client();
    let text = "func.func @main(%a: tensor<4xf32>) -> tensor<f32> {
        %0 = stablehlo.constant dense<1.0> : tensor<f32>
        return %0 : tensor<f32> }";
    let executable = compile(client, &mark_donors(text, &[true]).unwrap());
    assert_eq!(executable.compiled().aliased(), [false]);
}

#[test]
fn a_reader_on_another_thread_gets_the_old_values_or_an_error() {
    let client = client();
    let n = 1 << 16;
    let ty = format!("tensor<{n}xf32>");
    let text = format!(
        "func.func @main(%a: {ty}) -> {ty} {{
           %0 = stablehlo.negate %a : {ty}
           return %0 : {ty} }}"
    );
    let executable = compile(client, &mark_donors(&text, &[true]).unwrap());
    for _ in 0..100 {
        let a = client.array(&vec![1f32; n], [n as i64]).unwrap();
        let reader: Array = a.clone();
        let read = std::thread::spawn(move || reader.to_vec::<f32>());
        // Either the donation comes first and the reader finds the array gone, or the reader holds the memory and
        // the donation fails or waits. Never are values read that the program has overwritten.
        let result = executable.execute(&[&a]);
        match read.join().unwrap() {
            Ok(values) => assert!(values.iter().all(|&x| x == 1.0)),
            Err(error) => assert!(matches!(error.code(), "donated" | "pjrt"), "{error}"),
        }
        match result {
            Ok(results) => assert!(values::<f32>(&results[0]).iter().all(|&x| x == -1.0)),
            Err(error) => assert_eq!(error.code(), "pjrt", "{error}"),
        }
    }
}

#[test]
fn reserved_memory_takes_a_result() {
    let client = client();
    let device = client.default_device();
    let twice = compile(
        client,
        "func.func @main(%x: tensor<4xf32>, %out: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
          %y = stablehlo.add %x, %x : tensor<4xf32>
          return %y : tensor<4xf32>
        }",
    );
    let x = client.array(&[1f32, 2.0, 3.0, 4.0], [4]).unwrap();
    let room = client.allocate(DType::F32, [4], device).unwrap();
    assert_eq!((room.dtype(), room.shape(), room.is_ready().unwrap()), (DType::F32, &[4][..], true));
    assert_eq!(values::<f32>(&run(&twice, &[&x, &room])), [2.0, 4.0, 6.0, 8.0]);
    assert!(room.is_donated());
    // Bytes of anything would be no truth values.
    assert_eq!(values::<bool>(&client.allocate(DType::Bool, [3], device).unwrap()), [false; 3]);
    assert_eq!(values::<f64>(&client.allocate(DType::F64, [0, 2], device).unwrap()), [0f64; 0]);
    let error = client.allocate(DType::F32, [1 << 40, 1 << 40], device).unwrap_err();
    assert_eq!(error.code(), "shape");
}

#[test]
fn bytes_are_taken_for_what_the_program_expects_on_request() {
    let client = client();
    let same =
        compile(client, "func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> { return %x : tensor<2xi32> }");
    let floats = client.array(&[1f32, -0.0], [2, 1]).unwrap();
    let loosely = RunOptions { reinterpret: true, ..RunOptions::default() };
    let out = same.execute_with(&[&floats], loosely).unwrap();
    assert_eq!(values::<i32>(&out[0]), [1f32.to_bits() as i32, i32::MIN]);
    assert_eq!(same.execute(&[&floats]).unwrap_err().code(), "dtype");
    let longer = client.array(&[1f64, 2.0], [2]).unwrap();
    assert_eq!(
        same.execute_with(&[&longer], loosely).unwrap_err().to_string(),
        "argument `1`: expected shape of 8 bytes, as i32[2], got f64[2] of 16"
    );
    let flags = client.array(&[true; 8], [8]).unwrap();
    assert_eq!(same.execute_with(&[&flags], loosely).unwrap_err().code(), "dtype");
}
