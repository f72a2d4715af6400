//! A policy in a registry: `oci://host[:port]/name:tag`, `oci://host/name@sha256:…`, or both at once. Only reads and
//! writes such references; nothing is fetched here.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use baton_core::Digest;

/// The scheme of every reference of this kind.
pub const SCHEME: &str = "oci://";

/// Longest reference that is read: host, name and tag are each far shorter.
const REFERENCE_BYTES_MAX: usize = 1024;

/// Longest tag, as the distribution specification has it.
const TAG_BYTES_MAX: usize = 128;

/// The place of a policy in a registry. It has a tag, or a digest, or both; the digest is that of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OciReference {
    host: String,
    name: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// A text that names no policy in a registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{reference:?} does not name a policy in a registry: {why}. Write \"oci://host/name:tag\" or \"oci://host/name@sha256:…\""
)]
pub struct InvalidOciReference {
    /// The given text; shortened if it is very long.
    pub reference: String,
    /// The defect.
    pub why: &'static str,
}

impl OciReference {
    /// Whether a text has this scheme.
    pub fn is_meant(reference: &str) -> bool {
        reference.starts_with(SCHEME)
    }

    /// Host and port, as they are asked.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The name in the registry, which may have slashes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tag, which its publisher may move.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest of the manifest, which cannot move.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// "host/name", as trust rules and signatures have it.
    pub fn place(&self) -> String {
        format!("{}/{}", self.host, self.name)
    }

    /// The policy's name for people: the last part of its full name.
    pub fn short_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    /// The same place, with this digest.
    #[must_use]
    pub fn at(&self, digest: &Digest) -> Self {
        Self { digest: Some(digest.clone()), ..self.clone() }
    }

    /// The same place, with this tag and without a digest. The tag is one of Baton's, not one of a user.
    pub(crate) fn tagged(&self, tag: String) -> Self {
        Self { tag: Some(tag), digest: None, ..self.clone() }
    }

    /// The part to request from a registry: the digest if there is one, since it cannot change.
    pub(crate) fn wanted(&self) -> &str {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.as_str(),
            (None, Some(tag)) => tag,
            (None, None) => unreachable!("a reference has a tag or a digest"),
        }
    }
}

/// Whether a host is this machine, so that no third party can listen in.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl FromStr for OciReference {
    type Err = InvalidOciReference;

    fn from_str(reference: &str) -> Result<Self, InvalidOciReference> {
        let bad = |why| InvalidOciReference { reference: reference.chars().take(200).collect(), why };
        if reference.len() > REFERENCE_BYTES_MAX {
            return Err(bad("it is too long"));
        }
        let rest = reference.strip_prefix(SCHEME).ok_or(bad("it does not begin with oci://"))?;
        let (host, rest) = rest.split_once('/').ok_or(bad("after the host comes a slash and a name"))?;
        if host.contains('@') {
            return Err(bad(
                "it names a user; credentials are taken from the Docker config, as `docker login` writes it",
            ));
        }
        let host = without_default_port(host.to_ascii_lowercase());
        if !is_host(&host) {
            return Err(bad("its host is none"));
        }
        let (rest, digest) = match rest.split_once('@') {
            None => (rest, None),
            Some((rest, digest)) => {
                let digest =
                    digest.parse().map_err(|_| bad("sha256: and 64 hex digits must follow the @"))?;
                (rest, Some(digest))
            }
        };
        let (name, tag) = match rest.split_once(':') {
            None => (rest, None),
            Some((name, tag)) => (name, Some(tag)),
        };
        if !is_name(name) {
            return Err(bad(
                "its name has other characters than small letters, digits and single . _ - / between them",
            ));
        }
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(bad("its tag has other characters than letters, digits, . _ and -, or too many"));
        }
        if tag.is_none() && digest.is_none() {
            return Err(bad("it has neither a tag nor a digest"));
        }
        Ok(Self { host, name: name.to_owned(), tag: tag.map(str::to_owned), digest })
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.host, self.name)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// The host without the default port, so that one place has one name: rules and pins are found by it.
fn without_default_port(host: String) -> String {
    let default = if is_loopback(&host) { ":80" } else { ":443" };
    host.strip_suffix(default).map(str::to_owned).unwrap_or(host)
}

/// "registry.example", "127.0.0.1:5000", "[::1]:5000". Rejects an address or a port in a longer form than needed ("127.1",
/// ":0443"): it would be a second name of the same place.
pub(crate) fn is_host(host: &str) -> bool {
    let is_v6 = |address: &str| address.parse::<Ipv6Addr>().is_ok_and(|parsed| parsed.to_string() == address);
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => return is_v6(address),
        Some((address, port)) if is_v6(address) => ("v6", port.strip_prefix(':').or(Some(""))),
        Some(_) => return false,
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let is_label = |label: &str| {
        let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.chars().all(inside) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_port =
        |port: &str| port.parse::<u16>().is_ok_and(|number| number > 0 && number.to_string() == port);
    // The system takes anything that ends in a number for an address.
    let ends_in_number =
        name.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
    let is_name = name.split('.').all(is_label) && (!ends_in_number || name.parse::<Ipv4Addr>().is_ok());
    is_name && port.is_none_or(is_port)
}

/// Parts of small letters and digits, with one `.`, one or two `_`, or any `-` between them.
fn is_name(name: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_part = |part: &str| {
        let ends = part.starts_with(alphanumeric) && part.ends_with(alphanumeric);
        let mut between = part.split(alphanumeric);
        ends && between.all(|sign| matches!(sign, "" | "." | "_" | "__") || sign.bytes().all(|b| b == b'-'))
    };
    name.split('/').all(is_part)
}

fn is_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= TAG_BYTES_MAX
        && tag.starts_with(word)
        && tag.chars().all(|c| word(c) || c == '.' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<OciReference, InvalidOciReference> {
        text.parse()
    }

    #[test]
    fn a_reference_has_a_place_and_a_tag_or_a_digest() {
        let digest = Digest::of("manifest");
        let whole = parse(&format!("oci://127.0.0.1:5000/acme/strict:1.2@{digest}")).unwrap();
        assert_eq!((whole.host(), whole.name()), ("127.0.0.1:5000", "acme/strict"));
        assert_eq!((whole.tag(), whole.digest()), (Some("1.2"), Some(&digest)));
        assert_eq!((whole.place().as_str(), whole.short_name()), ("127.0.0.1:5000/acme/strict", "strict"));
        assert_eq!(whole.wanted(), digest.as_str());
        assert_eq!(parse("oci://registry.example/a:latest").unwrap().wanted(), "latest");
        assert_eq!(parse("oci://REGISTRY.example/a:V1").unwrap().to_string(), "oci://registry.example/a:V1");
        assert_eq!(parse("oci://[::1]:5000/a:1").unwrap().host(), "[::1]:5000");
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        let long = format!("oci://h/{}:1", "a".repeat(2000));
        for (text, hint) in [
            ("registry.example/a:1", "does not begin"),
            ("oci://registry.example", "slash"),
            ("oci://registry.example/a", "neither a tag"),
            ("oci:///a:1", "host"),
            ("oci://-x/a:1", "host"),
            ("oci://host:0/a:1", "host"),
            ("oci://host:99999/a:1", "host"),
            ("oci://ho st/a:1", "host"),
            ("oci://host:05599/a:1", "host"),
            ("oci://127.1/a:1", "host"),
            ("oci://0x7f.1/a:1", "host"),
            ("oci://host.0177/a:1", "host"),
            ("oci://[0:0:0:0:0:0:0:1]/a:1", "host"),
            ("oci://host./a:1", "host"),
            ("oci://[::1/a:1", "host"),
            ("oci://me:pw@host/a:1", "Docker config"),
            ("oci://host/A:1", "name"),
            ("oci://host/:1", "name"),
            ("oci://host/a//b:1", "name"),
            ("oci://host/../b:1", "name"),
            ("oci://host/a..b:1", "name"),
            ("oci://host/a?x=1:1", "name"),
            ("oci://host/a:", "tag"),
            ("oci://host/a:-1", "tag"),
            ("oci://host/a:1/2", "tag"),
            ("oci://host/a@sha256:abc", "64 hex digits"),
            ("oci://host/a@md5:00", "64 hex digits"),
            (long.as_str(), "too long"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
            assert!(error.len() < 600, "{error}");
        }
    }

    #[test]
    fn one_place_has_one_name() {
        // N6, M6
        for (text, name) in [
            ("oci://Host:443/a:1", "oci://host/a:1"),
            ("oci://127.0.0.1:80/a:1", "oci://127.0.0.1/a:1"),
            ("oci://[::1]:80/a:1", "oci://[::1]/a:1"),
            ("oci://127.0.0.1:443/a:1", "oci://127.0.0.1:443/a:1"),
            ("oci://host:80/a:1", "oci://host:80/a:1"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), name);
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for host in ["localhost", "localhost:5000", "127.0.0.1:5000", "127.9.9.9", "[::1]:5000"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example", "10.0.0.1", "127.0.0.1.example", "[::2]:80", "example.org"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in ".{0,80}", after in "oci://.{0,60}") {
            let _ = parse(&text);
            let _ = parse(&after);
        }

        #[test]
        fn what_is_read_is_written_the_same(
            host in "[a-z][a-z0-9]{0,7}(\\.[a-z][a-z0-9]{0,7}){0,2}(:[1-9][0-9]{0,3})?",
            name in "[a-z0-9]{1,6}((\\.|_|__|-{1,3})[a-z0-9]{1,6}){0,2}(/[a-z0-9]{1,6}){0,3}",
            tag in proptest::option::of("[A-Za-z0-9_][A-Za-z0-9._-]{0,20}"),
            content in proptest::option::of(".*"),
        ) {
            prop_assume!(tag.is_some() || content.is_some());
            prop_assume!(without_default_port(host.clone()) == host);
            let mut text = format!("oci://{host}/{name}");
            if let Some(tag) = &tag { text.push_str(&format!(":{tag}")); }
            if let Some(content) = &content { text.push_str(&format!("@{}", Digest::of(content))); }
            let reference = parse(&text).unwrap();
            prop_assert_eq!(reference.to_string(), text.clone());
            prop_assert_eq!(parse(&reference.to_string()).unwrap(), reference);
        }
    }
}
