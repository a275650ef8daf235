//! What a pod does next.

/// The next step of a pod, after a delay.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::workload) enum Step {
    /// Its containers start, or their image cannot be pulled.
    Start,
    /// It reports the objects for which it waits.
    Wait(MissingReference),
    /// Its containers finish.
    Finish,
    /// Its containers restart, after this number of restarts.
    Restart(i64),
    /// Its containers stop, because it is being deleted.
    Stop,
}

/// A missing object.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::workload) enum MissingReference {
    /// A volume cannot be mounted.
    Volume { name: String, why: String },
    /// Containers, by name, have variables without a value.
    Variables(Vec<(String, String)>),
}
