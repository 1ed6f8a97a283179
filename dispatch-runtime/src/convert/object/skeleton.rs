//! An object as an input of a skeleton.

use std::any::Any;

use smallvec::SmallVec;

use super::super::Expected;
use super::super::described::bytes;
use super::Object;
use crate::host::Converted;
use crate::skeleton::{Convertible, Input};
use crate::{Array, Aval, Device, Result};

impl Convertible for Object<'_> {
    fn convert(&self, path: &str, slot: Option<(&Aval, bool)>) -> Result<()> {
        let Some((aval, donated)) = slot else { return self.open(&Expected::new(path), false, false) };
        let shape: SmallVec<[Option<i64>; 6]> = aval.shape().iter().map(|&size| Some(size)).collect();
        let layout = aval.strides().map(|strides| (strides, aval.offset()));
        let expected = Expected { layout, ..Expected::new(path).shape(&shape) };
        self.open(&expected.dtypes(&[aval.dtype()]), donated, false)
    }

    fn converted(&self) -> Input<'_> {
        let described = &self.opened().described;
        match described.as_array() {
            Some(array) => Input::Array(array),
            None => Input::Host(described.view().expect("what is no array is data of the host")),
        }
    }

    fn array(&self, path: &str, device: Device, donated: bool) -> Result<(Array, Option<Box<dyn Any>>)> {
        let opened = self.opened();
        let described = &opened.described;
        if let Some(array) = described.as_array() {
            return Ok((array.clone(), None));
        }
        let dtype = opened.dtype;
        if opened.shares(dtype, device.client(), donated, path)? {
            let (array, waits) = opened.share(device, path)?;
            return Ok((array, waits.map(|waits| Box::new(waits) as Box<dyn Any>)));
        }
        let view = described.view().expect("what is no array is data of the host");
        let converted = Converted::new(view, dtype, &|| path.to_owned())?;
        let array = device.client().upload(converted.view(), device)?;
        opened.entry.count_copied(bytes(&array));
        Ok((array, None))
    }
}
