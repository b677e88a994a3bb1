//! The connector and the broker under a supervisor: what they tell it, and what a real systemd user manager makes of the two
//! units when one of them dies, ends, or is told to.

use std::{fs, time::Duration};

use stand_ins::{
    discord::Discord,
    model::{Answer, Model},
};
use stories::{House, Layout, Notify, PATIENCE, Programs, UserManager, start_stand_ins};

const BROKER: &str = "mosaic-broker@sage";
const CONNECTOR: &str = "mosaic-discord@sage";

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_hears_of_the_start_of_readiness_of_life_and_of_the_end() {
    let (discord, model) = start_stand_ins(Model::answering(vec![])).await;
    let mut house = House::build(&discord, &model, &Layout::default());
    let supervisor = Notify::bind(house.path("connector-notify.sock"));
    let environment = [
        ("NOTIFY_SOCKET", supervisor.path()),
        ("WATCHDOG_USEC", "600000"),
    ];

    house.start_broker().await;
    house.start_connector(&environment);
    let mut told = Vec::new();
    // A slow start may feed the watchdog before it is ready; what counts is that it is fed after.
    let fed_when_ready = |told: &[String]| {
        let ready = told.iter().position(|line| line == "READY=1");
        ready.is_some_and(|at| told[at..].iter().any(|line| line == "WATCHDOG=1"))
    };
    while !fed_when_ready(&told) {
        told.push(supervisor.hear(PATIENCE).await.expect("it goes on telling"));
    }
    house.close().await;
    while let Some(more) = supervisor.hear(Duration::from_millis(1)).await {
        told.push(more);
    }

    told.retain(|line| line != "WATCHDOG=1");
    told.dedup();
    assert_eq!(
        told,
        [
            "STATUS=Greeting the broker.",
            "STATUS=Bringing begun answers to their end.",
            "STATUS=Starting pi.",
            "STATUS=Waiting for Discord's gateway; no turn; 0 of 200 turns today",
            "READY=1",
            "STATUS=Ready; no turn; 0 of 200 turns today",
            "STOPPING=1",
        ]
    );
}

/// A house whose two programs a real user manager runs, from units our own command put in place.
struct Units {
    house: House,
    discord: Discord,
    _model: Model,
    manager: UserManager,
}

impl Units {
    /// Nothing where this machine cannot run a manager of its own.
    async fn install(model: impl Future<Output = std::io::Result<Model>>) -> Option<Self> {
        let (discord, model) = start_stand_ins(model).await;
        let house = House::build(&discord, &model, &Layout::default());
        let mut manager = UserManager::start(&house.path("home")).await?;
        let program = Programs::of_this_build().path("mosaic-discord");
        let install = format!(
            "{} service install --data-root {} --repo {} --install-dir {}",
            program.display(),
            house.path("data").display(),
            house.path("repo").display(),
            house.install().display(),
        );
        let (code, said) = manager.run(&install).await;
        assert_eq!(code, 0, "{said}");
        // The seeds' pause would make every story a slow one, and no journal runs here; all else is as installed.
        let drop_in = format!(
            "[Service]\nRestartSec=1\nStandardError=append:{}\n",
            house.path("log").display()
        );
        for unit in ["mosaic-broker@", "mosaic-discord@"] {
            let folder = house.path(&format!("home/.config/systemd/user/{unit}.service.d"));
            fs::create_dir(&folder).expect("a fresh folder");
            fs::write(folder.join("quick.conf"), &drop_in).expect("a file");
        }
        let api = format!(
            "systemctl --user daemon-reload; systemctl --user set-environment MOSAIC_DISCORD_API={}",
            discord.base_url()
        );
        assert_eq!(manager.run(&api).await.0, 0);
        Some(Self {
            house,
            discord,
            _model: model,
            manager,
        })
    }

    async fn start(&mut self) {
        let enable = format!("systemctl --user enable --now {BROKER} {CONNECTOR}");
        let (code, said) = self.manager.run(&enable).await;
        assert_eq!(code, 0, "{said}\n{}", self.house.read("log"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn under_systemd_the_two_start_together_and_each_crash_is_mended() {
    let Some(mut units) = Units::install(Model::answering_by(|_| Answer::text("here"))).await
    else {
        return;
    };
    units.start().await;
    let Units {
        house,
        discord,
        manager,
        ..
    } = &mut units;

    assert_eq!(
        manager.property(CONNECTOR, "StatusText").await,
        "Ready; no turn; 0 of 200 turns today"
    );
    let before = manager.property(BROKER, "MainPID").await;

    let (code, _) = manager
        .run(&format!(
            "systemctl --user kill --kill-whom=main --signal=KILL {CONNECTOR}"
        ))
        .await;
    assert_eq!(code, 0);
    manager.wait_for(CONNECTOR, "NRestarts", "1").await;
    manager.wait_for(CONNECTOR, "ActiveState", "active").await;
    assert_eq!(
        manager.property(BROKER, "MainPID").await,
        before,
        "the broker was left alone"
    );

    let (code, _) = manager
        .run(&format!(
            "systemctl --user kill --kill-whom=main --signal=KILL {BROKER}"
        ))
        .await;
    assert_eq!(code, 0);
    manager.wait_for(BROKER, "NRestarts", "1").await;
    manager.wait_for(BROKER, "ActiveState", "active").await;
    manager.wait_for(CONNECTOR, "ActiveState", "active").await;

    let (code, said) = manager
        .run(&format!("systemctl --user reload {CONNECTOR}"))
        .await;
    assert_eq!((code, said.as_str()), (0, ""));
    manager.wait_for(CONNECTOR, "ActiveState", "active").await;
    assert_eq!(house.journal("reloads.jsonl").len(), 1);

    let question = discord.say("ideas", "Jason", "are you back?").await;
    let record = house.wait_for_record(question).await;
    assert_eq!(record["outcome"], "answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn under_systemd_a_stop_lets_the_turn_finish_and_the_brake_keeps_it_down() {
    let slow = Model::answering_by(|_| Answer::text("done").slowly(Duration::from_secs(2)));
    let Some(mut units) = Units::install(slow).await else {
        return;
    };
    units.start().await;
    let Units {
        house,
        discord,
        manager,
        ..
    } = &mut units;

    let question = discord.say("ideas", "Jason", "take your time").await;
    manager
        .wait_for(
            CONNECTOR,
            "StatusText",
            &format!("Ready; answering {question}; 1 of 200 turns today"),
        )
        .await;
    let (code, said) = manager
        .run(&format!("systemctl --user stop {CONNECTOR}"))
        .await;
    assert_eq!((code, said.as_str()), (0, ""));
    let record = house
        .record(question)
        .expect("the turn was finished before the end");
    assert_eq!(record["outcome"], "answered");
    assert_eq!(manager.property(CONNECTOR, "Result").await, "success");
    assert_eq!(manager.property(BROKER, "ActiveState").await, "active");

    let program = Programs::of_this_build().path("mosaic-discord");
    let program = program.display();
    let data = house.path("data");
    let (code, said) = manager
        .run(&format!(
            "{program} stop sage --data-root {}",
            data.display()
        ))
        .await;
    assert_eq!(code, 0, "{said}");
    let (code, _) = manager
        .run(&format!("systemctl --user start {CONNECTOR}"))
        .await;
    assert_eq!(code, 1);
    manager.wait_for(CONNECTOR, "ActiveState", "failed").await;
    assert_eq!(manager.property(CONNECTOR, "ExecMainStatus").await, "3");
    assert_eq!(manager.property(CONNECTOR, "NRestarts").await, "0");

    let (code, said) = manager.run(&format!("{program} service uninstall")).await;
    assert_eq!(code, 1);
    assert!(said.contains(BROKER), "{said}");
}
