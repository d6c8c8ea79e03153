//! What people want of time: waits, timers and reminders.

use threadline_core::clock::Timestamp;

use super::understand;
use super::words::{after, is_any, parted_last, strip, unquoted};

/// Something that someone wants to happen later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) enum TimingWish {
    /// Wait, and go on then.
    Wait(Moment),
    /// Have something said or done later.
    Set(Alarm),
    /// Take timers back.
    Clear(Timers),
    /// Tell which timers are set.
    List,
    /// Tell that a time has come, and what for.
    Due(String),
}

/// When something is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) enum Moment {
    /// In so many seconds.
    In(u64),
    /// At a time.
    At(String),
}

/// A timer that is to be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) struct Alarm {
    /// When it first goes off.
    pub(in crate::guide) first: Option<Moment>,
    /// After how many seconds again, and again.
    pub(in crate::guide) every: Option<u64>,
    /// What is said then.
    pub(in crate::guide) text: String,
    /// Whether it begins with the time, as what someone says may do too.
    plain: bool,
}

/// Which timers are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::guide) enum Timers {
    /// Those with these numbers.
    Numbers(Vec<u64>),
    /// The one that there is.
    Only,
    /// All that there are.
    All,
}

/// What a timer says that is to tell that a time has come.
const DUE: &str = "It is time";

/// The wish of a text.
pub(super) fn wish(text: &str) -> Option<TimingWish> {
    const LIST: [&str; 14] = [
        "timers",
        "list timers",
        "list the timers",
        "list my timers",
        "list your timers",
        "show the timers",
        "show me the timers",
        "what timers are there",
        "which timers are there",
        "what timers are set",
        "which timers are set",
        "what timers do you have",
        "which timers do you have",
        "what are the timers",
    ];
    if is_any(text, &LIST) {
        return Some(TimingWish::List);
    }
    clearing(text)
        .map(TimingWish::Clear)
        .or_else(|| waiting(text).map(TimingWish::Wait))
        .or_else(|| setting(text).map(TimingWish::Set))
}

/// That a time has come, as a timer of our own says it.
pub(super) fn due(text: &str) -> Option<TimingWish> {
    let rest = strip(text.trim(), DUE)?;
    let what = match rest.strip_prefix(':') {
        Some(what) => what.trim(),
        None if rest.is_empty() || rest == "." => "",
        None => return None,
    };
    Some(TimingWish::Due(what.to_owned()))
}

impl Alarm {
    /// Whether its words may as well be part of what someone says.
    pub(super) fn is_plain(&self) -> bool {
        self.plain
    }

    /// What the timer is to say: a wish that is understood as it is, and else that it is time.
    pub(in crate::guide) fn words(&self) -> String {
        match &*self.text {
            "" => format!("{DUE}."),
            text if understand(text).is_some() => text.to_owned(),
            text => format!("{DUE}: {text}"),
        }
    }
}

fn clearing(text: &str) -> Option<Timers> {
    const VERBS: [&str; 10] = [
        "stop ",
        "clear ",
        "cancel ",
        "delete ",
        "remove ",
        "drop ",
        "take back ",
        "turn off ",
        "switch off ",
        "end ",
    ];
    let what = after(text, &VERBS)?;
    let bare = after(what, &["all the ", "all my ", "all your ", "all ", "the ", "my ", "your "]);
    let all = strip(what, "all ").is_some();
    let named = bare.unwrap_or(what);
    let mut words = named.split([' ', ',']).filter(|word| !word.is_empty());
    let noun = words.next()?;
    let many = is_any(noun, &["timers", "reminders", "alarms"]);
    if !many && !is_any(noun, &["timer", "reminder", "alarm"]) {
        return None;
    }
    let numbers = words.filter(|word| !is_any(word, &["and", "number"]));
    let numbers = numbers.map(|word| word.trim_start_matches('#').parse().ok());
    Some(match numbers.collect::<Option<Vec<u64>>>()? {
        none if none.is_empty() && (all || many) => Timers::All,
        none if none.is_empty() => Timers::Only,
        numbers => Timers::Numbers(numbers),
    })
}

fn waiting(text: &str) -> Option<Moment> {
    let rest =
        after(text, &["wait for ", "wait ", "sleep for ", "sleep ", "pause for ", "pause "])?;
    let (moment, rest) = match after(rest, &["until ", "till "]) {
        Some(rest) => time(rest)?,
        None => span(rest).map(|(seconds, rest)| (Moment::In(seconds), rest))?,
    };
    rest.is_empty().then_some(moment)
}

fn setting(text: &str) -> Option<Alarm> {
    const WAKE: [&str; 14] = [
        "wake me up ",
        "wake me ",
        "wake yourself up ",
        "wake yourself ",
        "wake up ",
        "wake ",
        "remind me ",
        "remind us ",
        "remind yourself ",
        "set a timer ",
        "set an alarm ",
        "set a reminder ",
        "set timer ",
        "set a wake-up ",
    ];
    if let Some(rest) = after(text, &WAKE) {
        return begun(rest).or_else(|| ended(rest));
    }
    // What begins with a time is an order only if there is something to be done then.
    let alarm = begun(text).filter(|alarm| !alarm.text.is_empty())?;
    let sure = alarm.first.is_none() || understand(&alarm.text).is_some();
    sure.then_some(Alarm { plain: true, ..alarm })
}

/// A time, and what is to be then: `in 5 minutes to X`, `every hour: X`, `at 2026-…Z X`.
fn begun(text: &str) -> Option<Alarm> {
    let (first, every, rest) = when(text)?;
    // A timer that goes off once may go off again and again from then on.
    let again = after(rest, &[", then every ", "then every ", "and then every ", "and every "]);
    let (every, rest) = match again.and_then(period).filter(|_| every.is_none()) {
        Some((seconds, rest)) => (Some(seconds), rest),
        None => (every, rest),
    };
    Some(Alarm { first, every, text: said(rest), plain: false })
}

/// What is to be, and a time: `to X in 5 minutes`, `to X every hour`.
fn ended(text: &str) -> Option<Alarm> {
    let (what, _) = parted_last(text, &[" in ", " after ", " every ", " at "])?;
    let (first, every, rest) = when(text.get(what.len()..)?.trim())?;
    let alarm = Alarm { first, every, text: said(what), plain: false };
    rest.is_empty().then_some(alarm)
}

/// The time that a text begins with, and what follows it.
fn when(text: &str) -> Option<(Option<Moment>, Option<u64>, &str)> {
    if let Some(rest) = after(text, &["every ", "each "]) {
        return period(rest).map(|(seconds, rest)| (None, Some(seconds), rest));
    }
    let (moment, rest) = match after(text, &["at "]) {
        Some(rest) => time(rest)?,
        None => {
            let (seconds, rest) = span(after(text, &["in ", "for ", "after "])?)?;
            (Moment::In(seconds), rest)
        }
    };
    Some((Some(moment), None, rest))
}

/// What is said, without the small words before it.
fn said(text: &str) -> String {
    const BEFORE: [&str; 7] =
        ["with the text ", "saying ", "about ", "that ", "to ", "and ", "of "];
    let text = text.trim().trim_start_matches([':', ',', '-']).trim();
    unquoted(after(text, &BEFORE).unwrap_or(text)).trim_start_matches(':').trim().to_owned()
}

/// How long a text says that something takes, in seconds, and what follows.
fn span(text: &str) -> Option<(u64, &str)> {
    let (mut seconds, mut rest) = amount(text)?;
    let more = |rest| after(rest, &["and ", ", "]).and_then(amount);
    while let Some((others, after)) = more(rest) {
        (seconds, rest) = (seconds.saturating_add(others), after);
    }
    Some((seconds, rest))
}

/// After how long something comes again: as a span, or a unit by itself.
fn period(text: &str) -> Option<(u64, &str)> {
    let alone = || {
        let (word, rest) = word(text);
        Some((unit(word)?, rest)).filter(|_| !word.ends_with('s'))
    };
    span(text).or_else(alone)
}

fn amount(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    if let Some(rest) = after(text, &["half an ", "half a "]) {
        let (word, rest) = word(rest);
        return Some((unit(word)? / 2, rest)).filter(|(seconds, _)| *seconds > 0);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = match text.split_at(digits) {
        ("", _) => {
            let (word, rest) = word(text);
            (in_words(word)?, rest)
        }
        (digits, rest) => (digits.parse::<u64>().ok()?, rest.trim_start()),
    };
    let (named, rest) = word(rest);
    let seconds = number.saturating_mul(unit(named)?);
    (seconds > 0).then_some((seconds, rest))
}

/// The letters that a text begins with, and what follows.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (word, rest.trim_start())
}

fn in_words(word: &str) -> Option<u64> {
    const NUMBERS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    if is_any(word, &["a", "an"]) {
        return Some(1);
    }
    (1..).zip(NUMBERS).find(|(_, known)| word.eq_ignore_ascii_case(known)).map(|(number, _)| number)
}

/// The seconds of a unit.
fn unit(word: &str) -> Option<u64> {
    match &*word.to_lowercase() {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600),
        "day" | "days" => Some(86_400),
        "week" | "weeks" => Some(604_800),
        _ => None,
    }
}

/// The time of a day that a text begins with, and what follows: `2026-11-16T09:30:00Z` or
/// `2026-11-16 09:30`, which is in UTC.
fn time(text: &str) -> Option<(Moment, &str)> {
    let (date, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let read = |text: &str| text.parse::<Timestamp>().ok().map(|at| Moment::At(at.to_string()));
    if let Some(moment) = read(date.trim_end_matches([':', ','])) {
        return Some((moment, rest.trim()));
    }
    let rest = rest.trim();
    let (clock, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let clock = clock.trim_end_matches([':', ',']);
    let seconds = if clock.len() == "09:30".len() { ":00" } else { "" };
    let moment = read(&format!("{date}T{clock}{seconds}Z"))?;
    Some((moment, after(rest, &["UTC: ", "UTC, ", "UTC "]).unwrap_or(rest).trim()))
}
