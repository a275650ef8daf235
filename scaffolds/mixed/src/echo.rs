//! What the controller `pod-echo` does, apart from Kubernetes: it writes a line for each pod. Its tests need no API server.

use std::{
    io::{self, Write},
    sync::{Mutex, PoisonError},
};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

/// Writes lines to an output.
pub struct Echo {
    prefix: String,
    output: Mutex<Box<dyn Write + Send>>,
}

impl Echo {
    pub fn new(prefix: impl Into<String>, output: impl Write + Send + 'static) -> Self {
        Self {
            prefix: prefix.into(),
            output: Mutex::new(Box::new(output)),
        }
    }

    /// Writes the line of a pod.
    pub fn pod(&self, pod: &Pod) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(output, "{}", self.line(pod))
    }

    /// The prefix, the namespace and the name of a pod.
    fn line(&self, pod: &Pod) -> String {
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        format!("{} {namespace}/{name}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_prefix_and_the_name() {
        let echo = Echo::new("seen:", io::sink());
        let mut pod = Pod::default();
        pod.metadata.name = Some("web-0".into());
        pod.metadata.namespace = Some("shop".into());
        assert_eq!(echo.line(&pod), "seen: shop/web-0");
    }
}
