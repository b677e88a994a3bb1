//! One attempt each against a server that answers as told: what goes out, and what is known afterwards.

use super::*;
use crate::discord::origin::{Origin, Reply, answer, json};
use crate::discord::rest::CreateMessage;

const MESSAGE: &str = r#"{"id":"9","channel_id":"2","author":{"id":"7"},"content":"hi"}"#;
const TIMING: Timing = Timing {
    connect: Duration::from_secs(5),
    whole: Duration::from_secs(5),
    patience: Duration::from_secs(5),
};

fn id(number: u64) -> Snowflake {
    Snowflake::new(number).unwrap()
}

fn client(origin: &Origin, timing: Timing) -> Rest {
    let token = Token::parse("MTc1OTI4ODQ3Mjk5MTE3MDYz.stamp.not-a-secret").unwrap();
    Rest::new(origin.base(), &token, timing).unwrap()
}

fn message() -> CreateMessage {
    CreateMessage::new("hi", "n-1", None).unwrap()
}

async fn create(rest: &Rest) -> Result<Snowflake, RestError> {
    rest.create_message(id(2), &message())
        .await
        .map(|message| message.id)
}

fn lines(request: &str) -> Vec<String> {
    request.to_lowercase().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_message_goes_out_as_the_bot_and_in_the_form_discord_requires() {
    let origin = Origin::answering([json(200, MESSAGE)]).await;
    let rest = client(&origin, TIMING);

    assert_eq!(create(&rest).await, Ok(id(9)));

    let [request] = &origin.requests()[..] else {
        panic!("not one request")
    };
    let body = r#"{"content":"hi","nonce":"n-1","enforce_nonce":true,"allowed_mentions":{"parse":[],"replied_user":false}}"#;
    assert!(
        request.starts_with("POST /api/v10/channels/2/messages HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.ends_with(body), "{request}");
    for line in [
        "authorization: bot mtc1oti4odq3mjk5mte3mdyz.stamp.not-a-secret",
        "content-type: application/json",
        &format!("user-agent: {}", USER_AGENT.to_lowercase()),
    ] {
        assert!(lines(request).iter().any(|sent| sent == line), "{line}");
    }
    assert!(
        !request.to_lowercase().contains("accept-encoding"),
        "the size limits are for bytes as they come"
    );
}

#[tokio::test]
async fn d_64_a_put_or_post_without_a_body_says_so_once() {
    let no_content = || Reply::Bytes("HTTP/1.1 204 No Content\r\n\r\n".into());
    let origin = Origin::answering([no_content(), no_content()]).await;
    let rest = client(&origin, TIMING);

    assert_eq!(rest.react(id(2), id(3), "👀").await, Ok(()));
    assert_eq!(rest.typing(id(2)).await, Ok(()));

    let requests = origin.requests();
    assert!(
        requests[0].starts_with(
            "PUT /api/v10/channels/2/messages/3/reactions/%F0%9F%91%80/@me HTTP/1.1\r\n"
        ),
        "{}",
        requests[0]
    );
    assert!(
        requests[1].starts_with("POST /api/v10/channels/2/typing HTTP/1.1\r\n"),
        "{}",
        requests[1]
    );
    for request in requests {
        assert_eq!(
            lines(&request)
                .iter()
                .filter(|line| *line == "content-length: 0")
                .count(),
            1,
            "{request}"
        );
    }
}

#[tokio::test]
async fn d_02_a_create_on_a_connection_that_dies_is_sent_once_and_its_outcome_is_unknown() {
    let origin = Origin::answering([
        json(200, MESSAGE),
        Reply::Cut(String::new()),
        json(200, MESSAGE),
    ])
    .await;
    let rest = client(&origin, TIMING);

    assert_eq!(create(&rest).await, Ok(id(9)));
    assert_eq!(create(&rest).await, Err(RestError::Unknown(Doubt::Reset)));

    assert_eq!(origin.requests().len(), 2);
}

#[tokio::test]
async fn d_03_no_answer_in_time_is_an_unknown_outcome() {
    let origin = Origin::answering([Reply::Silence]).await;
    let rest = client(
        &origin,
        Timing {
            whole: Duration::from_millis(100),
            ..TIMING
        },
    );

    assert_eq!(create(&rest).await, Err(RestError::Unknown(Doubt::Timeout)));
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn a_cut_answer_is_an_unknown_outcome() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"id\":";
    let origin = Origin::answering([Reply::Cut(head.into())]).await;

    assert_eq!(
        create(&client(&origin, TIMING)).await,
        Err(RestError::Unknown(Doubt::CutBody))
    );
}

#[tokio::test]
async fn an_answer_that_is_not_what_it_should_be_is_an_error_with_a_reason() {
    let large = format!("\"{}\"", "x".repeat(BODY_MAX));
    let origin = Origin::answering([
        answer(200, "text/html", "", "<html>"),
        json(200, "{}"),
        json(200, &large),
        json(200, MESSAGE),
    ])
    .await;
    let rest = client(&origin, TIMING);

    assert_eq!(
        create(&rest).await,
        Err(RestError::Body(BodyFault::NotJson))
    );
    let Err(RestError::Body(BodyFault::Shape(_))) = create(&rest).await else {
        panic!("an empty object is no message")
    };
    assert_eq!(
        create(&rest).await,
        Err(RestError::Body(BodyFault::TooLarge))
    );
    assert_eq!(create(&rest).await, Ok(id(9)));
}

#[tokio::test]
async fn a_request_that_never_arrived_is_told_from_one_that_may_have() {
    let unused = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let token = Token::parse("MTc1OTI4ODQ3Mjk5MTE3MDYz.stamp.not-a-secret").unwrap();
    let rest = Rest::new(
        ApiBase::from_override(Some(&address)).unwrap(),
        &token,
        TIMING,
    )
    .unwrap();

    assert_eq!(
        create(&rest).await,
        Err(RestError::NotSent(Unreached::Connect))
    );
}

#[tokio::test]
async fn d_11_the_call_after_an_empty_bucket_waits_for_it() {
    let empty =
        "X-RateLimit-Bucket: b\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset-After: 0.2\r\n";
    let origin = Origin::answering([
        answer(200, "application/json", empty, MESSAGE),
        json(200, MESSAGE),
    ])
    .await;
    let rest = client(&origin, TIMING);

    assert_eq!(create(&rest).await, Ok(id(9)));
    let asked = Instant::now();
    assert_eq!(create(&rest).await, Ok(id(9)));

    assert!(asked.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn a_wait_beyond_patience_is_told_at_once_and_nothing_is_sent() {
    let origin = Origin::answering([
        json(429, r#"{"retry_after":30,"global":false}"#),
        json(200, MESSAGE),
    ])
    .await;
    let rest = client(&origin, TIMING);

    assert_eq!(
        create(&rest).await,
        Err(RestError::Limited {
            retry_after: Duration::from_secs(30),
            global: false,
            html: false
        })
    );
    let Err(RestError::Limited {
        retry_after,
        global: false,
        html: false,
    }) = create(&rest).await
    else {
        panic!("not limited")
    };
    assert!(retry_after > Duration::from_secs(25));
    assert_eq!(origin.requests().len(), 1);

    let elsewhere = rest
        .create_message(id(3), &message())
        .await
        .map(|message| message.id);
    assert_eq!(elsewhere, Ok(id(9)), "another channel is another bucket");
}

#[tokio::test]
async fn d_62_after_a_page_instead_of_a_limit_nothing_is_sent_for_a_minute() {
    let origin = Origin::answering([answer(429, "text/html", "", "<html>banned</html>")]).await;
    let rest = client(&origin, TIMING);

    let minute = Duration::from_secs(60);
    assert_eq!(
        rest.gateway_bot().await,
        Err(RestError::Limited {
            retry_after: minute,
            global: true,
            html: true
        })
    );
    assert!(matches!(
        create(&rest).await,
        Err(RestError::Limited { .. })
    ));
    assert!(matches!(rest.me().await, Err(RestError::Limited { .. })));

    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn after_a_401_nothing_is_ever_sent() {
    let origin =
        Origin::answering([json(401, r#"{"message":"401: Unauthorized","code":0}"#)]).await;
    let rest = client(&origin, TIMING);

    assert_eq!(rest.me().await, Err(RestError::Unauthorized));
    assert_eq!(create(&rest).await, Err(RestError::Unauthorized));
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let origin = Origin::answering([
        answer(302, "text/html", "Location: /api/v10/users/@me\r\n", ""),
        json(200, "{}"),
    ])
    .await;

    assert_eq!(
        client(&origin, TIMING).me().await,
        Err(RestError::Refused {
            status: 302,
            code: None,
            leaf: vec![]
        })
    );
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn a_list_is_asked_for_within_discords_bounds() {
    let origin = Origin::answering([json(200, "[]"), json(200, &format!("[{MESSAGE}]"))]).await;
    let rest = client(&origin, TIMING);

    assert_eq!(rest.messages_after(id(2), id(5), 0).await, Ok(vec![]));
    assert_eq!(
        rest.messages_after(id(2), id(5), 255)
            .await
            .map(|list| list.len()),
        Ok(1)
    );

    let paths: Vec<_> = origin
        .requests()
        .iter()
        .map(|request| request.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(
        paths,
        [
            "/api/v10/channels/2/messages?after=5&limit=1",
            "/api/v10/channels/2/messages?after=5&limit=100"
        ]
    );
}

#[test]
fn a_client_does_not_print_its_token() {
    let token = Token::parse("MTc1OTI4ODQ3Mjk5MTE3MDYz.stamp.not-a-secret").unwrap();
    let rest = Rest::new(
        ApiBase::from_override(Some("http://127.0.0.1:1")).unwrap(),
        &token,
        TIMING,
    )
    .unwrap();

    assert_eq!(
        format!("{rest:?}"),
        r#"Rest { base: "http://127.0.0.1:1/api/v10", .. }"#
    );
}
