//! `target/bench/results.json`: one JSON object a line.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{fs, io};

/// What one benchmark process measured.
#[derive(Default)]
pub struct Results(Vec<(String, String)>);

impl Results {
    /// Nothing measured yet.
    pub fn new() -> Results {
        Results::default()
    }

    /// A figure without a limit, for reading.
    pub fn report(&mut self, name: &str, value: f64, unit: &str) {
        self.push(name, value, unit, None);
    }

    /// A figure that must be at most `limit`.
    pub fn at_most(&mut self, name: &str, value: f64, unit: &str, limit: f64) {
        self.push(name, value, unit, Some(limit));
    }

    /// A ratio that must be at least `limit`: its inverse is written, so that smaller is better.
    pub fn at_least(&mut self, name: &str, value: f64, limit: f64) {
        self.push(&format!("{name} (inverse)"), 1.0 / value, "1/times", Some(1.0 / limit));
    }

    fn push(&mut self, name: &str, value: f64, unit: &str, limit: Option<f64>) {
        let mut line = format!(r#"{{"name": {}, "value": {value}, "unit": {}"#, quoted(name), quoted(unit));
        if let Some(limit) = limit {
            let _ = write!(line, r#", "limit": {limit}"#);
        }
        line.push('}');
        self.0.push((quoted(name), line));
    }

    /// Adds the figures to the file, in place of older ones of the same names.
    pub fn write(&self) -> io::Result<()> {
        let path = path();
        fs::create_dir_all(path.parent().expect("the file is in a folder"))?;
        let old = fs::read_to_string(&path).unwrap_or_default();
        let replaced =
            |line: &str| self.0.iter().any(|(name, _)| line.contains(&format!(r#""name": {name},"#)));
        let kept = old.lines().filter(|line| !replaced(line)).map(str::to_owned);
        let all: Vec<String> = kept.chain(self.0.iter().map(|(_, line)| line.clone())).collect();
        fs::write(&path, all.join("\n") + "\n")
    }
}

/// In the repository's own target folder, also where cargo's is elsewhere.
fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/bench/results.json")
}

/// Names and units are plain text without control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
