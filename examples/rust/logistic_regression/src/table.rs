//! Reading the table.

use std::error::Error;

/// A response and the columns that explain it, the first one being the intercept.
pub struct Table {
    /// The number of rows.
    pub rows: usize,
    /// The names of the columns of `x`.
    pub columns: Vec<String>,
    /// The columns, row by row.
    pub x: Vec<f64>,
    /// The response.
    pub y: Vec<f64>,
}

impl Table {
    /// Takes the named columns of a CSV file with a header.
    pub fn read(csv: &str, response: &str, terms: &[&str]) -> Result<Table, Box<dyn Error>> {
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let header = reader.headers()?.clone();
        let column = |name: &str| {
            header.iter().position(|h| h == name).ok_or_else(|| format!("the table has no column `{name}`"))
        };
        let (response, terms_at) =
            (column(response)?, terms.iter().map(|term| column(term)).collect::<Result<Vec<_>, _>>()?);
        let columns = ["(Intercept)"].iter().chain(terms).map(|name| name.to_string()).collect();
        let mut table = Table { rows: 0, columns, x: Vec::new(), y: Vec::new() };
        for record in reader.records() {
            let record = record?;
            table.rows += 1;
            table.y.push(record[response].parse()?);
            table.x.push(1.0);
            for &term in &terms_at {
                table.x.push(record[term].parse()?);
            }
        }
        Ok(table)
    }
}
