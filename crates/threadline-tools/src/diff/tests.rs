//! Tests of diffs: what they show, that they lead from one text to the other, what they cost.

use proptest::prelude::*;

use super::*;

fn shown(before: &str, after: &str) -> String {
    Diff::of(before, after).text(100_000)
}

/// Applies a diff as a reader would: by its line numbers and signs.
fn applied(before: &str, diff: &Diff<'_>) -> String {
    let lines = before.split_inclusive('\n').collect::<Vec<_>>();
    let (mut text, mut at) = (String::new(), 0);
    for block in &diff.blocks {
        text.extend(lines[at..diff.skipped + block.before.start].iter().copied());
        text.extend(diff.after[block.after.clone()].iter().copied());
        at = diff.skipped + block.before.end;
    }
    text.extend(lines[at..].iter().copied());
    text
}

#[test]
fn changes_are_shown_with_what_is_around_them() {
    let before = (1..=20).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    let after = before.replace("line 5\n", "five\n").replace("line 6\n", "").replace("20\n", "20");
    insta::assert_snapshot!(shown(&before, &after), @r"
    @@ -2,8 +2,7 @@
     line 2
     line 3
     line 4
    -line 5
    -line 6
    +five
     line 7
     line 8
     line 9
    @@ -17,4 +16,4 @@
     line 17
     line 18
     line 19
    -line 20
    +line 20
    \ no line end at the end of the file
    ");
    insta::assert_snapshot!(shown("", "a\nb\n"), @r"
    @@ -0,0 +1,2 @@
    +a
    +b
    ");
    insta::assert_snapshot!(shown("a\n", ""), @r"
    @@ -1,1 +0,0 @@
    -a
    ");
    assert_eq!(shown("a\n", "a\n"), "");
}

#[test]
fn changes_that_touch_share_a_hunk() {
    let before = (1..=30).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
    let near = before.replace("\n5\n", "\nfive\n").replace("\n12\n", "\ntwelve\n");
    assert_eq!(shown(&before, &near).matches("@@ -").count(), 1);
    let far = before.replace("\n5\n", "\nfive\n").replace("\n13\n", "\nthirteen\n");
    assert_eq!(shown(&before, &far).matches("@@ -").count(), 2);
}

#[test]
fn line_ends_are_shown_when_they_are_what_changed() {
    insta::assert_snapshot!(shown("a\r\nb\r\n", "a\nb\n"), @r"
    @@ -1,2 +1,2 @@
    -a␍
    -b␍
    +a
    +b
    ");
    assert_eq!(shown("a\r\nb\r\n", "a\r\nc\r\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c");
}

#[test]
fn what_is_left_out_is_told() {
    let after = "x\n".repeat(100);
    let diff = Diff::of("", &after);
    assert_eq!(diff.text(30), "@@ -0,0 +1,100 @@\n+x\n+x\n+x\n+x\n[96 lines of the diff left out]");
    assert_eq!((diff.added(), diff.removed()), (100, 0));
    let long = "雨".repeat(1000);
    assert!(shown("", &long).len() < 600);
}

#[test]
fn texts_without_a_line_in_common_cost_little() {
    let before = (0..300_000).map(|n| format!("a{n}\n")).collect::<Vec<_>>().concat();
    let after = (0..300_000).map(|n| format!("b{n}\n")).collect::<Vec<_>>().concat();
    let diff = Diff::of(&before, &after);
    assert_eq!((diff.added(), diff.removed()), (300_000, 300_000));
    // Lines that are all alike make the longest runs on every diagonal.
    let before = "x\n".repeat(200_000);
    let after = format!("{}{}", "y\n".repeat(600), "x\n".repeat(199_000));
    let after = format!("{after}{}", "z\n".repeat(600));
    assert_eq!(applied(&before, &Diff::of(&before, &after)), after);
}

/// The fewest lines that have to change, the slow way.
fn fewest(before: &[&str], after: &[&str]) -> usize {
    let mut common = vec![vec![0; after.len() + 1]; before.len() + 1];
    for (i, one) in before.iter().enumerate() {
        for (j, other) in after.iter().enumerate() {
            common[i + 1][j + 1] = if one == other {
                common[i][j] + 1
            } else {
                common[i][j + 1].max(common[i + 1][j])
            };
        }
    }
    before.len() + after.len() - 2 * common[before.len()][after.len()]
}

proptest! {
    #[test]
    fn a_diff_leads_from_one_text_to_the_other_the_shortest_way(
        before in "[abc\n]{0,60}",
        after in "[abc\n]{0,60}",
    ) {
        let diff = Diff::of(&before, &after);
        prop_assert_eq!(applied(&before, &diff), after.clone());
        let least = fewest(&diff.before, &diff.after);
        prop_assert_eq!(diff.added() + diff.removed(), least);
        let text = diff.text(100_000);
        let signs = |sign: char| text.lines().filter(|line| line.starts_with(sign)).count();
        prop_assert_eq!((signs('+'), signs('-')), (diff.added(), diff.removed()));
    }
}
