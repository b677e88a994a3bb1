//! Where Discord is: one constant, or a stand-in on this machine's own loopback address (DESIGN section 7, row 23).
//! Nothing here connects; a value of these types is proof that connecting there is allowed.

use std::net::{Ipv4Addr, Ipv6Addr};

use tokio_tungstenite::tungstenite::http::Uri;

/// The version is part of the path: without it Discord answers as v6.
const API_PATH: &str = "/api/v10";
const OFFICIAL: &str = "https://discord.com";
/// Transport of the gateway: plain JSON, the same version as REST.
const GATEWAY_QUERY: &str = "/?v=10&encoding=json";

/// The REST base address, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiBase {
    url: String,
    port: u16,
    stand_in: bool,
}

/// An address that is not allowed. The words name what would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// `MOSAIC_DISCORD_API` holds something other than a loopback literal.
    #[error(
        "MOSAIC_DISCORD_API must be http:// with a loopback address in digits and a port, as in http://127.0.0.1:8080"
    )]
    Override,
    /// A gateway address, sent by Discord, that the token must not be carried to.
    #[error(
        "the gateway address is neither wss:// nor, with a stand-in, ws:// on a loopback address in digits"
    )]
    Gateway,
}

impl ApiBase {
    /// Discord itself when nothing is given, else the stand-in the text names.
    ///
    /// Only `http://` with a loopback literal passes: a name could be pointed elsewhere, and the bot token goes to this address.
    pub fn from_override(text: Option<&str>) -> Result<Self, BadAddress> {
        let Some(text) = text else {
            return Ok(Self {
                url: format!("{OFFICIAL}{API_PATH}"),
                port: 443,
                stand_in: false,
            });
        };
        let uri: Uri = text.parse().map_err(|_| BadAddress::Override)?;
        let path_fits = matches!(uri.path(), "" | "/" | API_PATH) && uri.query().is_none();
        let (Some("http"), Some(authority), true) = (uri.scheme_str(), uri.authority(), path_fits)
        else {
            return Err(BadAddress::Override);
        };
        if !is_loopback_literal(&uri) || text.contains('#') {
            return Err(BadAddress::Override);
        }
        Ok(Self {
            url: format!("http://{authority}{API_PATH}"),
            port: uri.port_u16().unwrap_or(80),
            stand_in: true,
        })
    }

    /// The TCP port REST is reached at.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether this is a stand-in on a loopback address, so that there is no TLS.
    #[must_use]
    pub fn is_stand_in(&self) -> bool {
        self.stand_in
    }

    /// The address as text, for joining a path that begins with a slash.
    pub(super) fn as_str(&self) -> &str {
        &self.url
    }
}

/// A gateway address the token may be carried to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayUrl(String);

impl GatewayUrl {
    /// Checks an address that `GET /gateway/bot` or READY gave. Its query, if it has one, is replaced by ours.
    pub fn parse(text: &str, base: &ApiBase) -> Result<Self, BadAddress> {
        let uri: Uri = text.parse().map_err(|_| BadAddress::Gateway)?;
        let Some(authority) = uri.authority() else {
            return Err(BadAddress::Gateway);
        };
        let plain = authority
            .as_str()
            .parse::<tokio_tungstenite::tungstenite::http::uri::Authority>()
            .is_ok()
            && !authority.as_str().contains('@');
        let allowed = match uri.scheme_str() {
            Some("wss") => plain,
            Some("ws") => base.stand_in && is_loopback_literal(&uri),
            _ => false,
        };
        if !allowed {
            return Err(BadAddress::Gateway);
        }
        let scheme = uri.scheme_str().unwrap_or("wss");
        Ok(Self(format!(
            "{scheme}://{authority}{}{GATEWAY_QUERY}",
            uri.path().trim_end_matches('/')
        )))
    }

    /// The address to open, query included.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether the host is 127.0.0.0/8 or `[::1]` in digits, without a user part.
fn is_loopback_literal(uri: &Uri) -> bool {
    let Some(authority) = uri.authority() else {
        return false;
    };
    let host = authority.host();
    let bare = authority.as_str() == host
        || authority
            .port()
            .is_some_and(|port| authority.as_str() == format!("{host}:{port}"));
    let loopback_v4 = host
        .parse::<Ipv4Addr>()
        .is_ok_and(|address| address.is_loopback());
    let loopback_v6 = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .is_some_and(|host| {
            host.parse::<Ipv6Addr>()
                .is_ok_and(|address| address.is_loopback())
        });
    bare && (loopback_v4 || loopback_v6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn official() -> ApiBase {
        ApiBase::from_override(None).unwrap()
    }

    fn stand_in() -> ApiBase {
        ApiBase::from_override(Some("http://127.0.0.1:8080")).unwrap()
    }

    #[test]
    fn without_an_override_the_address_is_discord() {
        assert_eq!(
            (
                official().as_str(),
                official().port(),
                official().is_stand_in()
            ),
            ("https://discord.com/api/v10", 443, false)
        );
    }

    #[test]
    fn a_loopback_literal_may_stand_in() {
        let rows = [
            (
                "http://127.0.0.1:8080",
                "http://127.0.0.1:8080/api/v10",
                8080,
            ),
            (
                "http://127.0.0.1:8080/",
                "http://127.0.0.1:8080/api/v10",
                8080,
            ),
            (
                "http://127.0.0.1:8080/api/v10",
                "http://127.0.0.1:8080/api/v10",
                8080,
            ),
            ("http://127.9.9.9", "http://127.9.9.9/api/v10", 80),
            ("http://[::1]:9", "http://[::1]:9/api/v10", 9),
        ];

        for (text, url, port) in rows {
            let base = ApiBase::from_override(Some(text)).unwrap();
            assert_eq!(
                (base.as_str(), base.port(), base.is_stand_in()),
                (url, port, true),
                "{text}"
            );
        }
    }

    #[test]
    fn nothing_but_a_loopback_literal_may_stand_in() {
        let refused = [
            "",
            "127.0.0.1:8080",
            "https://127.0.0.1:8080",
            "http://localhost:8080",
            "http://10.0.0.1",
            "http://127.0.0.1.example.org",
            "http://example.org@127.0.0.1",
            "http://127.0.0.1@example.org",
            "http://[::ffff:127.0.0.1]:1",
            "http://0x7f000001",
            "http://2130706433",
            "http://127.0.0.1:8080/other",
            "http://127.0.0.1:8080?x=1",
            "http://127.0.0.1:8080#x",
            "http://127.0.0.1:99999",
        ];

        for text in refused {
            assert_eq!(
                ApiBase::from_override(Some(text)),
                Err(BadAddress::Override),
                "{text}"
            );
        }
    }

    #[test]
    fn the_token_is_carried_over_tls_or_to_a_stand_in_only() {
        let wss = |text| GatewayUrl::parse(text, &official()).map(|url| url.0);
        let ws = |text| GatewayUrl::parse(text, &stand_in()).map(|url| url.0);

        assert_eq!(
            wss("wss://gateway.discord.gg"),
            Ok("wss://gateway.discord.gg/?v=10&encoding=json".into())
        );
        assert_eq!(
            wss("wss://gateway.discord.gg/?v=9"),
            Ok("wss://gateway.discord.gg/?v=10&encoding=json".into())
        );
        assert_eq!(
            ws("ws://127.0.0.1:1/gateway/resume"),
            Ok("ws://127.0.0.1:1/gateway/resume/?v=10&encoding=json".into())
        );
        assert_eq!(wss("ws://127.0.0.1:1"), Err(BadAddress::Gateway));
        assert_eq!(
            wss("wss://someone@gateway.discord.gg"),
            Err(BadAddress::Gateway)
        );
        assert_eq!(ws("ws://localhost:1"), Err(BadAddress::Gateway));
        assert_eq!(ws("ws://192.0.2.1"), Err(BadAddress::Gateway));
        assert_eq!(ws("http://127.0.0.1:1"), Err(BadAddress::Gateway));
        assert_eq!(ws(""), Err(BadAddress::Gateway));
    }
}
