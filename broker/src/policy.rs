//! What one binding permits: the `tools` key of its file, checked whole before anything starts. It knows no other key of
//! the file, and it opens nothing for use: [`crate::fence::Reach`] does.

mod binding;
mod protect;
mod root;
mod shape;
mod words;

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest, Sha256};

pub use self::protect::Protection;
pub use self::root::RootPolicy;
use self::shape::Tools;
use crate::limits;

/// The checked policy of one binding. Made by [`Policy::read`] only, so whoever holds one need not check again.
#[derive(Clone, Debug)]
pub struct Policy {
    tools_digest: String,
    policy_digest: String,
    roots: Vec<RootPolicy>,
    max_file_bytes: u64,
    max_calls_per_turn: u32,
    required_abi: u32,
}

/// Why a binding cannot be used: exit code 2, and the operator reads this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {found}. Accepted is {accepted}.")]
pub struct PolicyError {
    /// Where it stands: `tools.roots[1].path`, or the binding file itself.
    pub field: String,
    /// What stands there, by kind. Values are not repeated.
    pub found: String,
    /// What would be accepted there.
    pub accepted: String,
}

impl PolicyError {
    pub(crate) fn new(
        field: impl Into<String>,
        found: impl Into<String>,
        accepted: impl Into<String>,
    ) -> PolicyError {
        PolicyError {
            field: field.into(),
            found: found.into(),
            accepted: accepted.into(),
        }
    }
}

impl Policy {
    /// Reads and checks the `tools` and `sandbox` keys of a binding file (seeds 002, The binding). `data_root` and `home` are places no
    /// root may be, contain, or lie in.
    ///
    /// # Errors
    ///
    /// The file is not a private regular file of this user, is not a JSON object, or anything in `tools` is unknown,
    /// of the wrong type or outside its bounds. The first fault is named.
    pub fn read(
        binding: &Path,
        data_root: &Path,
        home: Option<&Path>,
    ) -> Result<Policy, PolicyError> {
        let bytes = binding::read_private(binding)?;
        let keys = shape::keys(&bytes)?;
        let required_abi = keys.landlock_abi.unwrap_or(limits::DEFAULT_LANDLOCK_ABI);
        let Some(raw) = keys.tools else {
            return Ok(Policy::build(
                "",
                Vec::new(),
                Bounds::default(),
                required_abi,
            ));
        };
        let tools = Tools::parse(raw)?;
        let roots = root::check_all(&tools.roots, data_root, home)?;
        Ok(Policy::build(raw, roots, tools.bounds, required_abi))
    }

    fn build(raw: &str, roots: Vec<RootPolicy>, bounds: Bounds, required_abi: u32) -> Policy {
        let mut policy = Policy {
            tools_digest: hex_digest(raw.as_bytes()),
            policy_digest: String::new(),
            roots,
            max_file_bytes: bounds.max_file_bytes,
            max_calls_per_turn: bounds.max_calls_per_turn,
            required_abi,
        };
        // The words name everything a reviewer would ask about, so their digest changes exactly when the policy does.
        let words = format!(
            "{} {}\n{policy}",
            env!("CARGO_PKG_VERSION"),
            policy.tools_digest
        );
        policy.policy_digest = hex_digest(words.as_bytes());
        policy
    }

    /// SHA-256 in hex over the bytes of the `tools` value as they stand in the file; over no bytes when there is none.
    /// The connector compares it with what it read itself (DESIGN, section 7, row 22).
    #[must_use]
    pub fn tools_digest(&self) -> &str {
        &self.tools_digest
    }

    /// SHA-256 in hex over everything the fences of this binding are built from.
    #[must_use]
    pub fn policy_digest(&self) -> &str {
        &self.policy_digest
    }

    /// How many calls one turn may make, refused ones included.
    #[must_use]
    pub fn max_calls_per_turn(&self) -> u32 {
        self.max_calls_per_turn
    }

    /// Largest file that is read or written, in bytes.
    #[must_use]
    pub fn max_file_bytes(&self) -> u64 {
        self.max_file_bytes
    }

    /// The roots, in the order of the binding.
    #[must_use]
    pub fn roots(&self) -> &[RootPolicy] {
        &self.roots
    }

    /// Landlock ABI the running kernel must offer: 6, or what `sandbox.landlockAbi` lowers it to.
    #[must_use]
    pub fn required_abi(&self) -> u32 {
        self.required_abi
    }

    /// Whether any root takes changes.
    #[must_use]
    pub fn has_writable_root(&self) -> bool {
        self.roots.iter().any(RootPolicy::writable)
    }

    /// The paragraph for the system prompt; empty without roots.
    #[must_use]
    pub fn prompt(&self) -> String {
        words::prompt(self)
    }
}

/// The numbers of a binding, with their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    max_file_bytes: u64,
    max_calls_per_turn: u32,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            max_file_bytes: limits::DEFAULT_MAX_FILE_BYTES,
            max_calls_per_turn: limits::DEFAULT_MAX_CALLS_PER_TURN,
        }
    }
}

/// SHA-256 in lower-case hex.
pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("a String takes every write");
            hex
        })
}
