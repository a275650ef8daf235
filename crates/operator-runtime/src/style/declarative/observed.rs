//! The children of an object as a [`Declarative`](super::Declarative) sees them.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use kube::{Resource, ResourceExt, api::ObjectMeta};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::RelatedObject;
use crate::{
    Error, Result,
    context::{ChildKey, Context, OwnedKey, child_labels},
    engine::kind::{GroupKind, Kind, Scope},
};

/// The existing children of a parent.
pub struct Observed {
    operator: String,
    namespace: String,
    owns: Vec<Kind>,
    owner: GroupKind,
    /// The indexes of the owned kinds that had not been listed yet.
    unlisted: BTreeSet<usize>,
    pub(super) children: BTreeMap<OwnedKey, Value>,
    /// The related objects, those that do not exist, and the errors of those that could not be read.
    related: Vec<(Kind, ChildKey, Result<Option<Value>>)>,
}

impl Observed {
    /// What a controller of `operator` observes for a parent without children, for a test of [`desired`](super::Declarative::desired)
    /// without a server.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// # use operator_runtime::Observed;
    /// # let (greeting, hello, password) = (ConfigMap::default(), ConfigMap::default(), Secret::default());
    /// let observed = Observed::for_tests("greeting-operator", &greeting)
    ///     .with_child(&hello)?
    ///     .with_related("password", Some(&password))?;
    /// assert_eq!(observed.list::<ConfigMap>()?.len(), 1);
    /// # Ok::<_, operator_runtime::Error>(())
    /// ```
    pub fn for_tests<K>(operator: &str, parent: &K) -> Self
    where
        K: Resource<DynamicType = ()>,
    {
        Self {
            operator: operator.to_owned(),
            namespace: parent.namespace().unwrap_or_else(|| operator.to_owned()),
            owns: vec![],
            owner: GroupKind::of::<K>(),
            unlisted: BTreeSet::new(),
            children: BTreeMap::new(),
            related: vec![],
        }
    }

    /// Adds a kind of which there are no children yet; in a project, the `owns` of `operator.toml` lists it.
    #[must_use]
    pub fn owning<C>(mut self) -> Self
    where
        C: Resource<DynamicType = (), Scope: 'static>,
    {
        let kind = Kind::of::<C>();
        if !self.owns.iter().any(|owned| owned.is_same(&kind)) {
            self.owns.push(kind);
        }
        self
    }

    /// Adds a child, and its kind. A child without a namespace is in that of the parent.
    ///
    /// # Errors
    /// [`Error::Json`] if it cannot be written as JSON.
    pub fn with_child<C>(self, child: &C) -> Result<Self>
    where
        C: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        let mut observed = self.owning::<C>();
        let kind = Kind::of::<C>();
        let owned = observed.owns.iter().position(|owned| owned.is_same(&kind));
        let key = observed.place(&kind, child.namespace(), child.name_any());
        let live = serde_json::to_value(child)?;
        let owned = owned.map(|index| ((index, key), live));
        observed.children.extend(owned);
        Ok(observed)
    }

    /// Adds an object that [`related`](super::Declarative::related) names, or that there is none.
    ///
    /// # Errors
    /// [`Error::Json`] if it cannot be written as JSON.
    pub fn with_related<C>(mut self, name: &str, object: Option<&C>) -> Result<Self>
    where
        C: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        let kind = Kind::of::<C>();
        let namespace = object.and_then(ResourceExt::namespace);
        let key = self.place(&kind, namespace, name.to_owned());
        let object = object.map(serde_json::to_value).transpose()?;
        self.related.push((kind, key, Ok(object)));
        Ok(self)
    }

    fn place(&self, kind: &Kind, namespace: Option<String>, name: String) -> ChildKey {
        let namespace = namespace.unwrap_or_else(|| self.namespace.clone());
        ChildKey {
            namespace: (kind.scope == Scope::Namespaced).then_some(namespace),
            name,
        }
    }

    /// All children.
    ///
    /// # Errors
    /// [`Error::Unlisted`] if a kind has not been listed yet.
    pub(super) async fn of(
        parent: &impl Resource<DynamicType = ()>,
        related: Vec<RelatedObject>,
        cx: &Context,
    ) -> Result<Self> {
        let observed = Self::of_listed(parent, related, cx).await?;
        match observed.unlisted.first() {
            Some(index) => Err(observed.unlisted(*index)),
            None => Ok(observed),
        }
    }

    /// The children of the kinds that have been listed. To read the children of another kind is an error.
    pub(super) async fn of_listed(
        parent: &impl Resource<DynamicType = ()>,
        related: Vec<RelatedObject>,
        cx: &Context,
    ) -> Result<Self> {
        // An error is returned to the method that asks for the object, so that others, such as `finalize`, do not fail for it.
        let read = async |object: RelatedObject| {
            let key = object.key(parent.namespace().as_deref());
            let found = cx.read_watched(&object.kind, &key).await;
            (object.kind, key, found)
        };
        let related = join_all(related.into_iter().map(read)).await;
        // before the children: a kind that is listed in between must not seem to have none
        let unlisted = cx.unlisted();
        Ok(Self {
            unlisted,
            operator: cx.operator().to_owned(),
            namespace: parent
                .namespace()
                .unwrap_or_else(|| cx.namespace().to_owned()),
            owns: cx.owns().iter().map(|owned| owned.kind.clone()).collect(),
            owner: cx.kind().clone(),
            children: cx.children().await?,
            related,
        })
    }

    /// Returns the child of this kind and name in the namespace of the parent, or in the operator's namespace if the parent is
    /// cluster-scoped.
    ///
    /// # Errors
    /// [`Error::Undeclared`] if the controller does not own the kind; [`Error::Json`] if the child cannot be decoded; in
    /// [`finalize`](super::Declarative::finalize), [`Error::Unlisted`] if it is not known which children of the kind exist.
    pub fn get<C>(&self, name: &str) -> Result<Option<C>>
    where
        C: Resource<DynamicType = (), Scope: 'static> + DeserializeOwned,
    {
        let children = self.of_kind::<C>()?;
        let mut named = children.filter(|(key, _)| {
            let namespace = key.namespace.as_deref();
            key.name == name && namespace.is_none_or(|it| it == self.namespace)
        });
        named.next().map(|(_, live)| decode(live)).transpose()
    }

    /// Returns all children of this kind, sorted by namespace and name.
    ///
    /// # Errors
    /// The errors of [`get`](Self::get).
    pub fn list<C>(&self) -> Result<Vec<C>>
    where
        C: Resource<DynamicType = (), Scope: 'static> + DeserializeOwned,
    {
        self.of_kind::<C>()?.map(|(_, live)| decode(live)).collect()
    }

    /// Returns the object of this kind and name that [`related`](super::Declarative::related) names, or `None` if it does not exist. If
    /// several namespaces have one, returns the first that `related` names; [`related_in`](Self::related_in) tells them apart.
    ///
    /// # Errors
    /// If `related` does not name it; [`Error::Undeclared`] if the controller does not watch the kind; [`Error::Json`] if it cannot be
    /// decoded; or the error of reading it.
    pub fn related<C>(&self, name: &str) -> Result<Option<C>>
    where
        C: Resource<DynamicType = (), Scope: 'static> + DeserializeOwned,
    {
        self.find_related(|key| key.name == name, name)
    }

    /// As [`related`](Self::related), in this namespace.
    pub fn related_in<C>(&self, namespace: &str, name: &str) -> Result<Option<C>>
    where
        C: Resource<DynamicType = (), Scope: 'static> + DeserializeOwned,
    {
        let is_meant =
            |key: &ChildKey| key.name == name && key.namespace.as_deref() == Some(namespace);
        self.find_related(is_meant, name)
    }

    fn find_related<C>(&self, is_meant: impl Fn(&ChildKey) -> bool, name: &str) -> Result<Option<C>>
    where
        C: Resource<DynamicType = (), Scope: 'static> + DeserializeOwned,
    {
        let kind = Kind::of::<C>();
        let mut related = self.related.iter();
        let found = related.find(|(of, key, _)| of.is_same(&kind) && is_meant(key));
        match found {
            Some((_, _, Ok(object))) => object.as_ref().map(decode).transpose(),
            Some((_, _, Err(Error::Undeclared { .. }))) => {
                Err(Error::undeclared(&kind, &self.owner, "watches"))
            }
            Some((_, _, Err(error))) => Err(anyhow::anyhow!("{kind} {name}: {error}").into()),
            None => Err(Error::permanent(anyhow::anyhow!(
                "{kind} {name} is not related to the object\nhelp: return it from `related`"
            ))),
        }
    }

    fn of_kind<C>(&self) -> Result<impl Iterator<Item = (&ChildKey, &Value)>>
    where
        C: Resource<DynamicType = (), Scope: 'static>,
    {
        let kind = Kind::of::<C>();
        let Some(index) = self.owns.iter().position(|owned| owned.is_same(&kind)) else {
            return Err(Error::undeclared(&kind, &self.owner, "owns"));
        };
        if self.unlisted.contains(&index) {
            return Err(self.unlisted(index));
        }
        let children = self.children.iter();
        Ok(children.filter_map(move |((of, key), live)| (*of == index).then_some((key, live))))
    }

    fn unlisted(&self, index: usize) -> Error {
        let kind = self.owns[index].to_string();
        Error::Unlisted { kind }
    }

    /// Metadata for a child of `parent`: its name, and the
    /// [recommended labels](https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/)
    /// `app.kubernetes.io/instance` and `app.kubernetes.io/managed-by`.
    pub fn child_metadata<K>(&self, parent: &K, name: impl Into<String>) -> ObjectMeta
    where
        K: Resource<DynamicType = ()>,
    {
        ObjectMeta {
            name: Some(name.into()),
            labels: Some(child_labels(&parent.name_any(), &self.operator)),
            ..ObjectMeta::default()
        }
    }
}

fn decode<C: Resource + DeserializeOwned>(live: &Value) -> Result<C> {
    let mut child = C::deserialize(live)?;
    child.meta_mut().managed_fields = None;
    Ok(child)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};

    use super::*;

    fn named<K: Resource + Default>(name: &str) -> K {
        let mut object = K::default();
        object.meta_mut().name = Some(name.into());
        object
    }

    #[test]
    fn what_a_test_observes_is_found_by_kind_and_name() {
        let mut parent: ConfigMap = named("parent");
        parent.metadata.namespace = Some("team".into());
        let observed = Observed::for_tests("operator", &parent)
            .with_child(&named::<ConfigMap>("a"))
            .and_then(|it| it.with_child(&named::<Node>("n")))
            .and_then(|it| it.with_related("there", Some(&named::<Secret>("there"))))
            .and_then(|it| it.with_related::<Secret>("absent", None))
            .unwrap();
        let child = observed.get::<ConfigMap>("a").unwrap();
        assert_eq!(child, Some(named("a")));
        assert_eq!(observed.get::<ConfigMap>("b").unwrap(), None);
        assert_eq!(observed.list::<Node>().unwrap().len(), 1);
        let undeclared = observed.list::<Secret>().unwrap_err();
        assert!(matches!(undeclared, Error::Undeclared { .. }));
        let observed = observed.owning::<Secret>();
        assert_eq!(observed.list::<Secret>().unwrap(), []);
        let there = observed.related_in::<Secret>("team", "there").unwrap();
        assert_eq!(there, Some(named("there")));
        assert_eq!(observed.related::<Secret>("absent").unwrap(), None);
        observed.related::<Secret>("another").unwrap_err();
    }
}
