//! A command that ends because something failed.

/// Why a command ended, and its exit code.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) code: u8,
    pub(crate) why: String,
}

impl From<String> for Failed {
    fn from(why: String) -> Failed {
        Failed { code: 1, why }
    }
}
