//! Resolving: a key is fetched from where it is, at the moment it is needed.
//!
//! What goes wrong is told by the place, never by what was found there.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use threadline_core::history::fact::FailureKind;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::{KeyRef, Secret};
use crate::failed::Failed;

/// How long a command may take to print a key: long enough for a person to touch a device.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest key that is taken; what is longer is something else.
const KEY_CAP_BYTES: u64 = 16 * 1024;
/// The variables that a key command gets: what programs need to run at all, to find the user's
/// session, and to reach an agent or a vault that is open.
const COMMAND_VARIABLES: [&str; 26] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "GNUPGHOME",
    "GPG_TTY",
    "PINENTRY_USER_DATA",
    "PASSWORD_STORE_DIR",
    "BW_SESSION",
    "OP_ACCOUNT",
    "VAULT_ADDR",
    "AWS_PROFILE",
    "SystemRoot",
    "USERPROFILE",
    "APPDATA",
];
/// How the names of further such variables begin.
const COMMAND_VARIABLE_STARTS: [&str; 3] = ["LC_", "XDG_", "OP_SESSION_"];
/// No variable with one of these words in its name is passed on, whatever else it is.
const SECRET_WORDS: [&str; 3] = ["KEY", "TOKEN", "SECRET"];

impl KeyRef {
    /// Fetches the key.
    ///
    /// The error says what to do, and never shows what was found. Needs a tokio runtime with its
    /// timer and I/O where the key is what a command prints.
    pub async fn resolve(&self) -> Result<Secret, Failed> {
        if let Some(warning) = self.warning() {
            tracing::warn!(target: "Provider", "{warning}");
        }
        let found = match self {
            Self::Env(name) => from_env(name),
            Self::File(path) => from_file(path),
            Self::Command(words) => from_command(words).await,
        };
        let found = found.and_then(|text| fit_for_a_header(&text));
        found.map_err(|why| Failed::new(FailureKind::Unauthorised, format!("{self} {why}")))
    }

    /// What is unwise about where the key is, in words; none if nothing is.
    pub fn warning(&self) -> Option<String> {
        let Self::File(path) = self else { return None };
        let is_open = is_open_to_others(path).ok()?;
        is_open.then(|| {
            let path = path.display();
            format!("others can read the key file {path}; `chmod 600 {path}` keeps it to you")
        })
    }

    /// Whether the key is known to be missing, without running anything.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Env(name) => from_env(name).is_err(),
            Self::File(path) => !path.is_file(),
            Self::Command(_) => false,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the reference names the variable that is read")]
fn from_env(name: &str) -> Result<String, String> {
    match std::env::var(name) {
        Ok(text) if text.trim().is_empty() => {
            Err("is set to nothing; set it to the key".to_owned())
        }
        Ok(text) => Ok(text),
        Err(std::env::VarError::NotPresent) => Err("is not set; set it to the key".to_owned()),
        Err(std::env::VarError::NotUnicode(_)) => Err("does not hold text".to_owned()),
    }
}

fn from_file(path: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("could not be read: {error}");
    // Whatever is not a plain file could keep us waiting for ever.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err("is not a file; write the key into a file, alone".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(KEY_CAP_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    text(bytes)
}

async fn from_command(words: &[String]) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("has no words; name a program and its arguments".to_owned());
    };
    let mut command = Command::new(program);
    command.env_clear().envs(std::env::vars_os().filter(|(name, _)| is_passed_on(name)));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let printed = async {
        let mut child = command.kill_on_drop(true).spawn()?;
        let mut bytes = Vec::new();
        if let Some(stdout) = child.stdout.as_mut() {
            // Kept open until the end: a command that prints too much does not fail for that.
            stdout.take(KEY_CAP_BYTES + 1).read_to_end(&mut bytes).await?;
        }
        if is_too_long(&bytes) {
            return Ok((bytes, None));
        }
        Ok::<_, io::Error>((bytes, Some(child.wait().await?)))
    };
    match tokio::time::timeout(COMMAND_TIMEOUT, printed).await {
        Ok(Ok((_, Some(status)))) if !status.success() => {
            Err(format!("failed ({status}); run it by hand to see why"))
        }
        Ok(Ok((bytes, _))) => text(bytes),
        Ok(Err(error)) => Err(format!("could not be run: {error}")),
        Err(_) => {
            let seconds = COMMAND_TIMEOUT.as_secs();
            Err(format!("printed no key within {seconds} s; run it by hand to see why"))
        }
    }
}

/// Whether a key command gets a variable. It runs with what it needs to find a key, and without
/// the keys and tokens that this process has for other purposes.
fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let upper = name.to_ascii_uppercase();
    let named = COMMAND_VARIABLES.iter().any(|known| name.eq_ignore_ascii_case(known));
    let begins = COMMAND_VARIABLE_STARTS.iter().any(|start| upper.starts_with(start));
    (named || begins) && !SECRET_WORDS.iter().any(|word| upper.contains(word))
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if is_too_long(&bytes) {
        return Err("gives more than a key could be; it should give the key alone".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "gives something that is not text".to_owned())
}

fn is_too_long(bytes: &[u8]) -> bool {
    u64::try_from(bytes.len()).map_or(true, |length| length > KEY_CAP_BYTES)
}

/// The key, if a header can carry it.
fn fit_for_a_header(text: &str) -> Result<Secret, String> {
    let key = text.trim_start_matches('\u{feff}').trim();
    if key.is_empty() {
        return Err("is empty; it should hold the key".to_owned());
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("holds more than one word; it should hold the key alone".to_owned());
    }
    Ok(Secret::new(key))
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(path.metadata()?.permissions().mode() & 0o077 != 0)
}

/// Elsewhere a file's permissions are not ours to judge.
#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn of_command(words: &[&str]) -> Result<Secret, Failed> {
        KeyRef::Command(words.iter().map(|word| (*word).to_owned()).collect()).resolve().await
    }

    #[tokio::test]
    async fn a_variable_that_is_not_set_is_named() {
        let wrong = KeyRef::Env("THREADLINE_NO_SUCH_KEY".into()).resolve().await.unwrap_err();
        assert_eq!(wrong.kind, FailureKind::Unauthorised);
        assert_eq!(
            wrong.message,
            "the environment variable THREADLINE_NO_SUCH_KEY is not set; set it to the key"
        );
    }

    #[tokio::test]
    async fn a_file_holds_the_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let key = KeyRef::File(path.clone());
        assert!(key.is_missing());
        assert!(key.resolve().await.unwrap_err().message.contains("could not be read"));
        for (held, wanted) in [
            ("sk-abc\n", Ok("sk-abc")),
            ("\u{feff} sk-abc\r\n", Ok("sk-abc")),
            (" \n", Err("is empty")),
            ("sk-abc sk-def", Err("more than one word")),
            ("sk-äbc", Err("more than one word")),
        ] {
            std::fs::write(&path, held).unwrap();
            match (key.resolve().await, wanted) {
                (Ok(secret), Ok(wanted)) => assert_eq!(secret.reveal(), wanted),
                (Err(wrong), Err(part)) => {
                    assert!(wrong.message.contains(part), "{}", wrong.message);
                    assert!(!wrong.message.contains("sk-"), "{}", wrong.message);
                }
                (found, wanted) => panic!("{held:?}: {found:?}, not {wanted:?}"),
            }
        }
        std::fs::write(&path, vec![b'x'; 20_000]).unwrap();
        assert!(key.resolve().await.unwrap_err().message.contains("more than a key could be"));
        std::fs::write(&path, [0xff, 0xfe, 0x41]).unwrap();
        assert!(key.resolve().await.unwrap_err().message.contains("not text"));
        assert!(KeyRef::File(folder.path().into()).resolve().await.is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_warned_of() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-abc").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        assert!(KeyRef::File(path.clone()).warning().unwrap().contains("chmod 600"));
        mode(0o600);
        assert_eq!(KeyRef::File(path.clone()).warning(), None);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_prints_the_key() {
        assert_eq!(of_command(&["printf", "sk-%s", "abc"]).await.unwrap().reveal(), "sk-abc");
        for (words, part) in [
            (&["sh", "-c", "echo sk-abc; exit 3"][..], "exit status: 3"),
            (&["threadline-no-such-program"], "could not be run"),
            (&["true"], "is empty"),
            (&[], "no words"),
            (&["yes"], "more than a key"),
        ] {
            let wrong = of_command(words).await.unwrap_err();
            assert!(wrong.message.contains(part), "{}", wrong.message);
            assert!(!wrong.message.contains("sk-"), "{}", wrong.message);
        }
    }

    #[test]
    fn a_command_gets_what_it_needs_and_no_secrets() {
        for (name, wanted) in [
            ("PATH", true),
            ("HOME", true),
            ("LC_ALL", true),
            ("XDG_RUNTIME_DIR", true),
            ("DBUS_SESSION_BUS_ADDRESS", true),
            ("BW_SESSION", true),
            ("OPENAI_API_KEY", false),
            ("GITHUB_TOKEN", false),
            ("XDG_SECRET", false),
            ("LC_MY_TOKEN", false),
            ("DATABASE_URL", false),
            ("LD_PRELOAD", false),
        ] {
            assert_eq!(is_passed_on(OsStr::new(name)), wanted, "{name}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_does_not_see_the_variables_of_the_process() {
        // What the tests run with has variables of cargo; the command sees none of them.
        assert!(std::env::vars_os().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
        let script = "echo \"sk-$(env | grep -c ^CARGO_)-${PATH:+path}\"";
        assert_eq!(of_command(&["sh", "-c", script]).await.unwrap().reveal(), "sk-0-path");
    }

    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn a_command_that_does_not_end_is_given_up() {
        let wrong = of_command(&["sleep", "60"]).await.unwrap_err();
        assert!(wrong.message.contains("within 10 s"), "{}", wrong.message);
    }
}
