//! The command line and what is written about it.

use clap::{Arg, Command, CommandFactory as _, Parser as _};

use super::Arguments;

const README: &str = include_str!("../../../../README.md");
const PAGE: &str = include_str!("../../../../docs/cli.md");

#[test]
fn the_command_line_is_well_formed() {
    Arguments::command().debug_assert();
}

#[test]
fn every_command_is_described_with_an_example() {
    for command in commands() {
        let help = command.clone().render_long_help().to_string();
        assert!(command.get_about().is_some(), "{}", command.get_name());
        let example = |above: &str| format!("  threadline {above}{}", command.get_name());
        let shown = ["", "dev ", "wire "].iter().any(|above| help.contains(&example(above)));
        let shown = shown || help.contains("  threadline dev generate");
        assert!(shown, "{} has no example:\n{help}", command.get_name());
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{} {argument}", command.get_name());
        }
    }
}

#[test]
fn examples_in_the_help_are_command_lines() {
    let mut seen = 0;
    for command in commands().into_iter().chain([Arguments::command()]) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines().filter_map(|line| line.strip_prefix("  threadline ")) {
            // What stands far to the right is a remark.
            let line = line.split("   ").next().unwrap_or_default();
            assert_parses(line);
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} examples");
}

#[test]
fn the_page_names_every_command_and_every_option() {
    for command in commands() {
        let name = command.get_name();
        let heading = match name {
            "generate" => "\n## threadline dev generate\n".to_owned(),
            "encode" | "decode" | "check" => format!("\n## threadline wire {name}\n"),
            "dev" | "wire" => continue,
            name => format!("\n## threadline {name}\n"),
        };
        let start = PAGE.find(&heading).unwrap_or_else(|| panic!("{name} is not in the page"));
        let part = &PAGE[start + heading.len()..];
        let part = &part[..part.find("\n## ").unwrap_or(part.len())];
        for option in options(&command) {
            assert!(part.contains(&format!("`{option}")), "{name}: {option} is not in its part");
        }
        assert!(part.contains("```json"), "{name}: its JSON is not shown");
    }
    for option in options(&Arguments::command()) {
        assert!(PAGE.contains(&format!("`{option}")), "{option} is not in the page");
    }
}

#[test]
fn command_lines_in_the_readme_and_the_page_are_command_lines() {
    let mut seen = 0;
    for line in README.lines().chain(PAGE.lines()) {
        let line = line.strip_prefix("threadline ").or(line.strip_prefix("$ threadline "));
        // The greeting is no command line.
        if let Some(line) = line.filter(|line| !line.starts_with("keeps ")) {
            assert_parses(line);
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} command lines");
}

/// Every command, those below others too.
fn commands() -> Vec<Command> {
    let mut root = Arguments::command();
    root.build();
    let below = |command: &Command| {
        let below = command.get_subcommands().filter(|below| below.get_name() != "help");
        below.cloned().collect::<Vec<_>>()
    };
    let mut all = below(&root);
    for command in all.clone() {
        all.extend(below(&command));
    }
    assert!(all.len() >= 11);
    all
}

/// The long options that belong to a command, without those of every command.
fn options(command: &Command) -> Vec<String> {
    let own = |argument: &&Arg| {
        let shared = command.get_name() != "threadline" && argument.is_global_set();
        !shared && !matches!(argument.get_id().as_str(), "help" | "version")
    };
    let own = command.get_arguments().filter(own);
    own.filter_map(Arg::get_long).map(|long| format!("--{long}")).collect()
}

fn assert_parses(line: &str) {
    let mut words = vec!["threadline".to_owned()];
    words.extend(words_of(line));
    if let Err(error) = Arguments::try_parse_from(&words) {
        panic!("{line}: {error}");
    }
}

/// The words of a line as a shell would split them, up to a remark or a pipe.
fn words_of(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            '#' | '|' | '>' if !quoted && word.is_empty() => break,
            ' ' if !quoted => {
                words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty()));
            }
            c => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}
