//! One gateway connection until READY, then closed. It costs one IDENTIFY, so it is not opened when few are left.

use std::sync::Arc;
use std::time::Duration;

use super::table::Table;
use super::{Ground, code_of};
use crate::discord::model::GatewayBot;
use crate::discord::{GatewayConfig, GatewayEvent, Rest, Token, gateway};
use crate::exit::Exit;

/// Discord's hello and READY take a second; a reconnect in between a few more.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// Fewer than this are kept for the connector itself: beyond the last one Discord resets the token.
const BUDGET_KEPT: u64 = 10;

/// Adds the rows of the gateway.
pub(super) async fn check(table: &mut Table, ground: &Ground, token: &Token, rest: Arc<Rest>) {
    let Some(()) = table.row("identify budget", budget(&rest).await) else {
        table.skip("gateway", "not opened");
        return;
    };
    table.row("gateway", ready(ground, token, rest).await);
}

async fn budget(rest: &Rest) -> Result<((), String), Exit> {
    let GatewayBot {
        session_start_limit: limit,
        ..
    } = rest.gateway_bot().await.map_err(|error| Exit {
        code: code_of(&error),
        sentence: format!("Discord was asked for the gateway: {error}."),
    })?;
    let minutes = limit.resets_in().as_secs().div_ceil(60);
    let left = format!(
        "{} of {} left, full again in {minutes} min",
        limit.remaining, limit.total
    );
    if limit.remaining <= BUDGET_KEPT {
        return Err(Exit::failed(format_args!(
            "{left}. No connection is opened with so few; wait."
        )));
    }
    Ok(((), left))
}

async fn ready(ground: &Ground, token: &Token, rest: Arc<Rest>) -> Result<((), String), Exit> {
    let config = GatewayConfig {
        token: token.clone(),
        intents: gateway::INTENTS,
        base: ground.api.clone(),
    };
    let (connection, mut events) = gateway::spawn(config, rest);
    let until_ready = async {
        let mut last = "nothing came".to_owned();
        loop {
            match events.recv().await {
                Some(GatewayEvent::Ready { user, .. }) if user.id == ground.binding.bot_user => {
                    return Ok(());
                }
                Some(GatewayEvent::Ready { user, .. }) => {
                    return Err(Exit::invalid(format_args!(
                        "READY came for another bot, {}.",
                        user.id
                    )));
                }
                Some(GatewayEvent::Fatal { code, sentence }) => {
                    return Err(Exit::invalid(format_args!(
                        "{sentence} (close code {code})"
                    )));
                }
                Some(GatewayEvent::Down { reason }) => last = reason.to_string(),
                Some(GatewayEvent::Malformed { reason }) => last = reason.to_string(),
                Some(GatewayEvent::Resumed | GatewayEvent::Dispatch(_)) => {}
                None => {
                    return Err(Exit::failed(format_args!(
                        "The gateway ended before READY: {last}."
                    )));
                }
            }
        }
    };
    let outcome = tokio::time::timeout(READY_TIMEOUT, until_ready).await;
    drop(events);
    connection.close().await;
    match outcome {
        Ok(Ok(())) => Ok((
            (),
            "READY came, and the connection was closed again".to_owned(),
        )),
        Ok(Err(exit)) => Err(exit),
        Err(_) => Err(Exit::failed(format_args!(
            "No READY within {} s.",
            READY_TIMEOUT.as_secs()
        ))),
    }
}
