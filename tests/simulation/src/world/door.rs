//! What people write, and how it reaches the process or does not: the gateway, its sessions, and the porter at the door.

use super::*;

impl World {
    pub(super) fn say(&mut self, number: usize) {
        let message = id(Snowflake::smallest_at(self.now_ms).get() + number as u64);
        let wall = self.wall();
        let script = &mut self.scripts[number];
        script.arrival.message = message;
        script.arrival.received = wall;
        self.discord.said(message, script.arrival.place);
        self.tell(|| format!("{message} is said"));
        let Some(process) = &mut self.process else {
            return;
        };
        if process.connected {
            let life = process.life;
            let ms = self.dice.within(1..50);
            self.after(
                ms,
                Happening::Deliver {
                    life,
                    message: number,
                },
            );
            if self.dice.happens(self.faults.duplicate) {
                let ms = self.dice.one_of(&[50, 51, 5000, 60_000]);
                self.after(
                    ms,
                    Happening::Deliver {
                        life,
                        message: number,
                    },
                );
            }
        } else if process.session_alive {
            process.missed.push(number);
        }
    }

    pub(super) fn connect(&mut self) {
        let life = self.life;
        let process = self.process();
        (process.connected, process.session_alive) = (true, true);
        // Events of an earlier session may still come to a later process.
        if let Some(last) = self.delivered.last().copied()
            && self.dice.happens(self.faults.duplicate)
        {
            self.after(
                10,
                Happening::Deliver {
                    life,
                    message: last,
                },
            );
        }
        self.perhaps_disconnects();
    }

    pub(super) fn perhaps_disconnects(&mut self) {
        if self.dice.happens(self.faults.disconnect) {
            let life = self.life;
            let ms = self.dice.within(1..60_000);
            self.after(ms, Happening::Disconnect { life });
        }
    }

    pub(super) fn disconnect(&mut self) {
        let lost = self.dice.happens(self.faults.session_lost);
        self.tell(|| {
            format!(
                "the gateway connection ends, its session {}",
                if lost { "too" } else { "not" }
            )
        });
        let life = self.life;
        let process = self.process();
        process.connected = false;
        process.session_alive = !lost;
        let ms = self.dice.within(500..40_000);
        self.after(ms, Happening::Resume { life });
    }

    /// What was said meanwhile comes in order, with events that had come already before it.
    pub(super) fn resume(&mut self) {
        let life = self.life;
        let process = self.process();
        (process.connected, process.session_alive) = (true, true);
        let missed = std::mem::take(&mut process.missed);
        if self.dice.happens(self.faults.duplicate) {
            let from = self.delivered.len().saturating_sub(2);
            for message in self.delivered.split_off(from) {
                self.after(1, Happening::Deliver { life, message });
            }
        }
        for message in missed {
            self.after(2, Happening::Deliver { life, message });
        }
        self.perhaps_disconnects();
    }

    pub(super) fn deliver(&mut self, message: usize) {
        self.delivered.push(message);
        let process = self.process();
        process.door.push_back(message);
        if !process.door_busy {
            self.open_door();
        }
    }

    /// One message passes the door at a time, and what the last process had taken passes first.
    pub(super) fn open_door(&mut self) {
        let process = self.process();
        process.door_busy = true;
        let message = if let Some(line) = process.pending.pop_front() {
            self.fetched(line)
        } else if let Some(number) = process.door.pop_front() {
            Some(self.judged(number, false))
        } else {
            process.door_busy = false;
            return;
        };
        if let Some(message) = message {
            self.hear(Event::Message(message));
        }
        let life = self.life;
        let ms = self.dice.within(0..20);
        if self.process.is_some() {
            self.after(ms, Happening::Door { life });
        }
    }

    pub(super) fn fetched(&mut self, line: Inbox) -> Option<Message> {
        let now = self.wall();
        let number = self
            .scripts
            .iter()
            .position(|script| script.arrival.message == line.id);
        let number = number.expect("only what was said is taken");
        let dropped = |reason| {
            Some(Message::Dropped(Drop {
                id: line.id,
                channel: line.channel,
                author: line.author,
                reason,
                at: now,
            }))
        };
        let age = now.ms().saturating_sub(line.id.created_ms());
        if age > 900_000 {
            return dropped(DropReason::TooOld);
        }
        if self.dice.happens(self.faults.unfetched) {
            self.tell(|| format!("{} cannot be fetched", line.id));
            self.process().pending.push_back(line);
            return None;
        }
        if !self.discord.has(line.id) {
            return dropped(DropReason::Deleted);
        }
        Some(self.judged(number, true))
    }

    pub(super) fn judged(&self, number: usize, known: bool) -> Message {
        let Script {
            arrival,
            dropped,
            braked,
        } = &self.scripts[number];
        match dropped {
            Some(reason) => Message::Dropped(Drop {
                id: arrival.message,
                channel: arrival.place,
                author: arrival.author,
                reason: *reason,
                at: self.wall(),
            }),
            None => Message::Passed {
                arrival: arrival.clone(),
                braked: *braked,
                known,
            },
        }
    }
}
