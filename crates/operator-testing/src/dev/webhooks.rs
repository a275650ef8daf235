//! The webhooks of the operator in a session: where it serves them, and how the API server in memory calls them.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    time::Duration,
};

use k8s_openapi::{
    ByteString,
    api::admissionregistration::v1::{
        MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{Api, Client, api::DynamicObject};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value;
use tokio::{net::TcpStream, time::sleep};

use super::DevError;
use super::conversions::{Conversions, redirect};

/// The configurations of webhooks in a project; `webhook/` has other files, which are of use only in a cluster.
pub const CONFIGURATIONS: [&str; 2] = [
    "manifests/webhook/mutating.yaml",
    "manifests/webhook/validating.yaml",
];

/// The pause between two checks whether the webhooks can be called.
const PAUSE: Duration = Duration::from_millis(100);

/// Where the operator serves its webhooks on this machine.
#[derive(Clone, Debug)]
pub struct Webhooks {
    address: SocketAddr,
    /// The certificate of an operator that does not make its own.
    mounted: Option<Mounted>,
}

#[derive(Clone, Debug)]
struct Mounted {
    folder: PathBuf,
    /// The certificate in base64, for the configurations.
    bundle: Value,
}

impl Webhooks {
    /// Chooses a free port, and makes a certificate in `folder` if the operator expects one there.
    pub fn new(folder: &Path, mounts_certificates: bool) -> Result<Self, DevError> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let mounted = mounts_certificates.then(|| Mounted::new(&folder.join("webhook")));
        Ok(Self {
            address,
            mounted: mounted.transpose()?,
        })
    }

    /// Makes a certificate for webhooks that nothing calls, and returns its folder.
    pub fn uncalled(folder: &Path) -> Result<PathBuf, DevError> {
        Mounted::new(&folder.join("webhook")).map(|mounted| mounted.folder)
    }

    fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The environment variables of the operator.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let mut set = vec![
            ("WEBHOOK_ADDRESS", self.address.to_string()),
            ("WEBHOOK_URL", self.url()),
        ];
        if let Some(mounted) = &self.mounted {
            let folder = mounted.folder.display().to_string();
            set.push(("WEBHOOK_CERTIFICATES", folder));
        }
        set
    }

    /// Changes a configuration of webhooks so that it calls this machine, if the operator does not do that.
    pub fn redirect(&self, object: &mut DynamicObject) {
        let Some(bundle) = self.bundle() else {
            return;
        };
        let webhooks = object.data.get_mut("webhooks");
        for webhook in webhooks.and_then(Value::as_array_mut).into_iter().flatten() {
            redirect(webhook, &self.url(), Some(bundle));
        }
    }

    /// The conversions of CRDs, which call this machine. Each gets the URL at once: a CRD is applied again when its
    /// file changes, and a service beside the URL that the operator has set would be invalid.
    pub fn conversions(&self, conversion: &Value, crds: &[String]) -> Conversions {
        Conversions::at(&self.url(), self.bundle(), conversion, crds)
    }

    fn bundle(&self) -> Option<&Value> {
        self.mounted.as_ref().map(|mounted| &mounted.bundle)
    }

    /// Waits until the operator listens, and each webhook of its configurations and of the converted CRDs has a URL and a CA bundle.
    pub async fn wait_until_served(self, client: Client, name: String, converted: Vec<String>) {
        while TcpStream::connect(self.address).await.is_err()
            || !is_trusted(&client, &name).await
            || !are_converted(&client, &converted).await
        {
            sleep(PAUSE).await;
        }
    }
}

impl Mounted {
    fn new(folder: &Path) -> Result<Self, DevError> {
        let host = Ipv4Addr::LOCALHOST.to_string();
        let made = generate_simple_self_signed([host]);
        let CertifiedKey { cert, signing_key } = made.map_err(io::Error::other)?;
        let pem = cert.pem();
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("tls.crt"), &pem)?;
        super::cluster::write_private(
            &folder.join("tls.key"),
            signing_key.serialize_pem().as_bytes(),
        )?;
        let bundle =
            serde_json::to_value(ByteString(pem.into_bytes())).map_err(io::Error::other)?;
        Ok(Self {
            folder: folder.to_owned(),
            bundle,
        })
    }
}

/// Whether each webhook of the operator's configurations has a URL and a CA bundle. A missing configuration does not count.
async fn is_trusted(client: &Client, name: &str) -> bool {
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let (Ok(validating), Ok(mutating)) =
        (validating.get_opt(name).await, mutating.get_opt(name).await)
    else {
        return false;
    };
    let validating = validating.and_then(|it| it.webhooks).unwrap_or_default();
    let mutating = mutating.and_then(|it| it.webhooks).unwrap_or_default();
    let validating = validating.iter().map(|it| &it.client_config);
    let mutating = mutating.iter().map(|it| &it.client_config);
    validating
        .chain(mutating)
        .all(|config| config.url.is_some() && config.ca_bundle.is_some())
}

/// Whether the conversion webhook of each of these CRDs has a URL and a CA bundle. A missing CRD does not count.
async fn are_converted(client: &Client, crds: &[String]) -> bool {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for name in crds {
        let Ok(crd) = definitions.get_opt(name).await else {
            return false;
        };
        let is_trusted = |crd: CustomResourceDefinition| {
            crd.spec
                .conversion
                .and_then(|it| it.webhook)
                .and_then(|it| it.client_config)
                .is_some_and(|it| it.url.is_some() && it.ca_bundle.is_some())
        };
        if !crd.is_none_or(is_trusted) {
            return false;
        }
    }
    true
}
