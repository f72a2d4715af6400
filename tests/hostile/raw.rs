//! Components that no tool would make: text put into a well-formed one, sections appended, whole ones written by hand. It
//! makes them and asks nothing of them.

use std::fmt::Write as _;

use crate::hostile::guests::GuestBuilder;

/// A component, written as text.
pub(crate) fn component(text: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {text})")).expect("the component is text")
}

/// A well-behaved policy with more in it, which is written as text.
pub(crate) fn good_with(text: &str) -> Vec<u8> {
    with(&GuestBuilder::good("ok").build(), text)
}

/// A component with more at its end.
pub(crate) fn with(component: &[u8], text: &str) -> Vec<u8> {
    let printed = wasmprinter::print_bytes(component).expect("it can be printed");
    let printed = printed.trim_end().strip_suffix(')').expect("it ends like a component");
    wat::parse_str(format!("{printed}{text})")).expect("it is still text")
}

/// A well-behaved policy with a custom section at its end.
pub(crate) fn good_with_section(name: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = GuestBuilder::good("ok").build();
    append_section(&mut bytes, name, data);
    bytes
}

/// Appends a custom section.
pub(crate) fn append_section(component: &mut Vec<u8>, name: &str, data: &[u8]) {
    let name_bytes = u8::try_from(name.len()).expect("a short name");
    assert!(name_bytes < 0x80, "a length of one byte");
    append(component, 0, &[&[name_bytes], name.as_bytes(), data].concat());
}

/// A well-behaved policy with a component in it, that has one in it, and so on: deeper than text can be nested.
pub(crate) fn good_with_nested(depth: u32) -> Vec<u8> {
    const EMPTY: [u8; 8] = *b"\0asm\x0d\0\x01\0";
    let nested = (1..depth).fold(EMPTY.to_vec(), |inner, _| {
        let mut outer = EMPTY.to_vec();
        append(&mut outer, 4, &inner);
        outer
    });
    let mut bytes = GuestBuilder::good("ok").build();
    append(&mut bytes, 4, &nested);
    bytes
}

/// Appends a section of this kind.
fn append(component: &mut Vec<u8>, kind: u8, data: &[u8]) {
    component.push(kind);
    let mut length = data.len();
    while length >= 0x80 {
        component.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    component.push(length as u8);
    component.extend_from_slice(data);
}

/// Components that instantiate one another twice, so many times over: twice as many instances with each line.
pub(crate) fn doubling(times: u32) -> String {
    let mut text = "(component $c0)".to_owned();
    for level in 1..=times {
        let below = level - 1;
        let _ = write!(
            text,
            "(component $c{level} (instance (instantiate $c{below})) (instance (instantiate $c{below})))"
        );
    }
    let _ = write!(text, "(instance (instantiate $c{times}))");
    text
}

/// A data item of these bytes.
pub(crate) fn data(at: u32, bytes: &[u8]) -> String {
    let bytes: String = bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
    format!("(data (i32.const {at}) \"{bytes}\")")
}

/// Words of 32 bits, as memory holds them.
pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
