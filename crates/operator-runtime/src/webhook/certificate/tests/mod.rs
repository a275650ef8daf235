//! Managed certificates on a server in memory, with a clock of their own, and clients that trust only what the configurations contain.

mod creation;
mod damage;
mod injection;
mod load;
mod mounted;
mod renewal;
mod rotation;
mod secrecy;
mod support;
mod url;
