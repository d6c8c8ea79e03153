//! Actors: each drives one conversation of its own, as its seed wills, and tells a witness.

use std::sync::Arc;

use threadline_core::clock::Timestamp;
use threadline_core::history::fact::{
    AgentJoined, Attachment, Described, Digest, Fact, Input, Note,
};
use threadline_core::history::{Aftermath, History, Proposal, Proposed, Stamp};
use threadline_core::id::{AgentId, ConversationId, Seq};
use threadline_core::inbox::{Body, Item, ItemNumber, Mode};
use threadline_core::store::{self, Attendance, Lease, OpenError, Query, Storage, StoreError};
use threadline_core::tokens::Estimator;
use threadline_testing::ids::{Choices, SeededIds};

use super::witness::{Claim, Event, Witness};
use super::world::TTL_MS;

/// When all conversations begin.
const START: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);
/// How many places an actor can rewind to.
const PASTS: usize = 6;
const WORDS: &[&str] = &["river", "lantern", "grüße", "quartz", "naïve", "ember", "zero", "ふね"];

/// One conversation and what its owner knows of it.
pub(crate) struct Actor {
    pub(crate) id: ConversationId,
    /// What the next acknowledged append leads to, until it is acknowledged.
    pending: Option<(Option<(ConversationId, Seq)>, Proposed)>,
    history: History,
    pasts: Vec<History>,
    lease: Option<Lease>,
    queued: Vec<(ItemNumber, Item)>,
    attachment: Option<Attachment>,
    choices: Choices,
    ids: SeededIds,
    now: Timestamp,
    /// Begins the keys of this actor's items.
    name: String,
    keys: u64,
    /// Acknowledges before it appends: the mistake that the tests must find.
    pub(crate) hasty: bool,
}

impl Actor {
    /// An actor that begins a conversation.
    pub(crate) fn new(seed: u64) -> Self {
        let ids = SeededIds::new(seed);
        Self {
            id: ConversationId::new(START, &ids),
            pending: None,
            history: History::new(),
            pasts: Vec::new(),
            lease: None,
            queued: Vec::new(),
            attachment: None,
            choices: Choices::new(seed),
            ids,
            now: START,
            name: format!("key-{seed}"),
            keys: 0,
            hasty: false,
        }
    }

    /// An actor that goes on with a conversation that is there.
    pub(crate) async fn resume(
        store: &dyn Storage,
        id: ConversationId,
        seed: u64,
    ) -> Result<Self, OpenError> {
        let (conversation, history) = store::open(store, id, &Estimator).await?;
        let queued = store.waiting(id, ItemNumber(0), 100).await?;
        let now = conversation.active_at;
        Ok(Self { id, history, queued, now, ..Self::new(seed) })
    }

    /// A conversation that branches off this one, begun with its next step.
    pub(crate) fn fork(&mut self, seed: u64) -> Option<Self> {
        if self.history.head() == Seq::ZERO || self.pending.is_some() {
            return None;
        }
        let mut child = Self { now: self.now, hasty: self.hasty, ..Self::new(seed) };
        let forked = self.history.propose_fork(self.id, &Aftermath::default(), child.stamp());
        child.pending = Some((Some((self.id, self.history.head())), forked.unwrap()));
        Some(child)
    }

    /// Does one thing. After an error the same is tried again with the next step.
    pub(crate) async fn step(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
    ) -> Result<(), StoreError> {
        if self.pending.is_none() && self.history.head() == Seq::ZERO {
            self.begin();
        }
        if self.pending.is_some() {
            return self.write(store, witness).await;
        }
        match self.choices.below(100) {
            0..50 => self.say(),
            50..62 => return self.enqueue(store, witness).await,
            62..74 => self.take(),
            74..82 => self.rewind(),
            82..88 => {
                let for_good = self.choices.percent(50);
                return store.keep_snapshot(self.id, &self.history.to_snapshot(), for_good).await;
            }
            88..94 => return self.upload(store, witness).await,
            _ => {
                let text = (*self.choices.pick(WORDS).unwrap()).to_owned();
                let query = Query { text, conversation: None, agent: None, after: None, most: 5 };
                return store.search(&query).await.map(drop);
            }
        }
        self.write(store, witness).await
    }

    /// Appends once more, whatever its seed wills.
    pub(crate) async fn say_more(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
    ) -> Result<(), StoreError> {
        if self.pending.is_none() && self.history.head() == Seq::ZERO {
            self.begin();
        } else if self.pending.is_none() {
            self.say();
        }
        self.write(store, witness).await
    }

    /// Puts an item into its inbox.
    pub(crate) async fn put(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
    ) -> Result<(), StoreError> {
        self.enqueue(store, witness).await
    }

    /// Takes what waits.
    pub(crate) async fn take_all(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
    ) -> Result<(), StoreError> {
        self.take();
        self.write(store, witness).await
    }

    /// Rewinds, if there is anything to go back to.
    pub(crate) async fn go_back(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
    ) -> Result<(), StoreError> {
        self.rewind();
        self.write(store, witness).await
    }

    /// Names an attachment with what it says next.
    pub(crate) fn attach(&mut self, attachment: Attachment) {
        self.attachment = Some(attachment);
    }

    /// Says something of about so many bytes.
    pub(crate) async fn say_at_length(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
        bytes: usize,
    ) -> Result<(), StoreError> {
        // A body has a cap, and some of it is the form around the text.
        let mut text = String::new();
        while text.len() < bytes {
            text += &self.text();
        }
        let mut facts = vec![Input::from_person(text)];
        if let Some(attachment) = self.attachment.take() {
            facts.push(Input { attachments: vec![attachment], ..Input::from_person("see this") });
        }
        let propose = |input| Proposal::new(AgentId::FIRST, input, &Estimator);
        self.propose(facts.into_iter().map(propose).collect::<Vec<_>>());
        self.write(store, witness).await
    }

    /// Keeps a snapshot.
    pub(crate) async fn keep_snapshot(&self, store: &dyn Storage) -> Result<(), StoreError> {
        store.keep_snapshot(self.id, &self.history.to_snapshot(), false).await
    }

    /// Goes on under a lease that was taken for it.
    pub(crate) fn hold(&mut self, lease: Lease) {
        self.lease = Some(lease);
    }

    /// The right to append, taken when it is first needed.
    pub(crate) async fn lease(&mut self, store: &dyn Storage) -> Result<Lease, StoreError> {
        if self.lease.is_none() {
            self.lease = Some(store.claim(self.id, TTL_MS, Attendance::Attended).await?);
        }
        Ok(self.lease.clone().unwrap())
    }

    async fn write(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
    ) -> Result<(), StoreError> {
        let Some((base, proposed)) = self.pending.clone() else { return Ok(()) };
        let begins = base.is_some() || proposed.batch.base == Seq::ZERO;
        let lease = if begins { None } else { Some(self.lease(store).await?) };
        let head = Claim::Head(self.id, proposed.batch.head(), proposed.batch.head_hash());
        witness.see(Event::Asked(head.clone()));
        if self.hasty {
            witness.see(Event::Done(head.clone()));
        }
        match lease {
            None => store.create(self.id, base, &proposed.batch).await?,
            Some(lease) => store.append(&lease, &proposed.batch).await?,
        }
        if !self.hasty {
            witness.see(Event::Done(head));
        }
        let taken: Vec<ItemNumber> = proposed.batch.taken.iter().map(|taken| taken.item).collect();
        self.queued.retain(|(number, _)| !taken.contains(number));
        self.pending = None;
        self.pasts.push(std::mem::replace(&mut self.history, proposed.history));
        if self.pasts.len() > PASTS {
            self.pasts.remove(0);
        }
        Ok(())
    }

    fn begin(&mut self) {
        let joined = AgentJoined { name: "scout".into(), primary: true, ..AgentJoined::default() };
        let title = format!("conversation of {}", self.name);
        let described = Described { title: Some(title.as_str().into()), ..Described::default() };
        self.propose([
            Proposal::new(AgentId::FIRST, joined, &Estimator),
            Proposal::new(AgentId::CONVERSATION, described, &Estimator),
        ]);
    }

    /// Some remarks and inputs.
    fn say(&mut self) {
        let count = 1 + self.choices.below(5);
        let mut facts: Vec<(AgentId, Fact)> = Vec::new();
        for _ in 0..count {
            let text = self.text();
            facts.push(if self.choices.percent(50) {
                (AgentId::FIRST, Input::from_person(text).into())
            } else {
                let note = Note { category: "fire".into(), text: text.as_str().into() };
                (AgentId::CONVERSATION, note.into())
            });
        }
        if let Some(attachment) = self.attachment.take() {
            let attachments = vec![attachment];
            let input = Input { attachments, ..Input::from_person("see this") };
            facts.push((AgentId::FIRST, input.into()));
        }
        let proposals =
            facts.into_iter().map(|(agent, fact)| Proposal::new(agent, fact, &Estimator));
        self.propose(proposals.collect::<Vec<_>>());
    }

    /// Takes all items that wait.
    fn take(&mut self) {
        let proposal = |(number, item): &(ItemNumber, Item)| {
            let Body::Input(input) = &item.body else { return None };
            let input = Input { client_key: Some(Arc::clone(&item.client_key)), ..input.clone() };
            let proposal = Proposal::new(AgentId::FIRST, input, &Estimator);
            Some(Proposal { takes: Some(*number), ..proposal })
        };
        let proposals: Vec<_> = self.queued.iter().take(8).filter_map(proposal).collect();
        if proposals.is_empty() { self.say() } else { self.propose(proposals) }
    }

    fn rewind(&mut self) {
        let Some(past) = self.choices.pick(&self.pasts).cloned() else { return self.say() };
        if past.head() == Seq::ZERO {
            return self.say();
        }
        let rewound = self.history.propose_rewind(&past, &Aftermath::default(), self.stamp());
        self.pending = Some((None, rewound.unwrap()));
    }

    async fn enqueue(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
    ) -> Result<(), StoreError> {
        let key = format!("{}-{}", self.name, self.keys);
        let item = Item {
            client_key: key.as_str().into(),
            to: None,
            mode: Mode::Queue,
            due: None,
            body: Body::Input(Input::from_person(format!("item {key}"))),
        };
        let claim = Claim::Item(self.id, key);
        witness.see(Event::Asked(claim.clone()));
        let queued = store.enqueue(self.id, &item).await?;
        witness.see(Event::Done(claim));
        self.keys += 1;
        self.queued.push((queued.number, item));
        Ok(())
    }

    async fn upload(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
    ) -> Result<(), StoreError> {
        let most = if self.choices.percent(20) { 300_000 } else { 3000 };
        let size = 1 + self.choices.index(most);
        self.send(store, witness, size).await
    }

    /// Uploads so many bytes, and names them with what it says next.
    pub(crate) async fn send(
        &mut self,
        store: &dyn Storage,
        witness: &dyn Witness,
        size: usize,
    ) -> Result<(), StoreError> {
        let mut bytes = self.choices.any().to_le_bytes().repeat(size / 8 + 1);
        bytes.truncate(size);
        let digest = Digest::of(&bytes);
        let claim = Claim::Blob(digest, size as u64);
        witness.see(Event::Asked(claim.clone()));
        let upload = store.begin_upload().await?;
        for piece in bytes.chunks(100_000) {
            store.upload(upload, piece.to_vec()).await?;
        }
        store.finish_upload(upload).await?;
        witness.see(Event::Done(claim));
        let media_type = "application/octet-stream".into();
        self.attachment =
            Some(Attachment { digest, size: size as u64, media_type, name: None, extent: None });
        Ok(())
    }

    fn propose(&mut self, proposals: impl IntoIterator<Item = Proposal>) {
        self.now = self.now.plus_millis(1 + self.choices.below(2000));
        let proposed = self.history.propose(proposals, self.stamp()).unwrap();
        self.pending = Some((None, proposed));
    }

    fn stamp(&self) -> Stamp<'_> {
        Stamp { at: self.now, ids: &self.ids, counter: &Estimator }
    }

    fn text(&mut self) -> String {
        let long = self.choices.percent(10);
        let count = 1 + self.choices.below(if long { 500 } else { 20 });
        let words = (0..count).map(|_| *self.choices.pick(WORDS).unwrap());
        words.collect::<Vec<_>>().join(" ")
    }
}
