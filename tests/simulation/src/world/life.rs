//! The life of one process after the other: start, stop, and every way to die.

use super::*;

impl World {
    pub(super) fn boot(&mut self, ms: u64) {
        if !std::mem::replace(&mut self.boot_is_due, true) {
            self.after(ms, Happening::Boot);
        }
    }

    pub(super) fn start(&mut self) {
        self.boot_is_due = false;
        self.life += 1;
        let now = self.wall();
        let past = match self.disk.open() {
            Ok(past) => past,
            Err(error) => {
                return self
                    .rules
                    .refuse(format!("a start cannot read its past: {error}"));
            }
        };
        let identity = identity(true);
        let plan = past.plan(
            &identity,
            self.limits.max_age,
            |_| Some("Jason".into()),
            now,
        );
        if !plan.lost.is_empty() {
            self.rules
                .refuse(format!("texts are lost: {:?}", plan.lost));
        }
        let pending = plan.pending.iter().cloned().collect();
        let (seat, first) = Seat::new(identity, self.limits.clone(), plan, now);
        let power_for = (self.faults.cut > 0).then(|| {
            let mut actions = 0;
            while !self.dice.happens(self.faults.cut) && actions < 10_000 {
                actions += 1;
            }
            actions
        });
        let life = self.life;
        self.tell(|| format!("process {life} starts"));
        self.process = Some(Process {
            seat,
            life,
            serving: false,
            connected: false,
            missed: Vec::new(),
            session_alive: false,
            pending,
            door: VecDeque::new(),
            door_busy: false,
            keeper: Keeper::default(),
            open_turn: None,
            broker_gone: false,
            typing: false,
            power_for,
        });
        if self.dice.happens(self.faults.broker_death) {
            let when = self.dice.within(0..200_000);
            self.later(when, Event::BrokerGone);
        }
        self.perform(first);
        self.settled_so_far();
    }

    /// While it settles what the last process left, nothing is begun; a delivery nobody can vouch for ends it.
    pub(super) fn settled_so_far(&mut self) {
        let Some(process) = &mut self.process else {
            return;
        };
        if process.serving || !process.seat.nothing_outgoing() {
            return;
        }
        if !process.seat.unsettled().is_empty() {
            self.tell(|| "it refuses to start: a delivery is unclear".into());
            return self.ended(60_000);
        }
        process.serving = true;
        let life = process.life;
        let ms = self.dice.within(100..2000);
        self.after(ms, Happening::Serve { life });
    }

    pub(super) fn serve(&mut self) {
        if self.dice.happens(self.faults.no_start) {
            self.tell(|| "the first engine does not start".into());
            return self.ended(5000);
        }
        self.process().keeper.alive = true;
        self.later(0, Event::EngineReady);
        self.perhaps_the_engine_dies();
        let life = self.life;
        self.after(0, Happening::Door { life });
        let ms = self.dice.within(1..1500);
        self.after(ms, Happening::Connect { life });
    }

    pub(super) fn stop(&mut self) {
        let stoppable = self.process.as_ref().is_some_and(|process| process.serving);
        if stoppable {
            self.tell(|| "asked to stop".into());
            self.hear(Event::End(Ending::Asked));
        }
    }

    /// It ended by itself: what it wrote stands.
    pub(super) fn ended(&mut self, next_start_ms: u64) {
        self.process = None;
        self.rules.died();
        if !self.resting {
            self.boot(next_start_ms);
        } else if self
            .queue
            .values()
            .any(|due| matches!(due, Happening::Quit))
        {
            self.boot(10_000);
        }
    }

    /// It dies before it has done this action, or in the middle of it.
    pub(super) fn dies_at(&mut self, action: &Action) {
        let power_loss = self.dice.happens(self.faults.power_loss);
        self.tell(|| {
            format!(
                "{} before {action:?}",
                if power_loss { "power lost" } else { "killed" }
            )
        });
        if self.dice.happens(300) {
            let dice = &mut self.dice;
            match action {
                Action::Inbox(line) => self.disk.inbox.tear(line, dice),
                Action::Admission(line) => self.disk.admissions.tear(line, dice),
                Action::Drop(line) => self.disk.drops.tear(line, dice),
                Action::Notice(line) => self.disk.notices.tear(line, dice),
                Action::Outbox(line) => self.disk.outbox.tear(line, dice),
                _ => {}
            }
        }
        if power_loss {
            self.disk.lose_power(&mut self.dice);
        }
        // What was on its way to Discord arrives, or never does.
        let on_its_way = |happening: &Happening| matches!(happening, Happening::Land { .. });
        let moments: Vec<(u64, u64)> = self
            .queue
            .iter()
            .filter(|(_, happening)| on_its_way(happening))
            .map(|(moment, _)| *moment)
            .collect();
        for moment in moments {
            let jumps = self.judged_by.clock_goes_back || self.faults.clock_forward > 0;
            if self.dice.happens(300) {
                self.queue.remove(&moment);
            } else if jumps && let Some(landing) = self.queue.remove(&moment) {
                self.happen(landing);
            }
        }
        let downtime = self
            .dice
            .one_of(&[1000, 5000, 5000, 20_000, 250_000, 310_000, 1_000_000]);
        self.ended(downtime);
    }
}
