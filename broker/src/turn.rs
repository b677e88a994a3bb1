//! The one turn that may be open, and the calls it still has. A pure machine: it knows neither sockets nor the ledger
//! nor what a call does, and takes the time from its caller.

use std::collections::VecDeque;

use crate::{facts::Facts, refusal::Refusal};

/// Refused calls beyond the limit that still get a place (and so a ledger line) in one turn; later ones are only
/// counted, so that an engine gone wild can fill neither memory nor disk.
const LISTED_BEYOND_LIMIT: u32 = 256;

/// Closed turn ids remembered in one session, so that none is opened twice.
const REMEMBERED_IDS: usize = 4096;

/// Id of a turn or an event: 1 to 64 characters of `A-Z a-z 0-9 . _ -`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id(String);

impl Id {
    /// Reads an id; `None` when it is none.
    pub(crate) fn parse(text: &str) -> Option<Id> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(plain);
        fits.then(|| Id(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a turn cannot be opened, aborted or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnError {
    /// Another one is open.
    Busy,
    /// This id was opened and closed before in this session.
    ClosedBefore,
    /// No turn of this id is open.
    NotOpen,
    /// The broker is about to end.
    Stopping,
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallState {
    /// It waits its turn or is at work.
    Running,
    Done,
    Refused,
    Failed,
    Cancelled,
}

/// One call as the turn keeps it for `CloseTurn` and `WatchCalls`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) place: Place,
    pub(crate) tool: &'static str,
    pub(crate) state: CallState,
    /// Empty when done.
    pub(crate) reason: &'static str,
    /// Milliseconds since 1970.
    pub(crate) started_ms: u64,
    pub(crate) duration_ms: u64,
    pub(crate) facts: Facts,
}

/// A call's place: its turn (none for a call between turns) and its index there, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    turn: Option<Id>,
    index: u32,
}

impl Place {
    /// Id of the turn; empty for a call between turns.
    pub(crate) fn turn(&self) -> &str {
        self.turn.as_ref().map_or("", Id::as_str)
    }

    pub(crate) fn index(&self) -> u32 {
        self.index
    }
}

/// What becomes of a call at the door.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arrival {
    /// It may queue.
    Admitted(Place),
    /// It is refused, and has its place in the record.
    Refused(Place, Refusal),
    /// It is refused like so many before it, and only counted.
    Counted(Refusal),
}

/// A turn that is over.
#[derive(Debug, PartialEq)]
pub(crate) struct Closed {
    /// In the order they arrived.
    pub(crate) calls: Vec<Call>,
    /// Refused calls that were only counted.
    pub(crate) unlisted: u64,
}

/// At most one open turn, and the ids of those that were.
#[derive(Debug)]
pub(crate) struct Turns {
    max_calls: u32,
    open: Option<Turn>,
    closed: VecDeque<Id>,
    /// Calls that came between turns since the last one.
    stray: u32,
    stopping: bool,
}

#[derive(Debug)]
struct Turn {
    id: Id,
    /// Takes no further calls.
    aborted: bool,
    calls: Vec<Call>,
    unlisted: u64,
}

impl Turns {
    /// No turn yet; each may make `max_calls` calls.
    pub(crate) fn new(max_calls: u32) -> Turns {
        Turns {
            max_calls,
            open: None,
            closed: VecDeque::new(),
            stray: 0,
            stopping: false,
        }
    }

    /// Opens a turn.
    pub(crate) fn open(&mut self, id: Id) -> Result<(), TurnError> {
        if self.stopping {
            return Err(TurnError::Stopping);
        }
        if self.open.is_some() {
            return Err(TurnError::Busy);
        }
        if self.closed.contains(&id) {
            return Err(TurnError::ClosedBefore);
        }
        self.open = Some(Turn {
            id,
            aborted: false,
            calls: Vec::new(),
            unlisted: 0,
        });
        self.stray = 0;
        Ok(())
    }

    /// Gives an arriving call its place, and takes one of the turn's calls for it: a refused or cancelled call is
    /// spent like any other.
    pub(crate) fn arrive(&mut self, tool: &'static str, now_ms: u64) -> Arrival {
        let Some(turn) = &mut self.open else {
            self.stray = self.stray.saturating_add(1);
            if self.stray > LISTED_BEYOND_LIMIT {
                return Arrival::Counted(Refusal::NoOpenTurn);
            }
            return Arrival::Refused(
                Place {
                    turn: None,
                    index: self.stray,
                },
                Refusal::NoOpenTurn,
            );
        };
        let listed = u32::try_from(turn.calls.len()).unwrap_or(u32::MAX);
        let refusal = match () {
            () if self.stopping || turn.aborted => Some(Refusal::NoOpenTurn),
            () if listed >= self.max_calls => Some(Refusal::CallsSpent {
                limit: self.max_calls,
            }),
            () => None,
        };
        if listed >= self.max_calls.saturating_add(LISTED_BEYOND_LIMIT) {
            turn.unlisted += 1;
            return Arrival::Counted(refusal.unwrap_or(Refusal::CallsSpent {
                limit: self.max_calls,
            }));
        }
        let place = Place {
            turn: Some(turn.id.clone()),
            index: listed + 1,
        };
        turn.calls.push(Call {
            place: place.clone(),
            tool,
            state: CallState::Running,
            reason: "",
            started_ms: now_ms,
            duration_ms: 0,
            facts: Facts::default(),
        });
        match refusal {
            None => Arrival::Admitted(place),
            Some(refusal) => Arrival::Refused(place, refusal),
        }
    }

    /// Whether a call that waited may still begin: its own turn must be the open one.
    pub(crate) fn may_begin(&self, place: &Place) -> Result<(), Refusal> {
        match &self.open {
            Some(turn) if place.turn.as_ref() == Some(&turn.id) && !turn.aborted => Ok(()),
            _ => Err(Refusal::NoOpenTurn),
        }
    }

    /// Keeps how a call ended. A call between turns is kept nowhere but in the ledger.
    pub(crate) fn end(&mut self, ended: &Call) {
        let Some(turn) = &mut self.open else { return };
        if let Some(call) = turn.calls.iter_mut().find(|call| call.place == ended.place) {
            call.clone_from(ended);
        }
    }

    /// The call at `place`, as it stands.
    pub(crate) fn call(&self, place: &Place) -> Option<&Call> {
        self.open
            .as_ref()?
            .calls
            .iter()
            .find(|call| call.place == *place)
    }

    /// Lets the turn take no further calls.
    pub(crate) fn abort(&mut self, id: &Id) -> Result<(), TurnError> {
        match &mut self.open {
            Some(turn) if turn.id == *id => {
                turn.aborted = true;
                Ok(())
            }
            _ => Err(TurnError::NotOpen),
        }
    }

    /// Whether a call of the open turn waits or is at work.
    pub(crate) fn is_busy(&self) -> bool {
        let running = |turn: &Turn| {
            turn.calls
                .iter()
                .any(|call| call.state == CallState::Running)
        };
        self.open.as_ref().is_some_and(running)
    }

    /// Ends the turn; its calls have ended before.
    pub(crate) fn close(&mut self, id: &Id) -> Result<Closed, TurnError> {
        let turn = self
            .open
            .take_if(|turn| turn.id == *id)
            .ok_or(TurnError::NotOpen)?;
        if self.closed.len() == REMEMBERED_IDS {
            self.closed.pop_front();
        }
        self.closed.push_back(turn.id);
        Ok(Closed {
            calls: turn.calls,
            unlisted: turn.unlisted,
        })
    }

    /// Id of the open turn.
    pub(crate) fn current(&self) -> Option<&Id> {
        self.open.as_ref().map(|turn| &turn.id)
    }

    /// A new session may use any id.
    pub(crate) fn forget_closed(&mut self) {
        self.closed.clear();
    }

    /// Refuses every turn and call from now on.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Id {
        Id::parse(text).expect("an id")
    }

    fn turns(max_calls: u32, open: &str) -> Turns {
        let mut turns = Turns::new(max_calls);
        turns.open(id(open)).expect("opened");
        turns
    }

    fn admitted(arrival: Arrival) -> Place {
        let Arrival::Admitted(place) = arrival else {
            panic!("not admitted: {arrival:?}")
        };
        place
    }

    #[test]
    fn ids_are_short_and_plain() {
        for good in ["1", "a.B_c-9", &"x".repeat(64)] {
            assert!(Id::parse(good).is_some(), "{good}");
        }
        for bad in ["", &"x".repeat(65), "a b", "a/b", "ä", "a\n", "a\0"] {
            assert!(Id::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_98_a_call_without_a_turn_is_refused() {
        let mut turns = Turns::new(12);
        let place = Place {
            turn: None,
            index: 1,
        };
        assert_eq!(
            turns.arrive("read_file", 0),
            Arrival::Refused(place, Refusal::NoOpenTurn)
        );
    }

    #[test]
    fn a_98_a_call_after_the_turns_end_is_refused() {
        let mut turns = turns(12, "t1");
        turns.close(&id("t1")).expect("closed");
        assert!(matches!(
            turns.arrive("read_file", 0),
            Arrival::Refused(_, Refusal::NoOpenTurn)
        ));
    }

    #[test]
    fn a_98_an_invented_turn_can_be_neither_aborted_nor_closed() {
        let mut turns = turns(12, "t1");
        assert_eq!(turns.abort(&id("t2")), Err(TurnError::NotOpen));
        assert_eq!(turns.close(&id("t2")), Err(TurnError::NotOpen));
        assert_eq!(turns.current(), Some(&id("t1")));
    }

    #[test]
    fn a_second_turn_waits_for_the_first_and_an_id_is_used_once_a_session() {
        let mut turns = turns(12, "t1");
        assert_eq!(turns.open(id("t2")), Err(TurnError::Busy));
        turns.close(&id("t1")).expect("closed");
        assert_eq!(turns.open(id("t1")), Err(TurnError::ClosedBefore));
        turns.forget_closed();
        assert_eq!(turns.open(id("t1")), Ok(()));
    }

    #[test]
    fn a_100_a_call_that_waited_does_not_begin_in_the_next_turn() {
        let mut turns = turns(12, "t1");
        let place = admitted(turns.arrive("write_file", 0));
        turns.close(&id("t1")).expect("closed");
        turns.open(id("t2")).expect("opened");
        assert_eq!(turns.may_begin(&place), Err(Refusal::NoOpenTurn));
    }

    #[test]
    fn a_101_of_a_hundred_calls_at_once_the_limit_is_admitted_and_the_rest_refused() {
        let mut turns = turns(12, "t1");
        let arrivals: Vec<_> = (0..100).map(|_| turns.arrive("read_file", 0)).collect();
        let admitted = arrivals
            .iter()
            .filter(|a| matches!(a, Arrival::Admitted(_)))
            .count();
        let spent =
            |a: &&Arrival| matches!(a, Arrival::Refused(_, Refusal::CallsSpent { limit: 12 }));
        assert_eq!((admitted, arrivals.iter().filter(spent).count()), (12, 88));
        let closed = turns.close(&id("t1")).expect("closed");
        assert_eq!(
            closed
                .calls
                .iter()
                .map(|call| call.place.index())
                .collect::<Vec<_>>(),
            (1..=100).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_101_refused_and_cancelled_calls_are_spent() {
        let mut turns = turns(2, "t1");
        for state in [CallState::Refused, CallState::Cancelled] {
            let place = admitted(turns.arrive("read_file", 0));
            let call = Call {
                state,
                ..turns.call(&place).expect("listed").clone()
            };
            turns.end(&call);
        }
        assert!(matches!(
            turns.arrive("read_file", 0),
            Arrival::Refused(_, Refusal::CallsSpent { limit: 2 })
        ));
    }

    #[test]
    fn an_engine_gone_wild_is_counted_but_no_longer_listed() {
        let mut turns = turns(1, "t1");
        for _ in 0..10_000 {
            turns.arrive("read_file", 0);
        }
        let closed = turns.close(&id("t1")).expect("closed");
        assert_eq!((closed.calls.len(), closed.unlisted), (257, 9_743));
        for _ in 0..256 {
            assert!(matches!(turns.arrive("read_file", 0), Arrival::Refused(..)));
        }
        assert_eq!(
            turns.arrive("read_file", 0),
            Arrival::Counted(Refusal::NoOpenTurn)
        );
    }

    #[test]
    fn an_aborted_turn_refuses_calls_and_stays_open_until_it_is_closed() {
        let mut turns = turns(12, "t1");
        let waiting = admitted(turns.arrive("read_file", 0));
        turns.abort(&id("t1")).expect("aborted");
        assert_eq!(turns.may_begin(&waiting), Err(Refusal::NoOpenTurn));
        assert!(matches!(
            turns.arrive("read_file", 0),
            Arrival::Refused(_, Refusal::NoOpenTurn)
        ));
        assert_eq!(turns.open(id("t2")), Err(TurnError::Busy));
        assert_eq!(turns.close(&id("t1")).expect("closed").calls.len(), 2);
    }

    #[test]
    fn a_turn_is_busy_until_its_last_call_ends() {
        let mut turns = turns(12, "t1");
        let place = admitted(turns.arrive("read_file", 5));
        assert!(turns.is_busy());
        let call = Call {
            state: CallState::Done,
            duration_ms: 3,
            ..turns.call(&place).expect("listed").clone()
        };
        turns.end(&call);
        assert!(!turns.is_busy());
        assert_eq!(
            turns.close(&id("t1")),
            Ok(Closed {
                calls: vec![call],
                unlisted: 0
            })
        );
    }
}
