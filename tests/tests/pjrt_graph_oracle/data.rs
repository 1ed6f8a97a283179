//! The data of the oracle, as `tests/oracle/make.py` writes them.

use dispatch_runtime::prelude::*;
use dispatch_tests::graphs::from_bytes;

/// The cases of one group of operations.
pub struct Group {
    pub arrays: Vec<HostArray>,
    pub cases: Vec<Case>,
}

/// One call of one operation.
pub struct Case {
    /// As it stands in the file.
    pub line: &'static str,
    pub operation: &'static str,
    params: Vec<(&'static str, &'static str)>,
    /// Indices of arrays.
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
}

impl Group {
    pub fn parse(text: &'static str) -> Group {
        let (mut arrays, mut cases) = (Vec::new(), Vec::new());
        for line in text.lines() {
            match line.strip_prefix("= ") {
                Some(array) => arrays.push(parse_array(array)),
                None => cases.push(Case::parse(line)),
            }
        }
        Group { arrays, cases }
    }
}

impl Case {
    fn parse(line: &'static str) -> Case {
        let (call, outputs) = line.split_once(" ->").expect("an arrow in front of the results");
        let mut words = call.split_whitespace();
        let operation = words.next().expect("the name of an operation");
        let (params, inputs): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
        let params = params.iter().filter_map(|word| word.split_once('=')).collect();
        let numbers = |words: &[&str]| words.iter().map(|word| word.parse().expect("an index")).collect();
        let outputs: Vec<&str> = outputs.split_whitespace().collect();
        Case { line, operation, params, inputs: numbers(&inputs), outputs: numbers(&outputs) }
    }

    /// What the call says besides its operands.
    pub fn text(&self, key: &str) -> &'static str {
        self.find(key).unwrap_or_else(|| panic!("`{}` has no `{key}`", self.line))
    }

    pub fn find(&self, key: &str) -> Option<&'static str> {
        self.params.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    pub fn int(&self, key: &str) -> i64 {
        self.text(key).parse().expect("a number")
    }

    pub fn ints(&self, key: &str) -> Vec<i64> {
        numbers(self.text(key))
    }

    /// Numbers that the call may leave out.
    pub fn maybe(&self, key: &str) -> Option<Vec<i64>> {
        self.find(key).map(numbers)
    }

    pub fn flag(&self, key: &str) -> bool {
        self.find(key) == Some("1")
    }

    pub fn dtype(&self) -> DType {
        self.text("dtype").parse().expect("a dtype")
    }
}

fn numbers(text: &str) -> Vec<i64> {
    text.split(',').filter(|word| !word.is_empty()).map(|word| word.parse().expect("a number")).collect()
}

/// `f32[2] 0000803f00000040`
fn parse_array(text: &str) -> HostArray {
    let (aval, hex) = text.split_once(' ').unwrap_or((text, ""));
    let (dtype, shape) = aval.trim_end_matches(']').split_once('[').expect("a shape in brackets");
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hexadecimal digits"))
        .collect();
    from_bytes(dtype.parse().expect("a dtype"), &numbers(shape), &bytes)
        .expect("as many elements as the shape has")
}
