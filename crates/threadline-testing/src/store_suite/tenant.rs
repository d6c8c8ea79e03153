//! Tenants: none sees what is another's.

use threadline_core::clock::Timestamp;
use threadline_core::id::{Seq, TenantId};
use threadline_core::store::{Attendance, DueFilter, Filter, Listing, Query, Sort, StoreError};

use super::facts::{ADA, item, said};
use super::story::Story;
use super::{Case, World};

cases![nothing_of_another_tenant_is_seen];

async fn nothing_of_another_tenant_is_seen(world: &World) {
    let mut story = Story::begin(world, &world.open().await).await;
    story.append([said(ADA, "a secret")]).await;
    story.rest().await;
    let tenant = TenantId::new(Timestamp::default(), &*world.ids);
    let Some(other) = world.rig.open_tenant(tenant).await else { return };
    refused!(other.conversation(story.id).await, StoreError::NotFound(_));
    refused!(other.claim(story.id, 1000, Attendance::Attended).await, StoreError::NotFound(_));
    refused!(other.enqueue(story.id, &item("k", "x")).await, StoreError::NotFound(_));
    refused!(other.begin_intake(story.id, Seq(3)).await, StoreError::NotFound(_));
    assert!(other.claim_due(9, 1000, &DueFilter::default()).await.unwrap().is_empty());
    let listing = Listing { filter: Filter::All, sort: Sort::Active, after: None, most: 9 };
    assert!(other.list(&listing).await.unwrap().is_empty());
    let query =
        Query { text: "secret".to_owned(), conversation: None, agent: None, after: None, most: 9 };
    assert!(other.search(&query).await.unwrap().is_empty());
    let first = story.batches[0].clone();
    let base = Some((story.id, Seq(2)));
    refused!(other.create(world.id(), base, &story.batches[1]).await, StoreError::NotFound(_));
    // The same id is another conversation there.
    other.create(story.id, None, &first).await.unwrap();
    assert_eq!(other.conversation(story.id).await.unwrap().head, Seq(2));
    assert_eq!(story.store.search(&query).await.unwrap().len(), 1);
    story.check().await;
}
