//! A policy as registries hold it: the standard layout of WebAssembly artifacts, which is a manifest, a config and one layer
//! with the component. The same component always gives the same bytes.

use std::collections::BTreeMap;

use baton_core::Digest;
use serde::{Deserialize, Serialize};

use crate::error::{RegistryError, said};
use crate::oci_reference::OciReference;
use crate::policy_reference::COMPONENT_BYTES_MAX;

/// The media type of a manifest.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of its config.
pub const CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";
/// The media type of its layer.
pub const COMPONENT_TYPE: &str = "application/wasm";

/// When every config was made: a time of its own would give the same component another digest at each push.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// Largest config: names of imports and exports, and the additions of other tools.
pub(crate) const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// A policy, ready to be pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyArtifact {
    pub(crate) component: Vec<u8>,
    pub(crate) config: Vec<u8>,
    pub(crate) manifest: Vec<u8>,
}

/// The media type, digest and size of a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A manifest of one artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    /// The specification allows it to be absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) media_type: Option<String>,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WasmConfig<'a> {
    created: &'static str,
    architecture: &'static str,
    os: &'static str,
    layer_digests: [&'a Digest; 1],
    component: WasmConfigComponent<'a>,
}

#[derive(Serialize)]
struct WasmConfigComponent<'a> {
    exports: &'a [String],
    imports: &'a [String],
}

impl PolicyArtifact {
    /// The artifact of a component with these imports and exports.
    pub fn new(component: Vec<u8>, imports: &[String], exports: &[String]) -> Self {
        let layer = Descriptor::of(COMPONENT_TYPE, &component);
        let config = json(&WasmConfig {
            created: CREATED,
            architecture: "wasm",
            os: "wasip2",
            layer_digests: [&layer.digest],
            component: WasmConfigComponent { exports, imports },
        });
        let manifest = Manifest::new(Descriptor::of(CONFIG_TYPE, &config), vec![layer]).to_bytes();
        Self { component, config, manifest }
    }

    /// The digest of its manifest, which pins name.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.manifest)
    }

    /// The digest of its component, the bytes that the engine runs.
    pub fn component(&self) -> Digest {
        Digest::of(&self.component)
    }

    /// How large its component is.
    pub fn component_bytes(&self) -> u64 {
        self.component.len() as u64
    }

    /// The manifest, as a registry holds it.
    pub fn manifest(&self) -> &[u8] {
        &self.manifest
    }

    /// The config, as a registry holds it.
    pub fn config(&self) -> &[u8] {
        &self.config
    }
}

impl Descriptor {
    pub(crate) fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            annotations: BTreeMap::new(),
        }
    }
}

impl Manifest {
    pub(crate) fn new(config: Descriptor, layers: Vec<Descriptor>) -> Self {
        Self { schema_version: 2, media_type: Some(MANIFEST_TYPE.to_owned()), config, layers }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        json(self)
    }

    /// Reads a manifest of anything.
    pub(crate) fn parse(bytes: &[u8], reference: &OciReference) -> Result<Self, RegistryError> {
        let unread = |why: String| RegistryError::Manifest { reference: reference.to_string(), why };
        let what: DocumentMediaType =
            serde_json::from_slice(bytes).map_err(|e| unread(said(e.to_string().as_bytes())))?;
        if let Some(other) = what.media_type.filter(|kind| kind != MANIFEST_TYPE) {
            return Err(media_type(reference, "manifest", MANIFEST_TYPE, &other));
        }
        let manifest: Self =
            serde_json::from_slice(bytes).map_err(|e| unread(said(e.to_string().as_bytes())))?;
        if manifest.schema_version != 2 {
            return Err(unread(format!("its schema version is {}, not 2", manifest.schema_version)));
        }
        Ok(manifest)
    }

    /// The layer with the component, of a manifest that is one of a policy.
    pub(crate) fn component(&self, reference: &OciReference) -> Result<&Descriptor, RegistryError> {
        if self.config.media_type != CONFIG_TYPE {
            return Err(media_type(reference, "config", CONFIG_TYPE, &self.config.media_type));
        }
        let [layer] = self.layers.as_slice() else {
            let why = format!("it has {} layers, and a policy has one", self.layers.len());
            return Err(RegistryError::Manifest { reference: reference.to_string(), why });
        };
        if layer.media_type != COMPONENT_TYPE {
            return Err(media_type(reference, "layer", COMPONENT_TYPE, &layer.media_type));
        }
        for (what, size, max) in [
            ("the component", layer.size, COMPONENT_BYTES_MAX),
            ("the config", self.config.size, CONFIG_BYTES_MAX),
        ] {
            if size > max {
                return Err(RegistryError::TooLarge { what, url: reference.to_string(), max });
            }
        }
        Ok(layer)
    }
}

/// The media type that a document declares: checked first, since an index has other fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DocumentMediaType {
    media_type: Option<String>,
}

pub(crate) fn media_type(
    reference: &OciReference,
    what: &'static str,
    expected: &'static str,
    found: &str,
) -> RegistryError {
    RegistryError::MediaType {
        reference: reference.to_string(),
        what,
        expected,
        found: said(found.as_bytes()),
    }
}

/// Always the same bytes: fields in the order of their type, maps sorted, no spaces.
pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("texts, numbers and lists are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact() -> PolicyArtifact {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        PolicyArtifact::new(
            b"\0asm".to_vec(),
            &names(&["baton:policy/types@0.1.0"]),
            &names(&["baton:policy/splitting@0.1.0"]),
        )
    }

    fn reference() -> OciReference {
        "oci://example.org/a:1".parse().unwrap()
    }

    // M6: the format that other tools read, written down byte by byte.
    #[test]
    fn the_same_component_gives_the_same_manifest() {
        let artifact = artifact();
        assert_eq!(artifact, self::artifact());
        assert_eq!(
            String::from_utf8(artifact.config.clone()).unwrap(),
            r#"{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip2","layerDigests":["sha256:cd5d4935a48c0672cb06407bb443bc0087aff947c6b864bac886982c73b3027f"],"component":{"exports":["baton:policy/splitting@0.1.0"],"imports":["baton:policy/types@0.1.0"]}}"#
        );
        let config = Digest::of(&artifact.config);
        assert_eq!(
            String::from_utf8(artifact.manifest.clone()).unwrap(),
            format!(
                r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{{"mediaType":"application/vnd.wasm.config.v0+json","digest":"{config}","size":{}}},"layers":[{{"mediaType":"application/wasm","digest":"sha256:cd5d4935a48c0672cb06407bb443bc0087aff947c6b864bac886982c73b3027f","size":4}}]}}"#,
                artifact.config.len()
            )
        );
        assert_eq!(
            artifact.digest().as_str(),
            "sha256:0c5aa1a6bdc55c315a8c4db013e5e0ce6f5fc0a5ecdc9fa4a38a151784e7e653"
        );
    }

    #[test]
    fn a_manifest_is_read_back() {
        let artifact = artifact();
        let manifest = Manifest::parse(&artifact.manifest, &reference()).unwrap();
        assert_eq!(manifest.component(&reference()).unwrap().digest, artifact.component());
        assert_eq!(manifest.to_bytes(), artifact.manifest);
    }

    #[test]
    fn what_is_no_policy_is_refused_by_what_it_is() {
        let artifact = String::from_utf8(artifact().manifest).unwrap();
        for (text, hint) in [
            (artifact.replace("vnd.wasm.config.v0", "vnd.oci.image.config.v1"), "config"),
            (artifact.replace("application/wasm", "application/vnd.oci.image.layer.v1.tar+gzip"), "layer"),
            (artifact.replace("image.manifest.v1", "image.index.v1"), "image.index"),
            (artifact.replace("\"schemaVersion\":2", "\"schemaVersion\":1"), "schema version"),
            (artifact.replace("\"size\":4", &format!("\"size\":{}", u64::MAX)), "more than"),
            (artifact.replace("sha256:cd5d", "sha256:../"), "not a digest"),
            ("{\"mediaType\":\"application/vnd.oci.image.index.v1+json\"}".to_owned(), "image.index"),
            ("{}".to_owned(), "missing"),
            ("nothing".to_owned(), "expected"),
        ] {
            let read = Manifest::parse(text.as_bytes(), &reference());
            let error = read.and_then(|manifest| manifest.component(&reference()).cloned()).unwrap_err();
            assert!(error.is_refusal() && error.to_string().contains(hint), "{hint}: {error}");
        }
        let mut none = Manifest::parse(artifact.as_bytes(), &reference()).unwrap();
        none.layers.clear();
        assert!(none.component(&reference()).unwrap_err().to_string().contains("0 layers"));
    }
}
