//! What may go wrong in one schedule, and how often. Most schedules have few kinds of trouble, so that each kind is also met
//! alone; some have all of them.

use crate::dice::Dice;

/// Likelihoods in per mille, each of one step of its kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    /// The process dies at an action.
    pub(crate) cut: u64,
    /// A death is a loss of power: what was not synced may be gone, and a last line may be torn.
    pub(crate) power_loss: u64,
    /// The operator stops the process between two messages.
    pub(crate) stop: u64,
    /// An event comes twice, at once or much later.
    pub(crate) duplicate: u64,
    /// The gateway connection is lost; what is said meanwhile is replayed.
    pub(crate) disconnect: u64,
    /// A lost connection loses its session too: what was said meanwhile never reaches us.
    pub(crate) session_lost: u64,
    /// The request never reaches Discord.
    pub(crate) not_sent: u64,
    /// Discord asks for patience.
    pub(crate) limited: u64,
    /// 5xx or a time-out, with or without effect.
    pub(crate) unknown: u64,
    /// A request whose outcome is unknown arrives after we gave it up.
    pub(crate) late: u64,
    /// Discord refuses for good.
    pub(crate) refused: u64,
    /// Somebody deletes a question or an answer.
    pub(crate) deletion: u64,
    /// The channel cannot be read back.
    pub(crate) unreadable: u64,
    /// A held message cannot be fetched again.
    pub(crate) unfetched: u64,
    /// The engine does not start.
    pub(crate) no_start: u64,
    /// The engine dies during a run, or idle.
    pub(crate) engine_death: u64,
    /// A run ends with an error, or its reply is blank.
    pub(crate) bad_run: u64,
    /// The broker refuses to open or close a turn.
    pub(crate) broker_refusal: u64,
    /// The broker goes away.
    pub(crate) broker_death: u64,
    /// The clock is set forward.
    pub(crate) clock_forward: u64,
    /// The clock is set back.
    pub(crate) clock_back: u64,
}

impl Faults {
    pub(crate) fn thrown(dice: &mut Dice) -> Self {
        let mut faults = Self::default();
        // How many kinds of trouble this schedule has at all.
        let kinds = dice.one_of(&[0, 100, 100, 300, 300, 600]);
        let mut maybe = |most: u64| {
            if dice.happens(kinds) {
                dice.within(1..most + 1)
            } else {
                0
            }
        };
        faults.cut = maybe(60);
        faults.power_loss = maybe(1000);
        faults.stop = maybe(200);
        faults.duplicate = maybe(500);
        faults.disconnect = maybe(400);
        faults.session_lost = maybe(600);
        faults.not_sent = maybe(500);
        faults.limited = maybe(400);
        faults.unknown = maybe(700);
        faults.late = maybe(600);
        faults.refused = maybe(200);
        faults.deletion = maybe(400);
        faults.unreadable = maybe(800);
        faults.unfetched = maybe(500);
        faults.no_start = maybe(600);
        faults.engine_death = maybe(400);
        faults.bad_run = maybe(400);
        faults.broker_refusal = maybe(300);
        faults.broker_death = maybe(200);
        faults.clock_forward = maybe(300);
        faults.clock_back = maybe(300);
        if faults.clock_forward + faults.clock_back > 0 {
            // A request that arrives after the clock was set past its whole window cannot be told from one that never does.
            faults.late = 0;
        }
        if faults.clock_back > 0 {
            // Set back while nobody watches, a clock hides how old an open delivery is.
            faults.cut = 0;
        }
        faults
    }
}
