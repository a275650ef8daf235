//! The arithmetic of estimates, which saturates.

/// The cost of reading one character of a text.
const TEXT: f64 = 0.1;

/// The number of characters, bytes, items or entries of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    pub(super) fn exactly(size: u64) -> Self {
        Self {
            min: size,
            max: size,
        }
    }

    pub(super) fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    /// The smallest range that contains both.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// The cost of reading the text.
    pub(super) fn read(self) -> u64 {
        scaled(self.max, TEXT)
    }
}

/// The product, rounded up.
pub(super) fn scaled(value: u64, factor: f64) -> u64 {
    // a conversion to an integer saturates
    (value as f64 * factor).ceil() as u64
}

/// The sizes of the keys and values of a list or map.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    pub(super) is_list: bool,
    pub(super) key: Size,
    pub(super) value: Size,
}

impl Entries {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            is_list: self.is_list,
            key: self.key.or(other.key),
            value: self.value.or(other.value),
        }
    }
}
