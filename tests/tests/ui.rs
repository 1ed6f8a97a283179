//! What a declaration with a mistake says, by rule: each case and its errors stand in `ui/<rule>/`.
//!
//! After a change of a message run with `TRYBUILD=overwrite` and read every difference.

#[test]
fn mistakes_in_declarations() {
    trybuild::TestCases::new().compile_fail("ui/*/*.rs");
}
