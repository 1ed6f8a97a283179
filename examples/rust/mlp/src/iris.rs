//! Reading the table.

use std::error::Error;

/// The measures of each flower, standardised, and its species.
pub struct Iris {
    /// The number of flowers.
    pub rows: usize,
    /// The number of measures.
    pub features: usize,
    /// The measures row by row, each with mean 0 and standard deviation 1.
    pub x: Vec<f32>,
    /// A row of zeros for each flower, with a 1 at its species.
    pub labels: Vec<f32>,
    /// The names of the species.
    pub species: Vec<String>,
}

impl Iris {
    /// Reads a CSV file whose last column is the species.
    pub fn read(csv: &str) -> Result<Iris, Box<dyn Error>> {
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let features = reader.headers()?.len() - 1;
        let (mut x, mut species, mut classes) = (Vec::new(), Vec::<String>::new(), Vec::new());
        for record in reader.records() {
            let record = record?;
            for measure in record.iter().take(features) {
                x.push(measure.parse::<f32>()?);
            }
            let known = species.iter().position(|name| *name == record[features]);
            classes.push(known.unwrap_or_else(|| {
                species.push(record[features].to_owned());
                species.len() - 1
            }));
        }
        let rows = classes.len();
        for feature in 0..features {
            standardise(x.iter_mut().skip(feature).step_by(features), rows);
        }
        let mut labels = vec![0.0; rows * species.len()];
        for (row, class) in classes.iter().enumerate() {
            labels[row * species.len() + class] = 1.0;
        }
        Ok(Iris { rows, features, x, labels, species })
    }
}

fn standardise<'a>(column: impl Iterator<Item = &'a mut f32>, rows: usize) {
    let column: Vec<&mut f32> = column.collect();
    let n = rows as f32;
    let mean = column.iter().map(|x| **x).sum::<f32>() / n;
    let deviation = (column.iter().map(|x| (**x - mean).powi(2)).sum::<f32>() / n).sqrt();
    for x in column {
        *x = (*x - mean) / deviation;
    }
}
