//! What people, models and tools of generated histories say.

use std::fmt::Write as _;

use crate::ids::Choices;

const WORDS: &[&str] = &[
    "the", "a", "of", "for", "in", "we", "you", "please", "look", "at", "this", "file", "test",
    "build", "server", "weather", "Oslo", "today", "tomorrow", "rain", "release", "branch",
    "commit", "error", "timeout", "again", "why", "does", "fail", "with", "four", "threads",
    "only", "on", "Linux", "table", "index", "query", "slow", "customer", "report", "summary",
    "number", "count", "between", "before", "after", "careful", "budget", "memory", "window",
    "history", "note", "remember", "plan", "step", "answer", "question", "maybe", "should",
];

const CHINESE: &[&str] = &[
    "请",
    "帮我",
    "看一下",
    "这个",
    "文件",
    "的",
    "内容",
    "为什么",
    "测试",
    "失败",
    "了",
    "天气",
    "今天",
    "明天",
    "服务器",
    "很慢",
    "数据库",
    "查询",
    "历史",
    "记录",
    "总结",
    "一下",
    "我们",
    "需要",
    "重新",
    "构建",
    "发布",
    "版本",
    "谢谢",
    "再",
    "试一次",
];

const CODE: &[&str] = &[
    "fn main() -> Result<(), Error> {",
    "    let config = Config::load(path)?;",
    "    for row in table.rows() {",
    "        total += row.amount;",
    "    }",
    "    println!(\"{total}\");",
    "    Ok(())",
    "}",
    "",
    "#[test]",
    "fn sums_are_right() {",
    "    assert_eq!(sum(&[1, 2, 3]), 6);",
];

const LEVELS: &[&str] = &["INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR"];
const MODULES: &[&str] = &["http::server", "db::pool", "worker", "scheduler", "auth", "cache"];

/// Text of a seed.
pub(super) struct Writer<'a>(pub(super) &'a mut Choices);

impl Writer<'_> {
    /// What a person says: mostly a sentence, now and then code, a table or a long log.
    pub(super) fn question(&mut self) -> String {
        match self.0.below(100) {
            0..55 => self.sentences(1, 3),
            55..80 => self.chinese(4, 30),
            80..88 => format!("{}\n\n{}", self.sentence(), self.code()),
            88..96 => self.markdown(),
            96..99 => {
                let lines = 5 + self.0.below(30);
                format!("{}\n{}", self.sentence(), self.log(lines))
            }
            _ => {
                let lines = 60 + self.0.below(100);
                format!("{}\n{}", self.sentence(), self.log(lines))
            }
        }
    }

    /// What a model answers.
    pub(super) fn answer(&mut self) -> String {
        match self.0.below(10) {
            0..5 => self.sentences(1, 5),
            5..7 => self.chinese(8, 60),
            7..9 => self.markdown(),
            _ => format!("{}\n\n{}\n\n{}", self.sentence(), self.code(), self.sentence()),
        }
    }

    /// What a tool gives.
    pub(super) fn result(&mut self) -> String {
        match self.0.below(20) {
            0..12 => self.sentence(),
            12..15 => self.json(),
            15..19 => {
                let lines = 2 + self.0.below(20);
                self.log(lines)
            }
            _ => {
                let lines = 40 + self.0.below(120);
                self.log(lines)
            }
        }
    }

    /// One sentence.
    pub(super) fn sentence(&mut self) -> String {
        let mut text = String::with_capacity(96);
        let words = 3 + self.0.below(12);
        for nth in 0..words {
            if nth > 0 {
                text.push(' ');
            }
            text.push_str(self.word());
        }
        text.push('.');
        text
    }

    /// A few words without an end.
    pub(super) fn phrase(&mut self) -> String {
        format!("{} {} {}", self.word(), self.word(), self.word())
    }

    /// One word.
    pub(super) fn word(&mut self) -> &'static str {
        self.0.pick(WORDS).copied().unwrap_or_default()
    }

    /// Words of exactly so many bytes.
    pub(super) fn exactly(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            text.push_str(self.word());
            text.push(' ');
        }
        text.truncate(bytes);
        text
    }

    /// Something like a signature: long, opaque, of no use to a reader.
    pub(super) fn opaque(&mut self) -> String {
        let mut text = String::with_capacity(160);
        for _ in 0..2 + self.0.below(6) {
            let _ = write!(text, "{:016x}", self.0.any());
        }
        text
    }

    /// A small JSON object.
    pub(super) fn json(&mut self) -> String {
        let (key, word, number) = (self.word(), self.word(), self.0.below(1000));
        format!("{{\"{key}\":\"{word}\",\"count\":{number}}}")
    }

    fn sentences(&mut self, least: u64, most: u64) -> String {
        let mut text = self.sentence();
        for _ in 0..least - 1 + self.0.below(most - least + 1) {
            text.push(' ');
            text.push_str(&self.sentence());
        }
        text
    }

    fn chinese(&mut self, least: u64, most: u64) -> String {
        let mut text = String::with_capacity(128);
        for _ in 0..least + self.0.below(most - least) {
            text.push_str(self.0.pick(CHINESE).copied().unwrap_or_default());
        }
        text.push('。');
        text
    }

    fn code(&mut self) -> String {
        let mut text = String::from("```rust\n");
        for _ in 0..3 + self.0.below(10) {
            text.push_str(self.0.pick(CODE).copied().unwrap_or_default());
            text.push('\n');
        }
        text.push_str("```");
        text
    }

    fn markdown(&mut self) -> String {
        let mut text = format!("## {}\n\n", self.phrase());
        for _ in 0..2 + self.0.below(5) {
            let _ = writeln!(text, "- **{}**: {}", self.word(), self.sentence());
        }
        let _ = write!(text, "\n| {} | {} |\n|---|---|\n", self.word(), self.word());
        for _ in 0..=self.0.below(4) {
            let _ = writeln!(text, "| {} | {} |", self.word(), self.0.below(10_000));
        }
        text
    }

    fn log(&mut self, lines: u64) -> String {
        let mut text = String::with_capacity(usize::try_from(lines * 96).unwrap_or(0));
        for line in 0..lines {
            let level = self.0.pick(LEVELS).copied().unwrap_or_default();
            let module = self.0.pick(MODULES).copied().unwrap_or_default();
            let (what, ms) = (self.phrase(), self.0.below(5000));
            let _ = writeln!(text, "[{line:>5}] {level:<5} {module}: {what} took {ms} ms");
        }
        text
    }
}
