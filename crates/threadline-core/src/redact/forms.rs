//! The forms in which a secret may come back.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::SECRET_MIN_BYTES;

/// The forms of a secret: as it is, and encoded.
pub(super) fn of(secret: &str) -> Vec<Vec<u8>> {
    let mut forms: Vec<Vec<u8>> = vec![secret.into()];
    forms.extend(base64(secret.as_bytes()));
    let each_byte = |form: &dyn Fn(u8) -> String| -> Vec<u8> {
        secret.bytes().map(form).collect::<String>().into()
    };
    let reserved = |byte: u8| !(byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
    forms.push(each_byte(&|byte| format!("{byte:02x}")));
    forms.push(each_byte(&|byte| format!("{byte:02X}")));
    forms.push(each_byte(&|byte| format!("%{byte:02x}")));
    forms.push(each_byte(&|byte| format!("%{byte:02X}")));
    forms.push(each_byte(&|byte| {
        if reserved(byte) { format!("%{byte:02x}") } else { char::from(byte).to_string() }
    }));
    forms.push(each_byte(&|byte| {
        if reserved(byte) { format!("%{byte:02X}") } else { char::from(byte).to_string() }
    }));
    let json = json_escaped(secret);
    forms.push(json.replace('/', "\\/").into());
    forms.push(json.into());
    forms.push(unicode_escaped(secret, |unit| format!("\\u{unit:04x}")));
    forms.push(unicode_escaped(secret, |unit| format!("\\u{unit:04X}")));
    forms.retain(|form| form.len() >= SECRET_MIN_BYTES);
    forms
}

/// The secret in base64, alone and within a longer text: there it may begin at any of three places
/// of a group, and the characters at its ends also stand for what is around it.
fn base64(secret: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let alone = [STANDARD, URL_SAFE].map(|engine| engine.encode(secret).into_bytes());
    let within = [STANDARD_NO_PAD, URL_SAFE_NO_PAD].into_iter().flat_map(move |engine| {
        (0..3_usize).map(move |before| {
            let mut bytes = vec![0; before];
            bytes.extend_from_slice(secret);
            let text = engine.encode(&bytes).into_bytes();
            // Six bits to a character: those with a bit of the bytes before or after are left out.
            let (first, last) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
            text.get(first..last).unwrap_or_default().to_vec()
        })
    });
    let within: Vec<Vec<u8>> = within.collect();
    alone.into_iter().chain(within)
}

fn json_escaped(secret: &str) -> String {
    let json = serde_json::to_string(secret).unwrap_or_default();
    json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

fn unicode_escaped(secret: &str, escape: fn(u16) -> String) -> Vec<u8> {
    secret.encode_utf16().map(escape).collect::<String>().into()
}
