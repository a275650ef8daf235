//! A context without a running operator, for tests.

use kube::{Client, Resource};

use crate::{
    Context, Settings,
    context::ControllerContext,
    engine::{
        controller::Wiring, identity::Identity, kind::GroupKind, status_owners::StatusOwners,
    },
};

impl Context {
    /// The context of an object in an operator of this name, for a test of functions that build its children. `client` makes the requests
    /// that such a function makes with [`client`](Self::client); the context owns no kinds, so [`apply`](Self::apply) is an error.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> anyhow::Result<()> {
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # use operator_runtime::Context;
    /// # let client = operator_testing::Server::in_memory().client();
    /// # let greeting: ConfigMap = operator_testing::sample("{metadata: {name: hello, namespace: shop}}")?;
    /// let cx = Context::for_tests("greeting-operator", &greeting, client);
    /// let metadata = cx.child_metadata(&greeting, "hello-en");
    /// assert_eq!(metadata.namespace.as_deref(), Some("shop"));
    /// # Ok(()) }
    /// ```
    pub fn for_tests<K>(operator: &str, object: &K, client: Client) -> Self
    where
        K: Resource<DynamicType = ()>,
    {
        let wiring = Wiring::for_tests(client, Settings::for_tests());
        let kind = GroupKind::of::<K>();
        let identity = Identity {
            operator: operator.to_owned(),
            name: kind.kind.to_lowercase(),
            kind,
            is_named: false,
            shares_kind: false,
        };
        let metrics = wiring.metrics.of_controller(&identity);
        let controller = ControllerContext::new::<K>(
            wiring.client,
            identity,
            vec![],
            vec![],
            StatusOwners::of::<K>(),
            &metrics,
            wiring.tasks,
        );
        Self::new(controller, object, false)
    }
}
