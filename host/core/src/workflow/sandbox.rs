//! The confinement of an agent, as the user wrote it: the level, the network targets, the writable and readable paths beyond
//! its tree, and the combination of several files. `host/sandbox` implements the levels; nothing here does IO.
//!
//! The user's own configuration is a floor. A workflow, or the `baton.toml` of a folder, can ask for more confinement and never
//! for less: a request beyond the floor is an error, not silently dropped. A folder's lists never name more than the user's do.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AgentKind, Workflow};
use crate::serde_defaults::is_default;

/// How far an agent is confined.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxLevel {
    /// Not by Baton; the default.
    #[default]
    Off,
    /// It writes only into its tree and its temporary folder, and reaches only the ports that are named.
    Write,
    /// It sees the system read-only, its tree and its own settings, no other process, and no network but the names that are
    /// allowed.
    Strict,
}

impl SandboxLevel {
    /// The word in a file.
    pub const fn name(self) -> &'static str {
        match self {
            SandboxLevel::Off => "off",
            SandboxLevel::Write => "write",
            SandboxLevel::Strict => "strict",
        }
    }
}

/// How an agent is confined. A list that is absent was not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// How far.
    pub level: SandboxLevel,
    /// What it may connect to; where absent, the model's own service of an agent that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<NetworkTarget>>,
    /// Where it may write beyond its tree: absolute, or from `~`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
    /// What it may read beyond the system: absolute, or from `~`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// What it does not see, although it would: absolute, from `~`, or relative to its tree.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hide: Vec<String>,
    /// What stays as it is although it lies in the tree, absolute: the workflow and whatever it names.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protect: Vec<String>,
    /// What the user's own file lists to be written, where `write` is another file's: that one leads to nothing outside of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_within: Option<Vec<String>>,
    /// The same of `read`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_within: Option<Vec<String>>,
}

/// A place in the network: a name (`github.com`, `*.github.com`) or an address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkTarget {
    host: String,
    port: u16,
}

/// The default port: HTTPS.
const PORT: u16 = 443;
/// The longest name of a host.
const HOST_BYTES: usize = 253;

/// Why a text names no place in the network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{}\" is no host: write a name (\"github.com\", \"*.github.com\") or an address, with a port where it is not 443 (\"github.com:22\", \"[::1]:8080\")", given.escape_debug())]
pub struct NetworkTargetError {
    given: String,
}

impl NetworkTarget {
    /// The name or the address, in lower case.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, if it is one and not a name.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Whether this allows a connection to a host, as a client names it, at a port.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let host = host.trim_end_matches('.');
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if self.port != port {
            return false;
        }
        if let (Some(own), Ok(asked)) = (self.address(), host.parse::<IpAddr>()) {
            return own == asked;
        }
        match self.host.strip_prefix("*.") {
            Some(domain) => host
                .len()
                .checked_sub(domain.len() + 1)
                .filter(|cut| *cut > 0 && host.is_char_boundary(*cut))
                .is_some_and(|cut| {
                    host.as_bytes()[cut] == b'.' && host[cut + 1..].eq_ignore_ascii_case(domain)
                }),
            None => self.host.eq_ignore_ascii_case(host),
        }
    }

    /// Whether everything that the other allows is allowed by this one.
    fn covers(&self, other: &NetworkTarget) -> bool {
        match other.host.strip_prefix("*.") {
            Some(domain) => {
                self.host == other.host && self.port == other.port
                    || self.host.starts_with("*.") && self.allows(domain, other.port)
            }
            None => self.allows(&other.host, other.port),
        }
    }
}

impl FromStr for NetworkTarget {
    type Err = NetworkTargetError;

    fn from_str(text: &str) -> Result<Self, NetworkTargetError> {
        let refuse = || NetworkTargetError { given: text.to_owned() };
        let address = |host: &str| host.parse::<IpAddr>().map(|address| address.to_string());
        if let Ok(host) = address(text) {
            return Ok(Self { host, port: PORT });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() => {
                (host, port.parse().ok().filter(|port| *port > 0).ok_or_else(refuse)?)
            }
            _ => (text, PORT),
        };
        if let Some(host) = host.strip_prefix('[') {
            let host = host.strip_suffix(']').and_then(|host| host.parse::<Ipv6Addr>().ok());
            return Ok(Self { host: host.ok_or_else(refuse)?.to_string(), port });
        }
        if let Ok(host) = host.parse::<Ipv4Addr>() {
            return Ok(Self { host: host.to_string(), port });
        }
        let name = host.strip_prefix("*.").unwrap_or(host);
        let is_label = |label: &str| {
            !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        // Text that ends in a number is an address in one of its odd forms (`127.1`, `0x7f.1`).
        let ends_in_letters =
            name.rsplit('.').next().is_some_and(|last| last.bytes().any(|b| b.is_ascii_alphabetic()))
                && !name.rsplit('.').next().is_some_and(|last| last.starts_with("0x"));
        if name.len() > HOST_BYTES || !name.split('.').all(is_label) || !ends_in_letters {
            return Err(refuse());
        }
        Ok(Self { host: host.to_ascii_lowercase(), port })
    }
}

impl TryFrom<String> for NetworkTarget {
    type Error = NetworkTargetError;

    fn try_from(text: String) -> Result<Self, NetworkTargetError> {
        text.parse()
    }
}

impl From<NetworkTarget> for String {
    fn from(target: NetworkTarget) -> Self {
        target.to_string()
    }
}

impl fmt::Display for NetworkTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Whether an address belongs to the open internet. Any other address (this machine, this link, private networks, the metadata
/// services of clouds, forms that wrap one of these) can be reached only if the user has named exactly that address.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = matches!(
        (a, b, c),
        (0 | 10 | 127, _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            | (224..=255, _, _)
    );
    // The metadata and machine services of Azure and of Alibaba's cloud have addresses that look public.
    !reserved && !matches!(address.octets(), [168, 63, 129, 16] | [100, 100, 100, 200])
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Mapped and translated addresses are those that they wrap.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        // Teredo, documentation, benchmarking, ORCHID.
        [0x2001, 0..=0x1ff | 0xdb8, ..] => false,
        [0x3fff, 0..=0xfff, ..] => false,
        // Only global unicast remains.
        [first, ..] => (0x2000..=0x3fff).contains(&first),
    }
}

/// A request of a file beyond the user's own configuration, or one that no folder may make.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// A host that is not allowed.
    #[error(
        "{place} asks for the network {target}, which your own config.toml does not allow: add it there to `network` in [sandbox], or remove it here"
    )]
    Network {
        /// Who asks.
        place: String,
        /// The requested target.
        target: NetworkTarget,
    },
    /// An address of this machine or of a private network.
    #[error(
        "{place} asks for {target}, an address that is not of the open internet: only your own config.toml can allow one, in `network` of [sandbox]"
    )]
    Private {
        /// Who asks.
        place: String,
        /// The requested target.
        target: NetworkTarget,
    },
    /// A path that is not allowed.
    #[error(
        "{place} asks to {what} {path}, which your own config.toml does not allow: add it there to `{what}` in [sandbox], or remove it here"
    )]
    Path {
        /// Who asks.
        place: String,
        /// `read` or `write`.
        what: &'static str,
        /// The requested path.
        path: String,
    },
}

impl Sandbox {
    /// Of this level and nothing else.
    pub fn of(level: SandboxLevel) -> Self {
        Self { level, ..Self::default() }
    }

    /// Whether anything is confined.
    pub fn is_on(&self) -> bool {
        self.level != SandboxLevel::Off
    }

    /// This, limited by a floor. `place` names the requester in messages; `agent` is the agent whose own service is allowed if
    /// the floor has no list.
    ///
    /// # Errors
    /// [`SandboxError`] if this asks for more than the floor allows.
    pub fn held_to(
        self,
        floor: &Sandbox,
        place: &str,
        agent: Option<&AgentKind>,
    ) -> Result<Sandbox, SandboxError> {
        // Without a floor, a workflow that the user starts determines the permissions of its roles.
        let unlisted = floor.is_on().then(|| agent.map(AgentKind::services).unwrap_or_default());
        self.expect_within(floor, unlisted.as_ref(), place)?;
        Ok(self.joined_with(floor))
    }

    /// This, of the file of a folder, over the user's own file. The folder may be untrusted: its lists name a part of the
    /// user's lists, at any level of the user's file, since the command line or the workflow may raise the level.
    ///
    /// # Errors
    /// [`SandboxError`] if this asks for something that the user's file does not list.
    pub fn of_folder_over(self, user: &Sandbox, place: &str) -> Result<Sandbox, SandboxError> {
        self.expect_within(user, Some(&Vec::new()), place)?;
        Ok(self.joined_with(user))
    }

    /// Refuses entries that a floor does not list. If the floor has no list, only `unlisted` may be reached, and no path is
    /// allowed; if `unlisted` is absent too, everything is.
    fn expect_within(
        &self,
        floor: &Sandbox,
        unlisted: Option<&Vec<NetworkTarget>>,
        place: &str,
    ) -> Result<(), SandboxError> {
        let allowed = floor.network.as_ref().or(unlisted);
        for target in self.network.iter().flatten() {
            let place = || place.to_owned();
            let is_allowed = |allowed: &Vec<NetworkTarget>| allowed.iter().any(|one| one.covers(target));
            let is_private = target.address().is_some_and(|address| !is_public(address));
            if is_private && !floor.network.as_ref().is_some_and(is_allowed) {
                return Err(SandboxError::Private { place: place(), target: target.clone() });
            }
            if !allowed.is_none_or(is_allowed) {
                return Err(SandboxError::Network { place: place(), target: target.clone() });
            }
        }
        let none = unlisted.map(|_| Vec::new());
        for (what, asked, allowed) in
            [("write", &self.write, &floor.write), ("read", &self.read, &floor.read)]
        {
            let allowed = allowed.as_ref().or(none.as_ref());
            for path in asked.iter().flatten() {
                let is_within = |allowed: &String| std::path::Path::new(path).starts_with(allowed);
                if !allowed.is_none_or(|allowed| allowed.iter().any(is_within)) {
                    return Err(SandboxError::Path { place: place.to_owned(), what, path: path.clone() });
                }
            }
        }
        Ok(())
    }

    /// With the level, the lists and the hidden paths of a floor, if this has less.
    fn joined_with(self, floor: &Sandbox) -> Sandbox {
        let mut joined = self;
        joined.level = joined.level.max(floor.level);
        joined.network = joined.network.or_else(|| floor.network.clone());
        // The entries of the user's own list lead to any place that the user names. Another file's list is compared with it by
        // text here, and by the target of both at each creation of a boundary.
        let of_user =
            |own: &Option<Vec<String>>, within: &Option<Vec<String>>, listed: &Option<Vec<String>>| {
                within.clone().or_else(|| own.as_ref().and(listed.clone()))
            };
        joined.write_within = of_user(&joined.write, &floor.write_within, &floor.write);
        joined.read_within = of_user(&joined.read, &floor.read_within, &floor.read);
        joined.write = joined.write.or_else(|| floor.write.clone());
        joined.read = joined.read.or_else(|| floor.read.clone());
        for (own, of_floor) in [(&mut joined.hide, &floor.hide), (&mut joined.protect, &floor.protect)] {
            own.extend(of_floor.iter().filter(|one| !own.contains(one)).cloned().collect::<Vec<_>>());
        }
        joined
    }

    /// The network targets of an agent of this kind.
    pub fn targets(&self, agent: &AgentKind) -> Vec<NetworkTarget> {
        self.network.clone().unwrap_or_else(|| agent.services())
    }
}

impl AgentKind {
    /// The addresses of the model of a known agent: it cannot work without them.
    pub fn services(&self) -> Vec<NetworkTarget> {
        let named = |name: &str| match self {
            AgentKind::Acp { command } => {
                let words =
                    std::iter::once(command.program()).chain(command.args().iter().map(String::as_str));
                words.flat_map(|word| word.rsplit('/').take(4)).any(|part| part.contains(name))
            }
            _ => false,
        };
        let names: &[&str] = match self {
            AgentKind::Claude => ANTHROPIC,
            AgentKind::Codex => OPENAI,
            AgentKind::Acp { .. } if named("claude") => ANTHROPIC,
            AgentKind::Acp { .. } if named("codex") => OPENAI,
            AgentKind::Acp { .. } if named("gemini") => GOOGLE,
            _ => &[],
        };
        names.iter().filter_map(|name| name.parse().ok()).collect()
    }
}

/// The model, and the service that renews a subscription's credentials.
const ANTHROPIC: &[&str] = &["api.anthropic.com", "console.anthropic.com", "platform.claude.com"];
/// The same of Codex.
const OPENAI: &[&str] = &["api.openai.com", "chatgpt.com", "auth.openai.com"];
/// The same of Gemini.
const GOOGLE: &[&str] =
    &["generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"];

impl Workflow {
    /// Every role limited by a floor.
    ///
    /// # Errors
    /// [`SandboxError`] if a role asks for more than the floor allows.
    pub fn confined(mut self, floor: &Sandbox) -> Result<Self, SandboxError> {
        for (name, role) in &mut self.roles {
            let own = std::mem::take(&mut role.sandbox);
            role.sandbox = own.held_to(floor, &format!("[roles.{name}]"), Some(&role.agent))?;
        }
        Ok(self)
    }

    /// These files stay unchanged while confined agents work, if they are in the agents' tree.
    pub fn protect(&mut self, files: &[String]) {
        for role in self.roles.values_mut().filter(|role| role.sandbox.is_on()) {
            role.sandbox.protect.extend_from_slice(files);
        }
    }

    /// The paths beyond their trees that agents of any confined role may write.
    pub fn writable_by_agents(&self) -> Vec<String> {
        let roles = self.roles.values().filter(|role| role.sandbox.is_on());
        let mut paths: Vec<String> =
            roles.flat_map(|role| role.sandbox.write.iter().flatten()).cloned().collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The confinement of the workflow's commands (`verify`, `setup`, `[notify]`): they run files that any role may have
    /// written, so they may do what every confined role may do, and no more.
    pub fn command_sandbox(&self) -> Sandbox {
        let mut confined = self.roles.values().filter(|role| role.sandbox.is_on());
        let Some(first) = confined.next() else { return Sandbox::default() };
        let mut common = first.sandbox.clone();
        common.network = Some(common.targets(&first.agent));
        for role in confined {
            let other = &role.sandbox;
            common.level = common.level.max(other.level);
            let targets = other.targets(&role.agent);
            if let Some(network) = &mut common.network {
                network.retain(|target| targets.iter().any(|one| one.covers(target)));
            }
            for (own, theirs) in [(&mut common.write, &other.write), (&mut common.read, &other.read)] {
                let theirs = theirs.as_deref().unwrap_or_default();
                if let Some(paths) = own {
                    paths.retain(|path| theirs.iter().any(|one| std::path::Path::new(path).starts_with(one)));
                }
            }
            for (own, theirs) in [(&mut common.hide, &other.hide), (&mut common.protect, &other.protect)] {
                own.extend(theirs.iter().filter(|one| !own.contains(one)).cloned().collect::<Vec<_>>());
            }
        }
        common
    }
}

#[cfg(test)]
mod tests;
