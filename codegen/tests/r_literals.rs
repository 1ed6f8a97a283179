//! R reads the defaults of generated functions as the values that they are in Rust.
#![cfg(feature = "build")]

use std::fmt::Write;
use std::process::Command;

use dispatch_codegen::syntax::{self, Param, RKind, RValue};

/// What R writes for a default of this type.
fn literal(ty: &str, default: &str) -> String {
    let function =
        format!("fn f(#[static_arg(default = {default})] a: {ty}) -> Result<Program> {{ todo!() }}");
    let family = syntax::family("r_export".parse().unwrap(), function.parse().unwrap());
    let family = family.unwrap_or_else(|rejected| panic!("{default}: {:?}", rejected.errors));
    let Param::Static(fixed) = &family.params[0] else { panic!("{default} is not static") };
    fixed.r.as_ref().unwrap().default.as_ref().unwrap().to_string()
}

fn bytes(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
    format!("as.raw(c({}))", bytes.join(", "))
}

/// A double by its bits.
fn double(value: f64) -> String {
    format!("readBin({}, \"double\", endian = \"little\")", bytes(&value.to_le_bytes()))
}

/// A string by its bytes.
fn string(value: &str) -> String {
    format!("{{ s <- rawToChar({}); Encoding(s) <- \"UTF-8\"; s }}", bytes(value.as_bytes()))
}

/// Compares texts with values in R; each pair is a literal and an independent expression of the value.
fn compare(pairs: &[(String, String)]) {
    let mut script = String::from("wrong <- 0\n");
    for (literal, value) in pairs {
        writeln!(
            script,
            "got <- {literal}; want <- {value}
             if (!identical(got, want, num.eq = FALSE, single.NA = TRUE)) {{
               wrong <- wrong + 1; cat({literal:?}, \"is\", deparse(got), \"not\", deparse(want), \"\\n\")
             }}"
        )
        .unwrap();
    }
    writeln!(script, "cat({}, \"compared\\n\"); quit(status = wrong > 0)", pairs.len()).unwrap();
    let file =
        std::env::temp_dir().join(format!("dispatch-literals-{}-{}.R", pairs.len(), std::process::id()));
    std::fs::write(&file, script).unwrap();
    let run = Command::new("Rscript").arg("--vanilla").arg(&file).env("LC_ALL", "C.UTF-8").output();
    let run = run.expect("this test needs Rscript");
    std::fs::remove_file(file).unwrap();
    let out = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{out}{}", String::from_utf8_lossy(&run.stderr));
    assert!(out.contains(&format!("{} compared", pairs.len())), "{out}");
}

#[test]
fn r_reads_each_form_of_a_default_as_its_value() {
    let text = "tab\\t \\\"quoted\\\" back\\\\slash \\n\\r é 😀 \\u{7} \\u{7f} 'a' %s";
    let unescaped = "tab\t \"quoted\" back\\slash \n\r é 😀 \u{7} \u{7f} 'a' %s";
    let cases = [
        ("bool", "true".to_owned(), "TRUE".to_owned()),
        ("bool", "!true".to_owned(), "FALSE".to_owned()),
        ("i32", "25".into(), "as.integer(25)".into()),
        ("i32", "-(7)".into(), "as.integer(-7)".into()),
        ("i64", "-2147483648".into(), double(-2147483648.0)),
        ("i64", "2147483648".into(), double(2147483648.0)),
        ("u64", "9007199254740991".into(), double(9007199254740991.0)),
        ("f64", "0.1".into(), double(0.1)),
        ("f64", "-0.0".into(), double(-0.0)),
        ("f64", "1.0".into(), double(1.0)),
        ("f64", "1e5".into(), double(1e5)),
        ("f64", "123456789012345680000.0".into(), double(123456789012345680000.0)),
        ("f64", "f64::INFINITY".into(), "Inf".into()),
        ("f64", "f64::NEG_INFINITY".into(), "-Inf".into()),
        ("f64", "f64::NAN".into(), "NaN".into()),
        ("f64", "f64::EPSILON".into(), ".Machine$double.eps".into()),
        ("f64", "f64::MIN_POSITIVE".into(), ".Machine$double.xmin".into()),
        ("f64", "f64::MAX".into(), ".Machine$double.xmax".into()),
        ("f64", "std::f64::consts::PI".into(), "pi".into()),
        ("f64", "-f64::consts::E".into(), double(-std::f64::consts::E)),
        ("f32", "0.1".into(), double(0.1)),
        ("f32", "f32::MAX".into(), double(f32::MAX.into())),
        ("String", format!("\"{text}\".into()"), string(unescaped)),
        ("String", "String::new()".into(), "\"\"".into()),
        ("Link", "Link::LogLog".into(), "\"log_log\"".into()),
        ("Option<i64>", "None".into(), "NULL".into()),
        ("Option<i64>", "Some(3)".into(), "3L".into()),
        ("Vec<i64>", "vec![]".into(), "integer(0)".into()),
        ("Vec<i64>", "vec![1, 2]".into(), "1:2".into()),
        ("Vec<i64>", "vec![1, 3_000_000_000]".into(), format!("c(1, {})", double(3e9))),
        ("Vec<f64>", "vec![0.5; 3]".into(), "rep(1 / 2, 3)".into()),
        ("Vec<bool>", "Vec::new()".into(), "logical(0)".into()),
        ("Vec<String>", "vec![\"a\".into(), \"é\".into()]".into(), format!("c(\"a\", {})", string("é"))),
        ("[f64; 2]", "[1.0, -1.0]".into(), "c(1, -1)".into()),
    ];
    let pairs: Vec<(String, String)> =
        cases.into_iter().map(|(ty, default, value)| (literal(ty, &default), value)).collect();
    compare(&pairs);
}

#[test]
fn r_reads_a_vector_where_its_function_is_hidden() {
    let mut vector = RValue::vector(RKind::Integer, vec![RValue::Integer(1), RValue::Integer(2)]);
    vector.qualify();
    let mut empty = RValue::vector(RKind::Double, vec![]);
    empty.qualify();
    compare(&[
        (format!("(function(c = {vector}) c)()"), "1:2".to_owned()),
        (format!("(function(numeric, x = {empty}) x)()"), "double(0)".to_owned()),
    ]);
}

/// Doubles of every size, as their shortest digits.
#[test]
fn r_reads_doubles_to_the_last_bit() {
    let mut pairs = Vec::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for index in 0..4000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = match index % 4 {
            // Any bits, numbers as people write them, numbers between 0 and 1, and halves of large integers.
            0 => f64::from_bits(state),
            1 => ((state >> 40) as f64) / 1000.0,
            2 => (state >> 11) as f64 / (1u64 << 53) as f64,
            _ => (state >> 12) as f64 * 0.5,
        };
        if value.is_finite() {
            pairs.push((RValue::Double(value).to_string(), double(value)));
        }
    }
    compare(&pairs);
}
