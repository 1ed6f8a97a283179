//! `target/bench/results.json`: one JSON object a line.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{fs, io};

use crate::harness::median;

/// What a benchmark measured.
#[derive(Default)]
pub struct Results(Vec<Figure>);

/// One figure, smaller being better.
struct Figure {
    name: String,
    value: f64,
    unit: String,
    limit: Option<f64>,
}

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
        self.0.push(Figure { name: name.into(), value, unit: unit.into(), limit });
    }

    /// The median of each figure over several processes that measured the same. Prints what they differ by.
    pub fn medians(processes: Vec<Results>) -> Results {
        let count = processes.len();
        let mut all: Vec<(Figure, Vec<f64>)> = Vec::new();
        for figure in processes.into_iter().flat_map(|results| results.0) {
            match all.iter_mut().find(|(first, _)| first.name == figure.name) {
                Some((_, values)) => values.push(figure.value),
                None => all.push((Figure { value: 0.0, ..figure }, vec![figure.value])),
            }
        }
        if count > 1 {
            println!("\n  medians of {count} processes, and their range");
        }
        let figures = all.into_iter().map(|(figure, values)| {
            let value = median(&values);
            if count > 1 {
                let (low, high) =
                    values.iter().fold((value, value), |(low, high), &v| (v.min(low), v.max(high)));
                println!("  {:56} {value:9.4} ({low:.4} to {high:.4}) {}", figure.name, figure.unit);
            }
            Figure { value, ..figure }
        });
        Results(figures.collect())
    }

    /// Appends other figures.
    pub fn append(&mut self, other: Results) {
        self.0.extend(other.0);
    }

    /// Writes the figures to the standard output, for [`Results::read`] of the process that started this one.
    pub fn send(&self) {
        for Figure { name, value, unit, limit } in &self.0 {
            println!("{SENT}{name}\t{value}\t{unit}\t{}", limit.map(|l| l.to_string()).unwrap_or_default());
        }
    }

    /// Takes the figures from what a process wrote; gives the rest of it too.
    pub fn read(output: &str) -> (Results, String) {
        let (mut results, mut rest) = (Results::new(), String::new());
        for line in output.lines() {
            match line.strip_prefix(SENT).map(|figure| figure.split('\t').collect::<Vec<_>>()).as_deref() {
                Some(&[name, value, unit, limit]) => {
                    results.push(name, value.parse().expect("a number was sent"), unit, limit.parse().ok());
                }
                _ => {
                    let _ = writeln!(rest, "{line}");
                }
            }
        }
        (results, rest)
    }

    /// Adds the figures to the file, in place of older ones of the same names.
    pub fn write(&self) -> io::Result<()> {
        let path = path();
        fs::create_dir_all(path.parent().expect("the file is in a folder"))?;
        let old = fs::read_to_string(&path).unwrap_or_default();
        let replaced = |line: &str| self.0.iter().any(|figure| line.starts_with(&figure.start()));
        let kept = old.lines().filter(|line| !replaced(line)).map(str::to_owned);
        let all: Vec<String> = kept.chain(self.0.iter().map(Figure::line)).collect();
        fs::write(&path, all.join("\n") + "\n")
    }
}

/// Begins the lines of [`Results::send`].
const SENT: &str = "figure\t";

impl Figure {
    fn start(&self) -> String {
        format!(r#"{{"name": {}, "#, quoted(&self.name))
    }

    fn line(&self) -> String {
        let mut line = self.start() + &format!(r#""value": {}, "unit": {}"#, self.value, quoted(&self.unit));
        if let Some(limit) = self.limit {
            let _ = write!(line, r#", "limit": {limit}"#);
        }
        line + "}"
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
