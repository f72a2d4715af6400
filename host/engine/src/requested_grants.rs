//! What a component says that it wants, in its custom section. A courtesy to the person who decides whether to grant it: the
//! check is on the imports themselves, and a component that says nothing gets nothing.

use baton_core::grants::{RequestedGrants, SECTION, SECTION_SCHEMA};
use serde::Deserialize;
use wasmparser::{Parser, Payload};

/// Bytes of a section that are read. Thirty patterns fit ten times over.
const SECTION_BYTES: usize = 16 << 10;

/// The section as it is written.
#[derive(Deserialize)]
struct GrantsSection {
    schema: u32,
    #[serde(flatten)]
    wants: serde_json::Map<String, serde_json::Value>,
}

/// Reads the section of a component. The error is a sentence for the user.
pub(crate) fn read(bytes: &[u8]) -> Result<RequestedGrants, String> {
    let mut found = None;
    let mut parser = Parser::new(0);
    let mut rest = bytes;
    loop {
        let chunk = parser.parse(rest, true).map_err(|error| error.message().to_owned())?;
        let wasmparser::Chunk::Parsed { consumed, payload } = chunk else {
            return Err("it ends in the middle of a section".to_owned());
        };
        rest = &rest[consumed..];
        match payload {
            Payload::CustomSection(section) if section.name() == SECTION => {
                let before = found.replace(section.data());
                before.map_or(Ok(()), |_| Err(format!("it has two sections `{SECTION}`")))?;
            }
            // The contents of nested modules and components are skipped: a section in there is not this component's.
            Payload::ModuleSection { unchecked_range, .. }
            | Payload::ComponentSection { unchecked_range, .. } => {
                let bytes = unchecked_range.end - unchecked_range.start;
                rest = rest.get(bytes..).ok_or("it ends in the middle of a section")?;
            }
            Payload::End(_) => break,
            _ => {}
        }
    }
    found.map_or(Ok(RequestedGrants::default()), parse)
}

fn parse(section: &[u8]) -> Result<RequestedGrants, String> {
    let wrong = |why: String| format!("its section `{SECTION}` cannot be used: {why}");
    if section.len() > SECTION_BYTES {
        return Err(wrong(format!("in {} bytes, at most {SECTION_BYTES} are read", section.len())));
    }
    let read: GrantsSection = serde_json::from_slice(section).map_err(|error| wrong(error.to_string()))?;
    if read.schema != SECTION_SCHEMA {
        return Err(wrong(format!(
            "in version {}, and this host reads version {SECTION_SCHEMA}",
            read.schema
        )));
    }
    let wants: RequestedGrants =
        serde_json::from_value(read.wants.into()).map_err(|error| wrong(error.to_string()))?;
    wants.check().map_err(|error| wrong(error.to_string()))?;
    Ok(wants)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component with nothing in it but these sections.
    fn component(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0, b'a', b's', b'm', 0x0d, 0, 1, 0];
        for (name, data) in sections {
            let body = [&[name.len() as u8], name.as_bytes(), data].concat();
            bytes.push(0);
            let (low, high) = (body.len() & 0x7f, body.len() >> 7);
            bytes.extend([(low | 0x80) as u8, (high & 0x7f | 0x80) as u8, (high >> 7) as u8]);
            bytes.extend(body);
        }
        bytes
    }

    #[test]
    fn what_is_wanted_is_read() {
        // M6
        let json = br#"{"schema":1,"artifacts":["reports/*"],"fuel":80000000,"memory_mib":128}"#;
        let wants = read(&component(&[("other", b"x"), (SECTION, json)])).unwrap();
        assert_eq!(
            wants,
            RequestedGrants {
                artifacts: vec!["reports/*".into()],
                fuel: Some(80_000_000),
                memory_mib: Some(128)
            }
        );
        assert_eq!(read(&component(&[])).unwrap(), RequestedGrants::default());
        // Modules within, with sections of their own, are stepped over.
        let whole = [crate::builtin_bytes(), &component(&[(SECTION, json)])[8..]].concat();
        assert_eq!(read(&whole).unwrap(), wants);
        for cut in 1..64 {
            let _ = read(&whole[..whole.len() - cut]);
        }
    }

    #[test]
    fn a_section_that_says_it_wrongly_is_refused() {
        // M6
        let huge = [b' '; SECTION_BYTES + 1];
        let twice: &[(&str, &[u8])] = &[(SECTION, br#"{"schema":1}"#), (SECTION, br#"{"schema":1}"#)];
        for (sections, why) in [
            (&[(SECTION, &b"no json"[..])][..], "expected"),
            (&[(SECTION, &br#"{"schema":2}"#[..])], "version 2"),
            (&[(SECTION, &br#"{"schema":1,"network":true}"#[..])], "network"),
            (&[(SECTION, &br#"{"schema":1,"fuel":1e30}"#[..])], "u64"),
            (&[(SECTION, &br#"{"schema":1,"memory_mib":4000}"#[..])], "at most 256"),
            (&[(SECTION, &huge[..])], "at most 16384"),
            (twice, "two sections"),
        ] {
            let error = read(&component(sections)).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
