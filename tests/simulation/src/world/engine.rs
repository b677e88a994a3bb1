//! The broker and the engine as the seat meets them: each answers in its own time, refuses, or goes away.

use super::*;

impl World {
    pub(super) fn open_turn(&mut self, message: Snowflake) {
        let ms = self.dice.within(0..50);
        let refused = self.process().broker_gone || self.dice.happens(self.faults.broker_refusal);
        if let Some(other) = self.process().open_turn {
            self.rules
                .refuse(format!("two turns at once: {other} and {message}"));
        }
        if refused {
            return self.later(ms, Event::TurnOpened(Err("broker-refused".into())));
        }
        self.process().open_turn = Some(message);
        self.later(ms, Event::TurnOpened(Ok(())));
    }

    pub(super) fn close_turn(&mut self, message: Snowflake) {
        let ms = self.dice.within(0..5000);
        let open = self.process().open_turn.take();
        if open != Some(message) && !self.process().broker_gone {
            self.rules
                .refuse(format!("{message} is closed while {open:?} is open"));
        }
        let refused = self.process().broker_gone || self.dice.happens(self.faults.broker_refusal);
        let closed = if refused {
            Err("broker-refused".into())
        } else {
            Ok(Vec::new())
        };
        self.later(ms, Event::TurnClosed(closed));
    }

    pub(super) fn order(&mut self, order: Order) {
        self.process().keeper.orders.push_back(order);
        self.take_orders();
    }

    pub(super) fn take_orders(&mut self) {
        let life = self.life;
        while !self.process().keeper.starting {
            let Some(order) = self.process().keeper.orders.pop_front() else {
                return;
            };
            match order {
                Order::Start(pause) => {
                    let keeper = &mut self.process().keeper;
                    keeper.discard();
                    keeper.starting = true;
                    let ms = u64::try_from(pause.as_millis()).expect("seconds");
                    let ms = ms + self.dice.within(100..3000);
                    self.after(ms, Happening::EngineStarted { life });
                }
                Order::Prompt(message) => {
                    let keeper = &mut self.process().keeper;
                    if let Some(other) = keeper.running {
                        self.rules
                            .refuse(format!("{message} is prompted while {other} runs"));
                    } else if keeper.alive {
                        keeper.running = Some(message);
                        keeper.run += 1;
                        let run = keeper.run;
                        self.later(0, Event::Prompted);
                        let ms = self.dice.one_of(&[1, 500, 8000, 60_000, 180_000]);
                        self.after(ms, Happening::RunEnds { life, run });
                        self.perhaps_the_engine_dies();
                    } else {
                        self.later(0, Event::EngineGone("engine-lost".into()));
                    }
                }
            }
        }
    }

    pub(super) fn engine_started(&mut self) {
        self.process().keeper.starting = false;
        if self.dice.happens(self.faults.no_start) {
            self.later(0, Event::EngineGone("engine-start-failed".into()));
        } else {
            self.process().keeper.alive = true;
            self.later(0, Event::EngineReady);
            self.perhaps_the_engine_dies();
        }
        self.take_orders();
    }

    pub(super) fn perhaps_the_engine_dies(&mut self) {
        if self.dice.happens(self.faults.engine_death) {
            let life = self.life;
            let ms = self.dice.within(0..30_000);
            self.after(ms, Happening::EngineDies { life });
        }
    }

    pub(super) fn engine_dies(&mut self) {
        if self.process().keeper.alive {
            self.process().keeper.discard();
            self.later(0, Event::EngineGone("engine-lost".into()));
        }
    }

    pub(super) fn run_ends(&mut self, run: u64) {
        let keeper = &mut self.process().keeper;
        if keeper.run != run || keeper.running.take().is_none() {
            return;
        }
        let reply = if self.dice.happens(self.faults.bad_run) {
            self.dice
                .one_of(&[Err("timeout"), Err("model-failed"), Ok(" \n")])
        } else {
            let long = "One.\n\nTwo, which is a line that fills more than half.\n\nThree, which is such a line as well, as it is.\n\nOne.";
            self.dice.one_of(&[Ok("Yes."), Ok("No."), Ok(long)])
        };
        let settled = Settled {
            reply: reply.map(str::to_owned).map_err(str::to_owned),
            share: EngineShare::default(),
        };
        self.later(0, Event::Settled(settled));
    }
}
