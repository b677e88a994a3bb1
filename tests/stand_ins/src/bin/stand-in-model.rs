//! The rule-based model as a program: prints the `models.json` that points pi at it, then serves until its input ends.

#![forbid(unsafe_code)]

use std::io;

use stand_ins::model::Model;

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let port = match std::env::args().nth(1) {
        None => 0,
        Some(text) => text
            .parse()
            .map_err(|_| io::Error::other("usage: stand-in-model [PORT]"))?,
    };
    let model = Model::by_rules(port).await?;
    println!("{}", model.models_json());
    // Whoever started it holds its input; when they go, it goes.
    tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await??;
    Ok(())
}
