//! Errors of the options of `#[dispatch_family(...)]`.

use super::{Table, check, family};

pub(super) const TABLES: [Table; 1] = [OPTIONS];

const OPTIONS: Table = Table {
    read: |source| family(source).map(drop),
    template: "#[dispatch_family({})] fn f() -> Result<Program> {}",
    cases: &[
        ("capacity = 0", &[("0", "a cache of capacity 0 could hold no program", "`capacity = 1`")]),
        ("capacity = 0usize", &[("0usize", "a cache of capacity 0 could hold no program", "")]),
        ("capacity = -1", &[("-1", "`capacity` must be a positive integer, found `-1`", "`capacity = 64`")]),
        ("capacity = 1.5", &[("1.5", "`capacity` must be a positive integer, found `1.5`", "")]),
        ("capacity = \"64\"", &[("\"64\"", "`capacity` must be a positive integer, found `\"64\"`", "")]),
        ("capacity = 64u8", &[("64u8", "`capacity` must be a positive integer, found `64u8`", "`usize`")]),
        ("capacity", &[("capacity", "option `capacity` needs a value", "`capacity = 64`")]),
        ("capacity(64)", &[("capacity", "option `capacity` needs a value", "`capacity = 64`")]),
        (
            "capasity = 64",
            &[("capasity", "`#[dispatch_family(...)]` has no option `capasity`", "did you mean `capacity`?")],
        ),
        (
            "move_inputs = true",
            &[(
                "move_inputs",
                "`#[dispatch_family(...)]` has no option `move_inputs`",
                "write `device = fixed`",
            )],
        ),
        (
            "shards = 2",
            &[(
                "shards",
                "`#[dispatch_family(...)]` has no option `shards`",
                "`capacity`, `eviction`, `device`",
            )],
        ),
        ("capacity = 1, capacity = 2", &[("capacity", "option `capacity` is given twice", "")]),
        (
            "eviction = \"lru\"",
            &[("\"lru\"", "`eviction` must be a policy, found `\"lru\"`", "`eviction = Lru`")],
        ),
        ("eviction = 3", &[("3", "`eviction` must be a policy, found `3`", "")]),
        ("device = fix", &[("fix", "unknown device policy `fix`", "`first_input` and `fixed`")]),
        ("device = fixd", &[("fixd", "unknown device policy `fixd`", "did you mean `fixed`?")]),
        (
            "device = cpu",
            &[("cpu", "unknown device policy `cpu`", "the policies are `first_input` and `fixed`")],
        ),
        (
            "default_device = || cpu()",
            &[(
                "|| cpu()",
                "`default_device` must be the path of a function, found `||cpu()`",
                "default_device = path::to::fn",
            )],
        ),
        (
            "context = 3",
            &[("3", "`context` must be the path of a function, found `3`", "context = path::to::fn")],
        ),
        (
            "default_device = cpu, device = fixed",
            &[("default_device", "`default_device` has no effect with `device = fixed`", "remove one")],
        ),
        ("r_name = \"f\"", &[("r_name", "`r_name` has no effect without `r_export`", "add `r_export`")]),
        ("r_export, r_name = f", &[("f", "`r_name` must be a string, found `f`", "in quotes")]),
        (
            "r_export, r_name = \"2f\"",
            &[(
                "\"2f\"",
                "`2f` is not a name in R: it does not begin with a letter",
                "beginning with a letter",
            )],
        ),
        ("r_export, r_name = \"if\"", &[("\"if\"", "`if` is not a name in R: the word is reserved", "")]),
        ("r_export, r_name = \"..1\"", &[("\"..1\"", "`..1` is not a name in R: the word is reserved", "")]),
        ("r_export, r_name = \"\"", &[("\"\"", "`` is not a name in R: it is empty", "")]),
        (
            "r_export, r_name = \"a-b\"",
            &[(
                "\"a-b\"",
                "`a-b` is not a name in R: it has other characters than letters, digits, `.` and `_`",
                "",
            )],
        ),
        ("r_export = true", &[("r_export", "option `r_export` takes no value", "write `r_export` alone")]),
        (
            "capacity = 0, evict = Lru, device = gpu, 7",
            &[
                ("0", "a cache of capacity 0 could hold no program", ""),
                ("evict", "`#[dispatch_family(...)]` has no option `evict`", ""),
                ("gpu", "unknown device policy `gpu`", ""),
                (
                    "7",
                    "expected an option of `#[dispatch_family(...)]`, found `7`",
                    "the options are `capacity`",
                ),
            ],
        ),
    ],
};

#[test]
fn options_of_a_family() {
    check(&OPTIONS);
}

/// Mistakes in the attribute, the arguments and the result all show at once.
#[test]
fn all_mistakes_of_a_declaration_are_reported_in_one_pass() {
    let source = "#[dispatch_family(capacity = 0, evicton = Lru)]
        fn f(
            #[dynamic(dtype = f33, shape = [m, ..])] a: Aval,
            #[dynamic(dtype = dtype(z), shape = [a])] b: Value,
            c: bool,
        ) -> Program {}";
    let found = family(source).unwrap_err();
    let mut on: Vec<String> = found.iter().map(|error| error.span().source_text().unwrap()).collect();
    on.sort();
    assert_eq!(on, ["..", "0", "Program", "Value", "a", "c", "evicton", "f33", "z"]);
}
