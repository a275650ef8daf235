//! What the user's own files need, or lose, because of a plan. Each file finds one thing; nothing here writes.

pub mod abandoned_children;
pub mod affected;
pub mod bundle_limits;
pub mod by_plan;
pub mod check_code;
pub mod finalizers;
pub mod image;
pub mod ineffective_keys;
pub mod kept_fields;
pub mod missing_file;
pub mod own_samples;
pub mod pending;
pub mod pending_answers;
pub mod pending_webhooks;
pub mod retype;
pub mod rules;
pub mod stale_objects;
pub mod stale_paths;
