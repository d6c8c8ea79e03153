//! Texts to count: prose, code, Chinese and JSON, a function of their seed.
//!
//! The first words of a list come more often than the last, and are bent into forms. Every twentieth
//! is made up of syllables, and most of those are seen once: names, ids and typing errors are in
//! every text, and no memory of earlier pieces helps with them.

use std::fmt::{self, Write as _};

/// Writes a text of a seed and at least a size.
pub(crate) type Write = fn(u64, usize) -> String;

/// The kinds of texts, by name.
pub(crate) const KINDS: [(&str, Write); 4] = [
    ("English prose", |seed, size| repeat(seed, size, sentence)),
    ("code", |seed, size| repeat(seed, size, function)),
    ("Chinese", |seed, size| repeat(seed, size, clause)),
    ("JSON of tools", |seed, size| repeat(seed, size, object)),
];

fn put(text: &mut String, what: fmt::Arguments<'_>) {
    // A string takes everything.
    let _ = text.write_fmt(what);
}

fn repeat(seed: u64, size: usize, part: fn(&mut Dice, &mut String)) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1));
    let mut text = String::with_capacity(size + 4096);
    while text.len() < size {
        part(&mut dice, &mut text);
    }
    text
}

/// Numbers that look like chance (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn any(&mut self, list: &[&'static str]) -> &'static str {
        let at = self.below(list.len() as u64);
        pick(list, at)
    }

    /// One of a list whose first come more often: the smaller of two draws.
    fn common(&mut self, list: &[&'static str]) -> &'static str {
        let at = self.below(list.len() as u64).min(self.below(list.len() as u64));
        pick(list, at)
    }
}

fn pick(list: &[&'static str], at: u64) -> &'static str {
    usize::try_from(at).ok().and_then(|at| list.get(at)).copied().unwrap_or_default()
}

#[rustfmt::skip] // a word a line is no list to read
const WORDS: &[&str] = &[
    "the", "of", "and", "to", "a", "in", "is", "that", "for", "it", "was", "on", "with", "as",
    "be", "by", "at", "from", "this", "they", "have", "not", "are", "but", "we", "an", "their",
    "which", "when", "one", "all", "there", "can", "more", "if", "will", "would", "about", "into",
    "time", "some", "could", "other", "than", "first", "been", "call", "who", "water", "long",
    "down", "day", "find", "come", "made", "part", "over", "new", "sound", "take", "only",
    "little", "work", "know", "place", "year", "live", "back", "give", "most", "very", "after",
    "thing", "name", "good", "sentence", "think", "great", "where", "help", "through", "much",
    "before", "line", "right", "mean", "same", "tell", "follow", "came", "want", "show", "form",
    "three", "small", "set", "put", "end", "does", "another", "well", "large", "must", "even",
    "such", "because", "turn", "here", "why", "ask", "went", "read", "need", "land", "different",
    "home", "move", "try", "kind", "hand", "picture", "again", "change", "off", "play", "spell",
    "air", "away", "animal", "house", "point", "page", "letter", "mother", "answer", "found",
    "study", "still", "learn", "should", "world", "harbour", "winter", "window", "engine",
    "agreement", "temperature", "railway", "committee", "measure", "believe", "evening",
    "mountain", "discussion", "quarter", "shoulder", "language", "machine", "history", "journey",
    "weather", "captain", "library", "question", "remember", "distance", "candidate",
    "laboratory", "percentage", "neighbourhood", "responsibility", "manuscript", "cathedral",
    "orchestra", "expedition", "archaeologist", "photosynthesis", "thermometer", "parliament",
    "correspondence", "watchmaker", "lighthouse", "apprentice",
];

const FORMS: &[&str] =
    &["", "", "", "", "", "", "s", "ed", "ing", "ly", "er", "ness", "'s", "able"];

#[rustfmt::skip] // a word a line is no list to read
const SYLLABLES: &[&str] = &[
    "ba", "ren", "tor", "mi", "vel", "ka", "osh", "lin", "dra", "que", "fu", "zan", "ter", "ol",
    "wy", "sha", "pel", "gor", "ish", "na", "ver", "tum", "kel", "bri", "mon", "ax", "il", "du",
];

fn made_up(dice: &mut Dice, text: &mut String) {
    for _ in 0..2 + dice.below(3) {
        text.push_str(dice.any(SYLLABLES));
    }
}

fn capital(text: &mut String, at: usize) {
    if let Some(first) = text.get(at..=at).map(str::to_ascii_uppercase) {
        text.replace_range(at..=at, &first);
    }
}

fn sentence(dice: &mut Dice, text: &mut String) {
    let begin = text.len();
    for n in 0..5 + dice.below(18) {
        if n > 0 {
            text.push_str(if dice.one_in(9) { ", " } else { " " });
        }
        let at = text.len();
        match dice.below(40) {
            0 | 1 => {
                made_up(dice, text);
                capital(text, at);
            }
            2 => put(text, format_args!("{}", dice.below(20_000))),
            3 => put(text, format_args!("“{}”", dice.common(WORDS))),
            _ => {
                let word = dice.common(WORDS);
                text.push_str(word);
                if word.len() > 3 {
                    text.push_str(dice.any(FORMS));
                }
            }
        }
    }
    capital(text, begin);
    text.push_str(dice.any(&[".", ".", ".", "?", "!", " – so it was.", ";"]));
    text.push_str(if dice.one_in(6) { "\n\n" } else { " " });
}

fn identifier(dice: &mut Dice, text: &mut String) {
    let camel = dice.one_in(3);
    for n in 0..=dice.below(2) {
        if n > 0 && !camel {
            text.push('_');
        }
        let at = text.len();
        if dice.one_in(12) {
            made_up(dice, text);
        } else {
            text.push_str(dice.any(WORDS));
        }
        if camel && n > 0 {
            capital(text, at);
        }
    }
}

const OPERATORS: &[&str] = &[" + ", " - ", " * ", " == ", " && ", " >> ", ".max(", " as u64 % "];

fn function(dice: &mut Dice, text: &mut String) {
    if dice.one_in(2) {
        text.push_str("/// ");
        sentence(dice, text);
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text.push_str(if dice.one_in(3) { "pub fn " } else { "fn " });
    identifier(dice, text);
    text.push_str("(&mut self, ");
    identifier(dice, text);
    text.push_str(dice.any(&[": &str", ": u64", ": Vec<Entry>", ": Option<&'a Path>"]));
    text.push_str(") -> Result<(), Error> {\n");
    for _ in 0..2 + dice.below(10) {
        let depth = 1 + dice.below(4);
        (0..depth).for_each(|_| text.push_str("    "));
        match dice.below(6) {
            0 => {
                text.push_str("if ");
                identifier(dice, text);
                put(text, format_args!(".len() >= {} {{\n", dice.below(5_000)));
            }
            1 => {
                text.push_str("// ");
                sentence(dice, text);
                text.truncate(text.trim_end().len());
                text.push('\n');
            }
            2 => put(text, format_args!("const MASK: u64 = 0x{:x};\n", dice.next() >> 32)),
            3 => text.push_str("}\n\n"),
            _ => {
                text.push_str("let ");
                identifier(dice, text);
                text.push_str(" = self.");
                identifier(dice, text);
                text.push_str(dice.any(OPERATORS));
                identifier(dice, text);
                text.push_str(dice.any(&[";\n", ".await?;\n", "(\"{}\", n)?;\n", "[i + 1];\n"]));
            }
        }
    }
    text.push_str("    Ok(())\n}\n\n");
}

#[rustfmt::skip] // a word a line is no list to read
const CHINESE: &[&str] = &[
    "的", "了", "是", "在", "我们", "他们", "这个", "一个", "可以", "没有", "时候", "什么", "因为",
    "所以", "但是", "如果", "已经", "现在", "知道", "问题", "工作", "时间", "学校", "朋友", "今天",
    "明天", "城市", "国家", "经济", "发展", "社会", "历史", "文化", "研究", "科学", "技术", "系统",
    "数据", "模型", "结果", "方法", "语言", "世界", "生活", "春天", "河流", "山上", "火车", "图书馆",
    "温度", "实验室", "博物馆", "建筑", "音乐", "电影", "天气", "海洋", "森林", "动物", "植物",
    "教育", "医院", "医生", "老师", "学生", "父亲", "母亲", "孩子", "开始", "结束", "认为", "觉得",
    "需要", "应该", "能够", "希望", "可能", "重要", "简单", "复杂", "美丽", "安静", "突然", "慢慢",
    "东西", "南北", "左右", "之间", "以后", "以前", "其中", "特别", "非常", "比较", "大约", "几乎",
];

fn clause(dice: &mut Dice, text: &mut String) {
    for _ in 0..3 + dice.below(9) {
        match dice.below(24) {
            // Names and rare words are any ideographs.
            0 | 1 => {
                for _ in 0..2 {
                    let code = 0x4E00 + u32::try_from(dice.below(20_000)).unwrap_or_default();
                    text.extend(char::from_u32(code));
                }
            }
            2 => put(text, format_args!("{}", dice.below(3_000))),
            _ => text.push_str(dice.common(CHINESE)),
        }
    }
    text.push_str(dice.any(&[",", ",", ",", "。", "。", "!", "?", "、", "。\n", ":“"]));
}

fn object(dice: &mut Dice, text: &mut String) {
    put(
        text,
        format_args!(
            "{{\"id\":\"{:08x}-{:04x}-7{:03x}\",\"at\":\"2026-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z\",\"path\":\"src",
            dice.next() >> 32,
            dice.next() >> 48,
            dice.next() >> 52,
            1 + dice.below(12),
            1 + dice.below(28),
            dice.below(24),
            dice.below(60),
            dice.below(60),
            dice.below(1_000_000),
        ),
    );
    for _ in 0..=dice.below(3) {
        text.push('/');
        identifier(dice, text);
    }
    put(text, format_args!(".rs\",\"line\":{},\"message\":\"", dice.below(4_000)));
    sentence(dice, text);
    text.truncate(text.trim_end().len());
    text.push_str("\",\"values\":[");
    for n in 0..dice.below(6) {
        if n > 0 {
            text.push(',');
        }
        put(text, format_args!("{}.{}", dice.below(900), dice.below(100_000)));
    }
    text.push_str("],\"tags\":{\"");
    identifier(dice, text);
    put(text, format_args!("\":{},\"", dice.any(&["true", "false", "null"])));
    identifier(dice, text);
    text.push_str("\":\"");
    text.push_str(dice.any(WORDS));
    text.push_str("\"}}\n");
}
