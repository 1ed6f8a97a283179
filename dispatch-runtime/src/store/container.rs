//! Files of sections, of which no byte can change unseen.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the kind of file |
//! | 4, 4 | version of the format; number of sections |
//! | 32 for each section | name (8), length (8), checksum (16) |
//! | 16 | checksum of all of the above |
//! | the rest | the sections, one behind the other |
//!
//! Numbers are little-endian. A length is believed only if its checksum is right and the file has just as many bytes.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom, Write};

use twox_hash::XxHash3_128;

const VERSION: u32 = 1;
/// More sections than any file has.
const MOST: usize = 16;
const START: usize = 16;
const ROW: usize = 32;
const SUM: usize = 16;

/// The kind of a file, or the name of a section.
pub(crate) type Name = [u8; 8];

/// Why a file, or a section of it, is not used.
#[derive(Debug)]
pub(crate) enum Damage {
    Foreign,
    Version(u32),
    Header,
    Size { expected: u64, got: u64 },
    Changed(Name),
    Missing(Name),
    Memory(u64),
    Io(io::Error),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |name: &Name| String::from_utf8_lossy(name).trim_end().to_owned();
        match self {
            Damage::Foreign => f.write_str("it is a file of another kind"),
            Damage::Version(got) => write!(f, "its format has the version {got}, not {VERSION}"),
            Damage::Header => f.write_str("its header has changed since it was written"),
            Damage::Size { expected, got } => write!(f, "it has {got} bytes instead of {expected}"),
            Damage::Changed(name) => {
                write!(f, "its section `{}` has changed since it was written", text(name))
            }
            Damage::Missing(name) => write!(f, "it has no section `{}`", text(name)),
            Damage::Memory(bytes) => write!(f, "there is no memory for a section of {bytes} bytes"),
            Damage::Io(error) => write!(f, "it cannot be read: {error}"),
        }
    }
}

impl From<io::Error> for Damage {
    fn from(error: io::Error) -> Damage {
        Damage::Io(error)
    }
}

/// Writes a file of these sections.
pub(crate) fn write(kind: &Name, sections: &[(Name, &[u8])], to: &mut impl Write) -> io::Result<()> {
    assert!(sections.len() <= MOST);
    let mut header = kind.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend((sections.len() as u32).to_le_bytes());
    for (name, content) in sections {
        header.extend(name);
        header.extend((content.len() as u64).to_le_bytes());
        header.extend(sum(content));
    }
    header.extend(sum(&header));
    to.write_all(&header)?;
    sections.iter().try_for_each(|(_, content)| to.write_all(content))
}

/// The size of such a file.
pub(crate) fn size(sections: &[(Name, &[u8])]) -> u64 {
    let contents: u64 = sections.iter().map(|(_, content)| content.len() as u64).sum();
    (START + ROW * sections.len() + SUM) as u64 + contents
}

/// A file whose header is right.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    file: R,
    sections: Vec<Section>,
    end: u64,
    size: u64,
}

#[derive(Debug)]
struct Section {
    name: Name,
    begin: u64,
    bytes: u64,
    sum: [u8; SUM],
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the header of what begins here in a file of so many bytes, and may end before it.
    pub fn new(mut file: R, kind: &Name, begin: u64, size: u64) -> Result<Reader<R>, Damage> {
        file.seek(SeekFrom::Start(begin))?;
        let mut header = [0; START + ROW * MOST + SUM];
        read(&mut file, &mut header[..START], size)?;
        if header[..8] != kind[..] {
            return Err(Damage::Foreign);
        }
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let (version, count) = (number(8), number(12) as usize);
        if version != VERSION {
            return Err(Damage::Version(version));
        }
        if count > MOST {
            return Err(Damage::Header);
        }
        let end = START + ROW * count;
        read(&mut file, &mut header[START..end + SUM], size)?;
        if header[end..end + SUM] != sum(&header[..end]) {
            return Err(Damage::Header);
        }
        let mut next = begin + (end + SUM) as u64;
        let mut sections = Vec::with_capacity(count);
        for row in header[START..end].chunks_exact(ROW) {
            let bytes = u64::from_le_bytes(row[8..16].try_into().expect("eight bytes"));
            let (name, sum) = (row[..8].try_into(), row[16..].try_into());
            sections.push(Section {
                name: name.expect("eight bytes"),
                begin: next,
                bytes,
                sum: sum.expect("sixteen bytes"),
            });
            next = next.checked_add(bytes).ok_or(Damage::Header)?;
        }
        if next > size {
            return Err(Damage::Size { expected: next, got: size });
        }
        Ok(Reader { file, sections, end: next, size })
    }

    /// An error unless the file ends with the last section.
    pub fn whole(self) -> Result<Reader<R>, Damage> {
        match self.end == self.size {
            true => Ok(self),
            false => Err(Damage::Size { expected: self.end, got: self.size }),
        }
    }

    /// Where the last section ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The content of a section, whole and unchanged.
    pub fn section(&mut self, name: &Name) -> Result<Vec<u8>, Damage> {
        let mut found = self.sections.iter().filter(|section| section.name == *name);
        let section = found.next().ok_or(Damage::Missing(*name))?;
        // The file has so many bytes, which may still be more than the memory.
        let bytes = usize::try_from(section.bytes).map_err(|_| Damage::Memory(section.bytes))?;
        let mut content = Vec::new();
        content.try_reserve_exact(bytes).map_err(|_| Damage::Memory(section.bytes))?;
        self.file.seek(SeekFrom::Start(section.begin))?;
        (&mut self.file).take(section.bytes).read_to_end(&mut content)?;
        match content.len() == bytes && sum(&content) == section.sum {
            true => Ok(content),
            false => Err(Damage::Changed(*name)),
        }
    }
}

fn read(file: &mut impl Read, into: &mut [u8], size: u64) -> Result<(), Damage> {
    let expected = into.len() as u64;
    file.read_exact(into).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Damage::Size { expected, got: size },
        _ => Damage::Io(error),
    })
}

fn sum(bytes: &[u8]) -> [u8; SUM] {
    XxHash3_128::oneshot(bytes).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const KIND: &Name = b"\x89a test\n";

    fn file(sections: &[(Name, &[u8])]) -> Vec<u8> {
        let mut file = Vec::new();
        write(KIND, sections, &mut file).unwrap();
        assert_eq!(file.len() as u64, size(sections));
        file
    }

    /// Reads all of these sections.
    fn read_all(file: &[u8], names: &[Name]) -> Result<Vec<Vec<u8>>, Damage> {
        let mut reader = Reader::new(Cursor::new(file), KIND, 0, file.len() as u64)?.whole()?;
        names.iter().map(|name| reader.section(name)).collect()
    }

    const SECTIONS: [(Name, &[u8]); 3] =
        [(*b"key     ", b"some key"), (*b"nothing ", b""), (*b"code    ", &[7; 100])];

    fn names() -> Vec<Name> {
        SECTIONS.iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn sections_come_back() {
        let back = read_all(&file(&SECTIONS), &names()).unwrap();
        assert_eq!(back, SECTIONS.map(|(_, content)| content.to_vec()));
        let missing = read_all(&file(&SECTIONS), &[*b"missing "]).unwrap_err();
        assert_eq!(missing.to_string(), "it has no section `missing`");
        assert!(read_all(&file(&[]), &[]).unwrap().is_empty());
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let file = file(&SECTIONS);
        for byte in 0..file.len() {
            for bit in 0..8 {
                let mut changed = file.clone();
                changed[byte] ^= 1 << bit;
                assert!(read_all(&changed, &names()).is_err(), "bit {bit} of byte {byte}");
            }
        }
    }

    #[test]
    fn every_truncation_and_extension_is_seen() {
        let file = file(&SECTIONS);
        for len in 0..file.len() {
            assert!(read_all(&file[..len], &names()).is_err(), "{len} bytes");
        }
        let longer = [&file[..], b"\0"].concat();
        let error = read_all(&longer, &names()).unwrap_err();
        let len = file.len();
        assert_eq!(error.to_string(), format!("it has {} bytes instead of {len}", len + 1));
    }

    #[test]
    fn a_length_beyond_the_file_takes_no_memory() {
        // With the right checksum of the header, as if somebody had made it up.
        for bytes in [u64::MAX, u64::MAX / 2, 1 << 40, 101] {
            let mut file = file(&SECTIONS);
            let end = START + ROW * SECTIONS.len();
            file[START + 2 * ROW + 8..][..8].copy_from_slice(&bytes.to_le_bytes());
            let right = sum(&file[..end]);
            file[end..end + SUM].copy_from_slice(&right);
            let error = read_all(&file, &names()).unwrap_err();
            assert!(matches!(error, Damage::Size { .. } | Damage::Header), "{error}");
        }
    }

    #[test]
    fn other_kinds_and_versions_are_told() {
        let mut newer = file(&SECTIONS);
        newer[8] = 2;
        assert_eq!(read_all(&newer, &[]).unwrap_err().to_string(), "its format has the version 2, not 1");
        let other = Reader::new(Cursor::new(&newer), b"\x89other \n", 0, 1).unwrap_err();
        assert_eq!(other.to_string(), "it is a file of another kind");
    }
}
