//! How the REST side misbehaves on demand: which request is hit, and what happens to it. The happening itself is in `rest/front.rs`.

use std::time::Duration;

use super::{refusal::Refusal, rest::Endpoint};

/// A planned misbehaviour, told like a sentence: `Fault::next(Endpoint::CreateMessage, Mishap::LostAfter).skip(3).times(2)`.
#[derive(Clone, Debug)]
pub struct Fault {
    endpoint: Endpoint,
    skip: usize,
    times: usize,
    mishap: Mishap,
}

impl Fault {
    /// Hits the next request to `endpoint`, once.
    #[must_use]
    pub fn next(endpoint: Endpoint, mishap: Mishap) -> Self {
        Fault {
            endpoint,
            skip: 0,
            times: 1,
            mishap,
        }
    }

    /// Lets the first `requests` pass.
    #[must_use]
    pub fn skip(self, requests: usize) -> Self {
        Fault {
            skip: requests,
            ..self
        }
    }

    /// Hits this many requests in a row.
    #[must_use]
    pub fn times(self, requests: usize) -> Self {
        Fault {
            times: requests,
            ..self
        }
    }

    /// Hits every request from then on.
    #[must_use]
    pub fn forever(self) -> Self {
        self.times(usize::MAX)
    }
}

/// What can go wrong between a request and its answer. "Acted on" says whether the server did what was asked all the same.
#[derive(Clone, Debug)]
pub enum Mishap {
    /// 429 with Discord's JSON body and limit headers. Not acted on.
    RateLimited {
        /// Seconds to wait, as the float in the body; the header holds it rounded up.
        retry_after: f64,
        /// Which limit it is.
        scope: Scope,
    },
    /// 429 with JSON that lacks `retry_after` and every limit header. Not acted on.
    RateLimitedWithoutHint,
    /// 429 with Cloudflare's page: the ban. `Retry-After` in whole seconds when given. Not acted on.
    Banned {
        /// The header, if any.
        retry_after: Option<u32>,
    },
    /// An HTML page with this status, as a proxy makes for 502.
    Page {
        /// HTTP status.
        status: u16,
        /// Whether the request was acted on first.
        acted: bool,
    },
    /// An error answer of the API. Not acted on.
    Refused(Refusal),
    /// Any answer at all.
    Instead {
        /// HTTP status.
        status: u16,
        /// The content type header.
        content_type: &'static str,
        /// The body, as it is.
        body: String,
        /// Whether the request was acted on first.
        acted: bool,
    },
    /// The connection is closed once the request was read. Not acted on.
    LostBefore,
    /// The connection is closed in place of the answer. Acted on.
    LostAfter,
    /// The right answer, of which only the first half arrives. Acted on.
    CutBody,
    /// Acted on at once, answered after this time.
    Late(Duration),
    /// Acted on and answered only after this time.
    Slow(Duration),
    /// Never answered, the connection stays open.
    Stalled {
        /// Whether the request was acted on first.
        acted: bool,
    },
    /// The right answer, with an `X-RateLimit-Reset` from a clock that is this many seconds ahead. Acted on.
    SkewedReset(f64),
}

/// Whose limit a 429 speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This bot's, on this route.
    User,
    /// This bot's, on every route.
    Global,
    /// The resource's, which other bots use too; does not count as an invalid request.
    Shared,
}

impl Scope {
    pub(super) fn name(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Global => "global",
            Scope::Shared => "shared",
        }
    }
}

/// The planned faults, in the order they were planned.
#[derive(Debug, Default)]
pub(super) struct Plan {
    faults: Vec<Fault>,
}

impl Plan {
    pub(super) fn add(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.faults.clear();
    }

    /// What happens to a request that just came in. The first fault planned for its endpoint decides; later ones wait until it is used up.
    pub(super) fn hit(&mut self, endpoint: Endpoint) -> Option<Mishap> {
        let at = self
            .faults
            .iter()
            .position(|fault| fault.endpoint == endpoint)?;
        let fault = &mut self.faults[at];
        if fault.skip > 0 {
            fault.skip -= 1;
            return None;
        }
        let mishap = fault.mishap.clone();
        fault.times = fault.times.saturating_sub(1);
        if fault.times == 0 {
            self.faults.remove(at);
        }
        Some(mishap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(plan: &mut Plan, requests: usize) -> Vec<bool> {
        (0..requests)
            .map(|_| plan.hit(Endpoint::CreateMessage).is_some())
            .collect()
    }

    #[test]
    fn a_fault_skips_then_hits_then_is_used_up() {
        let mut plan = Plan::default();
        plan.add(
            Fault::next(Endpoint::CreateMessage, Mishap::LostAfter)
                .skip(1)
                .times(2),
        );
        assert_eq!(hits(&mut plan, 4), [false, true, true, false]);
    }

    #[test]
    fn a_fault_leaves_other_endpoints_alone() {
        let mut plan = Plan::default();
        plan.add(Fault::next(Endpoint::Typing, Mishap::LostBefore).forever());
        assert_eq!(hits(&mut plan, 2), [false, false]);
    }
}
