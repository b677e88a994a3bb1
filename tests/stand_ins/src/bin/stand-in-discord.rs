//! The stand-in Discord as a program, for demos and for clients in other languages: one JSON line with its addresses and ids, then one
//! JSON line an event; commands come in line by line. Everything it does is the library's.

#![forbid(unsafe_code)]

use std::{process::ExitCode, time::Duration};

use serde_json::{Value, json};
use stand_ins::discord::{Discord, Endpoint, Fault, Mishap, Reception, Scope, Snowflake};
use tokio::io::{AsyncBufReadExt, BufReader};

const HELP: &str = "\
A stand-in Discord on loopback: REST API and gateway, one server.

Usage: stand-in-discord [--port PORT] [--guild NAME] [--bot NAME] [--channel NAME]... [--thread CHANNEL/NAME]... [--user NAME]...

The first line of output is a JSON object with its addresses, token and ids; every further line is something that happened.
Without channels and users it has the channel \"general\" and the user \"Jason\". `@bot` in a text mentions the bot.

Commands on standard input, one a line:
  say CHANNEL USER TEXT...        post a message
  reply MESSAGE USER TEXT...      reply to a message, pinging its author
  react MESSAGE USER EMOJI        add a reaction
  edit MESSAGE TEXT...            change a message
  delete MESSAGE                  delete a message
  press MESSAGE CUSTOM_ID USER    press a button
  thread CHANNEL NAME             open a thread
  op7 | op9 true|false | drop | close CODE | zombie
                                  disturb the gateway connections
  identify CODE                   close the next IDENTIFY with this code
  fail json SECONDS | html 429|502 | lost
                                  disturb the next message that is posted
  messages CHANNEL                print what was said
  quit                            end
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let discord = match arguments(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments.start().await,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(wrong) => {
            eprintln!("{wrong} Use --help to see what is understood.");
            return ExitCode::from(4);
        }
    };
    println!("{}", introduction(&discord));

    let mut told = 0;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        tokio::select! {
            fresh = discord.wait_for("something to happen", Duration::from_secs(u32::MAX.into()), |world| {
                let fresh = &world.happenings()[told..];
                (!fresh.is_empty()).then(|| fresh.to_vec())
            }) => {
                told += fresh.len();
                for happening in fresh {
                    println!("{}", json!(happening));
                }
            }
            line = lines.next_line() => match line {
                Ok(Some(line)) if line.trim() == "quit" => return ExitCode::SUCCESS,
                Ok(Some(line)) if line.trim().is_empty() => {}
                Ok(Some(line)) => {
                    if let Err(wrong) = command(&discord, &line).await {
                        println!("{}", json!({ "event": "error", "line": line, "what": wrong }));
                    }
                }
                Ok(None) | Err(_) => return ExitCode::SUCCESS,
            },
        }
    }
}

/// What the command line asks for.
#[derive(Default)]
struct Arguments {
    port: u16,
    guild: Option<String>,
    bot: Option<String>,
    channels: Vec<String>,
    threads: Vec<(String, String)>,
    users: Vec<String>,
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let mut arguments = Arguments::default();
    while let Some(option) = given.next() {
        if option == "--help" {
            return Ok(None);
        }
        let value = given
            .next()
            .ok_or_else(|| format!("{option} needs a value."))?;
        match option.as_str() {
            "--port" => {
                arguments.port = value.parse().map_err(|_| format!("{value} is no port."))?;
            }
            "--guild" => arguments.guild = Some(value),
            "--bot" => arguments.bot = Some(value),
            "--channel" => arguments.channels.push(value),
            "--user" => arguments.users.push(value),
            "--thread" => {
                let (channel, name) = value
                    .split_once('/')
                    .ok_or_else(|| format!("{value} is not CHANNEL/NAME."))?;
                arguments.threads.push((channel.into(), name.into()));
            }
            _ => return Err(format!("{option} is not known.")),
        }
    }
    Ok(Some(arguments))
}

impl Arguments {
    async fn start(mut self) -> Discord {
        if self.channels.is_empty() {
            self.channels.push("general".into());
        }
        if self.users.is_empty() {
            self.users.push("Jason".into());
        }
        let mut builder =
            Discord::guild(self.guild.as_deref().unwrap_or("Stand-in")).port(self.port);
        builder = self
            .bot
            .iter()
            .fold(builder, |builder, name| builder.bot(name));
        builder = self
            .channels
            .iter()
            .fold(builder, |builder, name| builder.channel(name));
        builder = self
            .threads
            .iter()
            .fold(builder, |builder, (channel, name)| {
                builder.thread(channel, name)
            });
        builder = self
            .users
            .iter()
            .fold(builder, |builder, name| builder.user(name));
        builder.start().await
    }
}

fn introduction(discord: &Discord) -> Value {
    let (channels, users) = discord.look(|world| {
        let channels = world
            .channels()
            .iter()
            .map(|channel| (channel.name.clone(), json!(channel.id)));
        let users = world
            .users()
            .iter()
            .map(|user| (user.name.clone(), json!(user.id)));
        (
            Value::Object(channels.collect()),
            Value::Object(users.collect()),
        )
    });
    json!({
        "event": "ready", "api": discord.base_url(), "gateway": discord.gateway_url(), "token": discord.token(),
        "bot": discord.bot_id(), "guild": discord.guild_id(), "channels": channels, "users": users,
    })
}

/// Carries out one line.
async fn command(discord: &Discord, line: &str) -> Result<(), String> {
    let (verb, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let words: Vec<&str> = rest.split(' ').collect();
    let tail = |from: usize| words.get(from..).unwrap_or_default().join(" ");
    let word = |at: usize| {
        words
            .get(at)
            .copied()
            .filter(|word| !word.is_empty())
            .ok_or_else(|| format!("{verb} needs more words"))
    };
    match verb {
        "say" => {
            let (channel, user) = (
                known_channel(discord, word(0)?)?,
                known_user(discord, word(1)?)?,
            );
            let text = tail(2).replace("@bot", &format!("<@{}>", discord.bot_id()));
            discord.say(&channel, &user, &text).await;
        }
        "reply" => {
            let (target, user) = (
                known_message(discord, word(0)?)?,
                known_user(discord, word(1)?)?,
            );
            let channel =
                discord.look(|world| world.message(target).map(|message| message.channel));
            let channel = discord.look(|world| {
                world
                    .channels()
                    .iter()
                    .find(|known| Some(known.id) == channel)
                    .map(|known| known.name.clone())
            });
            let channel = channel.ok_or("the message is in no channel any more")?;
            discord
                .say(&channel, &user, &tail(2))
                .replying_to(target)
                .await;
        }
        "react" => discord.react(
            known_message(discord, word(0)?)?,
            &known_user(discord, word(1)?)?,
            word(2)?,
        ),
        "edit" => discord.edit(known_message(discord, word(0)?)?, &tail(1)),
        "delete" => discord.delete(known_message(discord, word(0)?)?),
        "press" => {
            discord.press(
                known_message(discord, word(0)?)?,
                word(1)?,
                &known_user(discord, word(2)?)?,
            );
        }
        "thread" => {
            let id = discord.open_thread(&known_channel(discord, word(0)?)?, word(1)?);
            println!(
                "{}",
                json!({ "event": "thread", "id": id, "name": word(1)? })
            );
        }
        "op7" => discord.ask_to_reconnect(),
        "op9" => discord.invalidate_sessions(word(0)? == "true"),
        "drop" => discord.drop_connections(),
        "zombie" => discord.stop_acknowledging(),
        "close" => discord.close_connections(code(word(0)?)?),
        "identify" => discord.next_identifies(1, Reception::Closed(code(word(0)?)?)),
        "fail" => discord.fault(Fault::next(
            Endpoint::CreateMessage,
            mishap(word(0)?, words.get(1).copied().unwrap_or_default())?,
        )),
        "messages" => {
            let channel = known_channel(discord, word(0)?)?;
            for message in discord.messages(&channel) {
                let line = json!({
                    "event": "listed", "id": message.id, "author": message.author.name, "content": message.content,
                    "deleted": message.deleted, "reply_to": message.reference.map(|reference| reference.message),
                });
                println!("{line}");
            }
        }
        _ => return Err("this command is not known; --help lists them".into()),
    }
    Ok(())
}

fn code(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("{text} is no close code"))
}

fn mishap(kind: &str, value: &str) -> Result<Mishap, String> {
    match kind {
        "json" => {
            let retry_after = value
                .parse()
                .map_err(|_| format!("{value} is no number of seconds"))?;
            Ok(Mishap::RateLimited {
                retry_after,
                scope: Scope::User,
            })
        }
        "html" if value == "429" => Ok(Mishap::Banned { retry_after: None }),
        "html" => Ok(Mishap::Page {
            status: value.parse().map_err(|_| format!("{value} is no status"))?,
            acted: false,
        }),
        "lost" => Ok(Mishap::LostAfter),
        _ => Err(format!("{kind} is no failure")),
    }
}

fn known_channel(discord: &Discord, name: &str) -> Result<String, String> {
    let known = discord.look(|world| world.channels().iter().any(|channel| channel.name == name));
    if known {
        Ok(name.into())
    } else {
        Err(format!("there is no channel {name}"))
    }
}

fn known_user(discord: &Discord, name: &str) -> Result<String, String> {
    let known = discord.look(|world| world.users().iter().any(|user| user.name == name));
    if known {
        Ok(name.into())
    } else {
        Err(format!("there is no user {name}"))
    }
}

fn known_message(discord: &Discord, id: &str) -> Result<Snowflake, String> {
    let id = Snowflake::parse(id).ok_or_else(|| format!("{id} is no message id"))?;
    let known = discord.look(|world| world.message(id).is_some());
    if known {
        Ok(id)
    } else {
        Err(format!("there is no message {id}"))
    }
}
