//! The two sides of a conversion: a spoke, and the hub.

/// One of the two versions of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Spoke,
    Hub,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Self::Spoke => Self::Hub,
            Self::Hub => Self::Spoke,
        }
    }
}

/// A value for each side.
#[derive(Clone, Debug, Default)]
pub(super) struct Sided<T> {
    pub spoke: T,
    pub hub: T,
}

impl<T> Sided<T> {
    pub fn of(&self, side: Side) -> &T {
        match side {
            Side::Spoke => &self.spoke,
            Side::Hub => &self.hub,
        }
    }

    pub fn of_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Spoke => &mut self.spoke,
            Side::Hub => &mut self.hub,
        }
    }
}
