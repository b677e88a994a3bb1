//! The seat is told what happened, and what it asks for is done in order, until the power goes.

use super::*;

impl World {
    pub(super) fn hear(&mut self, event: Event) {
        let now = self.wall();
        if self.process.is_none() {
            return;
        }
        self.tell(|| format!("  → {event:?}"));
        if matches!(event, Event::Courier(News::Answered(_))) {
            self.rules.on_the_wire = None;
        }
        if event == Event::BrokerGone {
            let process = self.process();
            process.broker_gone = true;
            process.open_turn = None;
        }
        let actions = self.process().seat.handle(event, now);
        self.perform(actions);
        self.settled_so_far();
    }

    pub(super) fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            let Some(process) = &mut self.process else {
                return;
            };
            if let Some(power) = &mut process.power_for {
                if *power == 0 {
                    return self.dies_at(&action);
                }
                *power -= 1;
            }
            self.actions += 1;
            self.tell(|| format!("    {action:?}"));
            self.act(action);
        }
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Inbox(line) => self.disk.inbox.append(&line, true),
            Action::Admission(line) => self.disk.admissions.append(&line, true),
            Action::Drop(line) => {
                let synced = line.reason.ends_what_was_taken();
                self.disk.drops.append(&line, synced);
            }
            Action::Notice(line) => self.disk.notices.append(&line, true),
            Action::Outbox(line) => self.note(&line),
            Action::Keep(parcel) => {
                self.rules.keeps(&parcel);
                self.disk.keep(&parcel);
            }
            Action::Forget(message) => self.disk.forget(message),
            Action::Record(record) => {
                if !self.disk.record(&record) {
                    self.rules
                        .refuse(format!("the record of {} is written twice", record.id));
                }
            }
            Action::Type(_) => self.process().typing = true,
            Action::StopTyping => self.process().typing = false,
            Action::Exit(ending) => self.exit(&ending),
            asked => self.ask(asked),
        }
    }

    pub(super) fn note(&mut self, line: &Outbox) {
        self.rules.notes(line);
        self.disk.outbox.append(line, true);
    }

    pub(super) fn exit(&mut self, ending: &Ending) {
        let process = self.process();
        if process.seat.turn().is_some() || !process.seat.nothing_outgoing() {
            self.rules.refuse("it ends with something in hand");
        }
        let pause = if *ending == Ending::Asked { 1000 } else { 5000 };
        self.ended(pause);
    }

    pub(super) fn ask(&mut self, action: Action) {
        match action {
            Action::React { message, .. } => {
                self.rules.reacts(message);
                let reaction = if self.dice.happens(self.faults.refused) {
                    Reaction::Refused {
                        reason: "403 50013".into(),
                    }
                } else {
                    Reaction::Added
                };
                let ms = self.dice.within(1..20_000);
                self.later(ms, Event::Reacted { message, reaction });
            }
            Action::OpenTurn { message, .. } => self.open_turn(message),
            Action::CloseTurn(message) => self.close_turn(message),
            Action::Prompt(arrival) => {
                let message = arrival.message;
                self.rules.prompts(message);
                let open = self.process().open_turn;
                if open != Some(message) && !self.process().broker_gone {
                    self.rules.refuse(format!(
                        "{message} is prompted while the open turn is {open:?}"
                    ));
                }
                self.order(Order::Prompt(message));
            }
            // No schedule of the simulation has a person who stops a turn.
            Action::Abort(message) => self
                .rules
                .refuse(format!("{message} is stopped and nobody asked")),
            Action::StartEngine(pause) => self.order(Order::Start(pause)),
            Action::Post {
                place,
                reply_to,
                nonce,
                content,
            } => self.post(Post {
                place,
                reply_to,
                nonce,
                content,
            }),
            Action::WakeCourier(after) => {
                let ms = u64::try_from(after.as_millis()).expect("minutes");
                self.later(ms, Event::Courier(News::Woken));
            }
            Action::LookFor { .. } => {
                let life = self.life;
                let ms = self.dice.within(10..2000);
                self.after(
                    ms,
                    Happening::Look {
                        life,
                        action: Box::new(action),
                    },
                );
            }
            Action::Inbox(_)
            | Action::Admission(_)
            | Action::Drop(_)
            | Action::Notice(_)
            | Action::Outbox(_)
            | Action::Keep(_)
            | Action::Forget(_)
            | Action::Record(_)
            | Action::Type(_)
            | Action::StopTyping
            | Action::Exit(_) => {}
        }
    }
}
