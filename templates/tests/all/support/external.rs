//! The other systems that the operator calls, in tests.

use operator_runtime::Shared;

/// Returns the operator's command-line flags in tests, which do not depend on environment variables.
/// Called before the operator starts, once for each test and for each run of a trial. To test calls of
/// another system, start a fake of it here, and return the flag with its address. `shared` has the values
/// that `setup.shared()` returns; a test gets them from `support::shared(&server)`.
pub async fn start(_shared: &Shared) -> anyhow::Result<Vec<String>> {
    Ok(vec![])
}
