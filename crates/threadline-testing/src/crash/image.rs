//! Crash points and images: what a disk may hold after the power went away.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::disk::{Journal, Op};
use super::file::overwrite;
use crate::ids::Choices;

/// The smallest piece that a disk writes whole.
const SECTOR: usize = 512;

/// The files that a crash left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    files: BTreeMap<Arc<str>, Arc<Vec<u8>>>,
}

impl Image {
    /// The names of the files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(|name| &**name)
    }

    /// What is in a file.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(|data| data.as_slice())
    }

    /// What is in a file, for damage that no crash does.
    pub fn file_mut(&mut self, name: &str) -> Option<&mut Vec<u8>> {
        self.files.get_mut(name).map(Arc::make_mut)
    }

    pub(super) fn from_files(files: BTreeMap<Arc<str>, Arc<Vec<u8>>>) -> Self {
        Self { files }
    }

    pub(super) fn into_files(self) -> BTreeMap<Arc<str>, Arc<Vec<u8>>> {
        self.files
    }
}

impl Journal {
    /// Walks through all moments at which the power can go away, oldest first.
    ///
    /// They lie before each operation but marks, and after the last.
    pub fn crash_points(&self) -> CrashPoints<'_> {
        let durable = |(name, data): (&Arc<str>, &Arc<Vec<u8>>)| {
            (name.clone(), Slot { durable: Some(data.clone()), unsynced: Arc::default() })
        };
        CrashPoints {
            ops: &self.ops,
            next: Some(0),
            acknowledged: None,
            slots: self.base.files.iter().map(durable).collect(),
        }
    }

    /// The crash point before the operation of this number, to look at one again.
    pub fn crash_point(&self, at: usize) -> Option<CrashPoint> {
        self.crash_points().find(|point| point.at == at)
    }
}

/// All moments at which the power can go away, in one walk through a journal.
#[derive(Debug)]
pub struct CrashPoints<'a> {
    ops: &'a [Op],
    next: Option<usize>,
    acknowledged: Option<u64>,
    slots: BTreeMap<Arc<str>, Slot>,
}

impl Iterator for CrashPoints<'_> {
    type Item = CrashPoint;

    fn next(&mut self) -> Option<CrashPoint> {
        let mut at = self.next?;
        // The operation of the last point is applied only now. By then that point is usually gone,
        // so that the file contents it shared need not be copied.
        if let Some(done) = at.checked_sub(1) {
            self.apply(done);
        }
        while matches!(self.ops.get(at), Some(Op::Mark(_))) {
            self.apply(at);
            at += 1;
        }
        self.next = (at < self.ops.len()).then_some(at + 1);
        Some(CrashPoint { at, acknowledged: self.acknowledged, slots: self.slots.clone() })
    }
}

impl CrashPoints<'_> {
    fn apply(&mut self, at: usize) {
        let Some(op) = self.ops.get(at) else { return };
        match op {
            Op::Create { file } => self.slot(file).add(Change::Create),
            Op::Write { file, offset, data } => {
                self.slot(file).add(Change::Write { offset: *offset, data: data.clone() });
            }
            Op::Truncate { file, size } => self.slot(file).add(Change::Truncate { size: *size }),
            Op::Sync { file } => {
                if self.slot(file).is_new() {
                    self.sync_directory();
                }
                self.slot(file).settle();
            }
            Op::SyncFailed { file } => self.slot(file).lose_writes(),
            Op::Delete { file, durable } => {
                self.slot(file).add(Change::Delete);
                if *durable {
                    self.sync_directory();
                }
            }
            Op::Mark(n) => self.acknowledged = Some(*n),
        }
    }

    fn sync_directory(&mut self) {
        self.slots.values_mut().for_each(Slot::settle_name);
    }

    fn slot(&mut self, file: &Arc<str>) -> &mut Slot {
        self.slots.entry(file.clone()).or_default()
    }
}

/// One moment at which the power can go away.
#[derive(Clone, Debug)]
pub struct CrashPoint {
    at: usize,
    acknowledged: Option<u64>,
    slots: BTreeMap<Arc<str>, Slot>,
}

impl CrashPoint {
    /// The number of the operation that no longer happened.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The last mark before the crash.
    pub fn acknowledged(&self) -> Option<u64> {
        self.acknowledged
    }

    /// What the disk may hold afterwards: take as many as you like.
    ///
    /// The first has lost everything unsynced, the second has kept it, and all others have lost, kept,
    /// torn and garbled some of it, as the seed wills. If nothing was unsynced, there is only one.
    pub fn images(&self, seed: u64) -> impl Iterator<Item = Image> {
        let settled = self.slots.values().all(|slot| slot.unsynced.is_empty());
        let count = if settled { 1 } else { u64::MAX };
        (0..count).map(move |nth| self.image(seed, nth))
    }

    /// The image of this number among [`CrashPoint::images`].
    pub fn image(&self, seed: u64, nth: u64) -> Image {
        let mut luck = match nth {
            0 => Luck::bad(),
            1 => Luck::good(),
            nth => Luck::mixed(seed, self.at as u64, nth),
        };
        let survivor = |(name, slot): (&Arc<str>, &Slot)| {
            slot.survive(&mut luck).map(|data| (name.clone(), data))
        };
        Image { files: self.slots.iter().filter_map(survivor).collect() }
    }
}

/// One name on the disk: what is safe there, and what was done to it since.
#[derive(Clone, Debug, Default)]
struct Slot {
    durable: Option<Arc<Vec<u8>>>,
    unsynced: Arc<Vec<Change>>,
}

#[derive(Clone, Debug)]
enum Change {
    Create,
    Write { offset: usize, data: Arc<[u8]> },
    Truncate { size: usize },
    Delete,
}

impl Slot {
    fn add(&mut self, change: Change) {
        Arc::make_mut(&mut self.unsynced).push(change);
    }

    fn is_new(&self) -> bool {
        self.unsynced.iter().any(|change| matches!(change, Change::Create))
    }

    /// Makes everything durable.
    fn settle(&mut self) {
        apply(&mut self.durable, &self.unsynced, &mut Luck::good());
        self.unsynced = Arc::default();
    }

    /// Makes durable whether there is such a file, but not what was written to it since.
    fn settle_name(&mut self) {
        let named = |change: &Change| matches!(change, Change::Create | Change::Delete);
        if let Some(last) = self.unsynced.iter().rposition(named) {
            let changes = Arc::make_mut(&mut self.unsynced);
            let past: Vec<Change> = changes.drain(..=last).collect();
            apply(&mut self.durable, &past, &mut Luck::good());
        }
    }

    fn lose_writes(&mut self) {
        let changes = Arc::make_mut(&mut self.unsynced);
        changes.retain(|change| !matches!(change, Change::Write { .. }));
    }

    fn survive(&self, luck: &mut Luck) -> Option<Arc<Vec<u8>>> {
        let mut data = self.durable.clone();
        apply(&mut data, &self.unsynced, luck);
        data
    }
}

/// Does to a file what luck lets through of the changes.
fn apply(data: &mut Option<Arc<Vec<u8>>>, changes: &[Change], luck: &mut Luck) {
    for change in changes {
        let fate = luck.fate();
        match change {
            // What follows under this name happened to a file that the disk has never heard of.
            Change::Create | Change::Delete if fate == Fate::Lost => return,
            Change::Create => *data = Some(Arc::default()),
            Change::Delete => *data = None,
            Change::Write { .. } | Change::Truncate { .. } if fate == Fate::Lost => {}
            Change::Truncate { size } => {
                if let Some(data) = data {
                    Arc::make_mut(data).resize(*size, 0);
                }
            }
            Change::Write { offset, data: bytes } => {
                if let Some(data) = data {
                    write(Arc::make_mut(data), *offset, bytes, fate, luck);
                }
            }
        }
    }
}

fn write(data: &mut Vec<u8>, offset: usize, bytes: &[u8], fate: Fate, luck: &mut Luck) {
    if fate == Fate::Kept {
        return overwrite(data, offset, bytes);
    }
    let mut at = offset;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (sector, after) = rest.split_at(rest.len().min(SECTOR - at % SECTOR));
        match luck.sector(fate) {
            Sector::Old => {}
            Sector::New => overwrite(data, at, sector),
            Sector::Garbage => overwrite(data, at, &luck.garbage(sector.len())),
        }
        at += sector.len();
        rest = after;
    }
}

/// What becomes of one unsynced change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Lost,
    Kept,
    /// Some sectors are old, some new.
    Torn,
    /// Some sectors are old, some new, and some neither.
    Garbled,
}

/// What becomes of one sector of a torn or garbled write.
enum Sector {
    Old,
    New,
    Garbage,
}

/// Where fates come from.
struct Luck {
    choices: Choices,
    /// In how many cases of eight a change is kept.
    mercy: u64,
    /// Whether the others are damaged, too, rather than only lost.
    damage: bool,
}

impl Luck {
    /// Nothing is kept.
    fn bad() -> Self {
        Self { choices: Choices::new(0), mercy: 0, damage: false }
    }

    /// Everything is kept.
    fn good() -> Self {
        Self { choices: Choices::new(0), mercy: 8, damage: false }
    }

    fn mixed(seed: u64, at: u64, nth: u64) -> Self {
        let mut choices = [at, nth]
            .iter()
            .fold(Choices::new(seed), |mut choices, part| Choices::new(choices.any() ^ part));
        // Images differ in how much they lose: a disk that loses half of everything every time would
        // never show the lost write among many kept ones.
        let mercy = choices.below(8);
        Self { choices, mercy, damage: true }
    }

    fn fate(&mut self) -> Fate {
        if self.choices.below(8) < self.mercy {
            return Fate::Kept;
        }
        match self.choices.below(3) {
            1 if self.damage => Fate::Torn,
            2 if self.damage => Fate::Garbled,
            _ => Fate::Lost,
        }
    }

    fn sector(&mut self, fate: Fate) -> Sector {
        match self.choices.below(if fate == Fate::Garbled { 3 } else { 2 }) {
            0 => Sector::Old,
            1 => Sector::New,
            _ => Sector::Garbage,
        }
    }

    fn garbage(&mut self, length: usize) -> Vec<u8> {
        let words = (0..length.div_ceil(8)).flat_map(|_| self.choices.any().to_le_bytes());
        words.take(length).collect()
    }
}
