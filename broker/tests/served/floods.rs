//! Clients that mean harm: each connection ends or is bounded, memory stays bounded, and the control session is served
//! throughout. The control socket is the second client of the same process.

use std::{
    io::Write,
    os::unix::net::UnixStream,
    thread,
    time::{Duration, Instant},
};

use mosaic_proto::v1::{StatusRequest, control_client::ControlClient};
use tonic::transport::Channel;

use super::{
    frames::{
        self, CONTINUATION, END_HEADERS, HEADERS, PING, RST_STREAM, SETTINGS, drain, flood, frame,
        greeted, raw,
    },
    harness::{Binding, Broker, done, read},
};

/// What a flood may add to the resident memory of the broker.
const ROOM_KIB: u64 = 24 * 1024;

/// What a flood may write before its test gives up waiting for the end of the connection.
const MOST: usize = 64 << 20;

/// Runs `attack` on `tools.sock` in a thread of its own while the control session is asked for its status, and holds
/// every answer to a second and the memory to its bound.
async fn served_throughout(attack: impl FnOnce(&Broker<'_>) + Send) {
    let binding = Binding::new().file("library/a.md", "alpha\n");
    let broker = binding.start();
    let mut control = broker.control().await;
    super::harness::open(&mut control, "t1").await;
    let (before, descriptors) = (broker.resident_kib(), broker.descriptors());

    let (slowest, peak) = thread::scope(|scope| {
        let attack = scope.spawn(|| attack(&broker));
        let mut worst = (Duration::ZERO, before);
        while !attack.is_finished() {
            let asked = Instant::now();
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(ask(&mut control));
            });
            worst = (
                worst.0.max(asked.elapsed()),
                worst.1.max(broker.resident_kib()),
            );
            thread::sleep(Duration::from_millis(1));
        }
        attack.join().expect("the attack itself did not fail");
        worst
    });

    assert!(
        slowest < Duration::from_secs(1),
        "the second client waited {slowest:?}"
    );
    assert!(
        peak < before + ROOM_KIB,
        "memory went from {before} to {peak} KiB"
    );
    let mut tools = broker.tools().await;
    done(
        tools
            .read_file(read("library", "a.md"))
            .await
            .expect("answered"),
    );
    drop(tools);
    ask(&mut control).await;
    assert!(broker.descriptors() <= descriptors + 2, "descriptors leak");
}

async fn ask(control: &mut ControlClient<Channel>) {
    control
        .status(StatusRequest {})
        .await
        .expect("served throughout");
}

fn tools(broker: &Broker<'_>) -> UnixStream {
    greeted(&broker.socket("tools.sock"))
}

fn list() -> Vec<u8> {
    frames::call("/mosaic.broker.v1.Tools/List")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_97_rapid_reset_ends_the_connection() {
    served_throughout(|broker| {
        let mut stream = tools(broker);
        let mut chunk = Vec::new();
        let mut next = 1;
        let ended = (0..1000).any(|_| {
            chunk.clear();
            for _ in 0..100 {
                chunk.extend(frame(HEADERS, END_HEADERS, next, &list()));
                chunk.extend(frame(RST_STREAM, 0, next, &8_u32.to_be_bytes()));
                next += 2;
            }
            stream.write_all(&chunk).is_err()
        });
        assert!(ended, "100,000 resets were taken");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_97_an_endless_header_block_ends_the_connection() {
    served_throughout(|broker| {
        let mut stream = tools(broker);
        stream
            .write_all(&frame(HEADERS, 0, 1, &list()))
            .expect("begun");
        let more = frames::header("x-more", &"x".repeat(1000));
        assert!(
            flood(&mut stream, &frame(CONTINUATION, 0, 1, &more), MOST),
            "64 MiB of headers were taken"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_97_a_header_bomb_is_bounded() {
    served_throughout(|broker| {
        let mut stream = tools(broker);
        // One entry of 4 KiB in the table, then thousands of one-byte references to it.
        let mut entry = vec![0x40];
        entry.extend(&frames::header("x-bomb", &"x".repeat(3900))[1..]);
        let block = [list(), entry, vec![0xbe; 12_000]].concat();
        let mut next = 1;
        for _ in 0..200 {
            if stream
                .write_all(&frame(HEADERS, END_HEADERS | 1, next, &block))
                .is_err()
            {
                break;
            }
            next += 2;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_97_pings_without_end_are_bounded() {
    served_throughout(|broker| {
        let mut stream = tools(broker);
        stream
            .set_write_timeout(Some(Duration::from_secs(2)))
            .expect("set");
        // Nobody reads the answers, so the broker stops reading the questions.
        flood(&mut stream, &frame(PING, 0, 0, &[7; 8]).repeat(1000), MOST);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_97_settings_without_end_are_bounded() {
    served_throughout(|broker| {
        let mut stream = tools(broker);
        stream
            .set_write_timeout(Some(Duration::from_secs(2)))
            .expect("set");
        flood(
            &mut stream,
            &frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]).repeat(1000),
            MOST,
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_97_ten_thousand_streams_are_bounded() {
    served_throughout(|broker| {
        let mut stream = tools(broker);
        stream
            .set_write_timeout(Some(Duration::from_secs(2)))
            .expect("set");
        let mut next = 1;
        for _ in 0..100 {
            let mut chunk = Vec::new();
            for _ in 0..100 {
                chunk.extend(frame(HEADERS, END_HEADERS, next, &list()));
                next += 2;
            }
            if stream.write_all(&chunk).is_err() {
                break;
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_97_a_thousand_connections_are_bounded_on_both_sockets() {
    served_throughout(|broker| {
        for socket in ["tools.sock", "control.sock"] {
            let mut open: Vec<UnixStream> =
                (0..1000).filter_map(|_| connect(broker, socket)).collect();
            let ended = open
                .iter_mut()
                .map(ended_soon)
                .filter(|ended| *ended)
                .count();
            // One engine may stay; it has its minute to greet.
            assert!(
                ended + 1 >= open.len(),
                "{socket}: {} stay open",
                open.len() - ended
            );
        }
    })
    .await;
}

/// A connection the kernel may refuse while the broker's backlog is full.
fn connect(broker: &Broker<'_>, socket: &str) -> Option<UnixStream> {
    let stream = UnixStream::connect(broker.socket(socket)).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(3)))
        .expect("set");
    Some(stream)
}

fn ended_soon(stream: &mut UnixStream) -> bool {
    drain(stream).is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_103_a_client_that_never_reads_is_put_out() {
    served_throughout(|broker| {
        let mut stream = tools(broker);
        stream
            .set_write_timeout(Some(Duration::from_secs(45)))
            .expect("set");
        let mut next = 1;
        let describe = frames::call("/mosaic.broker.v1.Tools/Describe");
        let started = Instant::now();
        // Answers pile up until windows and buffers are full; then its silence on a ping ends it.
        let ended = loop {
            let mut call = frame(HEADERS, END_HEADERS, next, &describe);
            call.extend(frame(frames::DATA, 1, next, &[0; 5]));
            next += 2;
            if stream.write_all(&call).is_err() {
                break true;
            }
            if started.elapsed() > Duration::from_secs(45) {
                break false;
            }
            thread::sleep(Duration::from_millis(2));
        };
        assert!(
            ended && started.elapsed() < Duration::from_secs(44),
            "still there after {:?}",
            started.elapsed()
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_103_a_half_closed_connection_ends() {
    served_throughout(|broker| {
        let mut stream = tools(broker);
        stream
            .shutdown(std::net::Shutdown::Write)
            .expect("half closed");
        drain(&mut stream).expect("ended");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_103_a_call_sent_byte_by_byte_holds_nobody_up_and_is_put_out() {
    served_throughout(|broker| {
        let mut stream = raw(&broker.socket("tools.sock"));
        stream
            .write_all(&[frames::PREFACE, &frame(SETTINGS, 0, 0, &[])].concat())
            .expect("greeted");
        let started = Instant::now();
        // A header block that is always one byte short, at a pace no byte counter would call idle.
        let call = frame(HEADERS, END_HEADERS, 1, &vec![0; 16_000]);
        let ended = call.iter().any(|byte| {
            thread::sleep(Duration::from_millis(100));
            stream.write_all(&[*byte]).is_err() || started.elapsed() > Duration::from_secs(45)
        });
        assert!(
            ended && started.elapsed() < Duration::from_secs(44),
            "still there after {:?}",
            started.elapsed()
        );
    })
    .await;
}
