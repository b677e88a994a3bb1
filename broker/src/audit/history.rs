//! What a ledger tells when read from the start: which calls never ended, and which brokers did not end in order.
//! Pure: lines in, findings out.

use std::{collections::BTreeMap, fmt};

use super::{CallStart, Entry, Line};

/// Folds lines in order.
#[derive(Debug, Default)]
pub(crate) struct History {
    running: Option<u64>,
    turn: Option<(String, u64)>,
    intents: BTreeMap<(String, u32), Unfinished>,
    notes: Vec<Note>,
}

/// A call that was written down and has no end yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unfinished {
    /// Line of its intent.
    pub(crate) seq: u64,
    pub(crate) call: CallStart,
}

/// Something a reader should know that does not break the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Note {
    /// A broker ended without saying so.
    NoStop { started: u64, next: u64 },
    /// Its open turn was never closed.
    NoClose { turn: String, opened: u64 },
    /// A line was cut short and set aside.
    Recovered { seq: u64, bytes: u64 },
    /// A call's act was cut off.
    Interrupted { seq: u64, tool: String },
    /// The kernel denied what a fence had passed.
    KernelDenied { seq: u64, tool: String },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::NoStop { started, next } => write!(
                f,
                "the broker that started at line {started} ended before line {next} without a stop line: killed, or its last lines were cut off"
            ),
            Note::NoClose { turn, opened } => {
                write!(f, "turn {turn}, opened at line {opened}, was never closed")
            }
            Note::Recovered { seq, bytes } => write!(
                f,
                "before line {seq}, {bytes} bytes of a torn line were set aside"
            ),
            Note::Interrupted { seq, tool } => write!(
                f,
                "line {seq}: a {tool} was cut off by the end of its broker"
            ),
            Note::KernelDenied { seq, tool } => {
                write!(
                    f,
                    "line {seq}: the kernel denied what the fences of {tool} had passed; this wants a look"
                )
            }
        }
    }
}

impl History {
    /// Takes the next line into account.
    pub(crate) fn note(&mut self, line: &Line) {
        let seq = line.seq;
        match &line.entry {
            Entry::Start { .. } => {
                if let Some(started) = self.running.replace(seq) {
                    self.notes.push(Note::NoStop { started, next: seq });
                }
                if let Some((turn, opened)) = self.turn.take() {
                    self.notes.push(Note::NoClose { turn, opened });
                }
            }
            Entry::Stop => self.running = None,
            Entry::Recovered { bytes, .. } => {
                self.notes.push(Note::Recovered { seq, bytes: *bytes });
            }
            Entry::TurnOpen { turn, .. } => self.turn = Some((turn.clone(), seq)),
            Entry::TurnClose { .. } => self.turn = None,
            Entry::TurnAbort { .. } => {}
            Entry::Intent(call) => {
                let key = (call.turn.clone(), call.call);
                self.intents.insert(
                    key,
                    Unfinished {
                        seq,
                        call: call.clone(),
                    },
                );
            }
            Entry::KernelDenied(call) => self.notes.push(Note::KernelDenied {
                seq,
                tool: call.tool.clone(),
            }),
            Entry::Interrupted {
                turn, call, tool, ..
            } => {
                self.intents.remove(&(turn.clone(), *call));
                self.notes.push(Note::Interrupted {
                    seq,
                    tool: tool.clone(),
                });
            }
            Entry::Done(end) | Entry::Refused(end) | Entry::Failed(end) | Entry::Cancelled(end) => {
                self.intents.remove(&(end.turn.clone(), end.call));
            }
        }
    }

    /// Calls without an end, oldest first.
    pub(crate) fn unfinished(&self) -> Vec<Unfinished> {
        let mut calls: Vec<_> = self.intents.values().cloned().collect();
        calls.sort_by_key(|call| call.seq);
        calls
    }

    /// What a reader should know, oldest first.
    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }
}
