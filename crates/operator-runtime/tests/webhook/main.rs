//! Webhooks of a running operator, with the feature `webhook`.
#![cfg(feature = "webhook")]

mod admission;
mod bad_input;
mod conversion;
mod life;
mod renewal;
mod served;
mod storage_move;
mod tls;
mod trial;
mod version;
