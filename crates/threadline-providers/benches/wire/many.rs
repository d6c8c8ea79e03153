//! Many streams at once: what each takes of memory, and each of its pieces of the processor. The
//! server is another process; the client and what it puts together are all that is counted.

use std::sync::Arc;
use std::time::Duration;

use threadline_testing::bench::{Outcome, Report, Rounds, Target, float, process_time};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::Setting;
use crate::asking::Asking;
use crate::memory::Mark;
use crate::server::Server;

pub(crate) fn measure(setting: &Setting, report: &mut Report) -> Outcome<()> {
    let (rounds, few, many) = setting.of((5, 100, 1000), (1, 10, 100));
    let (pieces, every) = setting.of((40, 100), (5, 10));
    let every = Duration::from_millis(every);
    let mut server = Server::begin()?;
    let mut measured: [Streams; 2] = Default::default();
    for _ in 0..rounds {
        for (count, streams) in [few, many].into_iter().zip(&mut measured) {
            crowd(&mut server, (count, pieces, every), streams)?;
        }
    }
    let [of_few, of_many] = &measured;
    let target = setting.of(Some(Target::AtMost(1.5)), None);
    let mut ratio = |what: &str, unit: &str, value: fn(&Streams) -> &Rounds| {
        let what = format!("{what}, one of {many} / of {few}");
        report.ratio(&what, value(of_many).median(), value(of_few).median(), unit, target);
    };
    ratio("memory while it waits", "KB", |streams| &streams.waiting);
    ratio("memory at the peak", "KB", |streams| &streams.peak);
    ratio("processor time of a piece", "us", |streams| &streams.piece);
    ratio("processor time of its beginning", "us", |streams| &streams.beginning);
    Ok(())
}

/// What one stream took, round by round.
#[derive(Default)]
struct Streams {
    /// Memory with one piece there and more to come.
    waiting: Rounds,
    peak: Rounds,
    /// Processor time of a piece, and until the first.
    piece: Rounds,
    beginning: Rounds,
}

/// Opens so many streams, waits until all have begun, and lets them go on together.
fn crowd(
    server: &mut Server,
    (count, pieces, every): (usize, usize, Duration),
    streams: &mut Streams,
) -> Outcome<()> {
    // A runtime of its own: with it ends whatever still belongs to its connections.
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let asking = Arc::new(Asking::new(&format!("{}/held/v1", server.origin))?);
    runtime.block_on(async {
        let mark = Mark::new();
        let before = process_time();
        let (begun, mut asked) = (Arc::new(Semaphore::new(0)), JoinSet::new());
        for _ in 0..count {
            let (asking, begun) = (Arc::clone(&asking), Arc::clone(&begun));
            asked.spawn(async move { asking.ask(move || begun.add_permits(1)).await });
        }
        let all = begun.acquire_many(u32::try_from(count)?);
        tokio::select! {
            all = all => drop(all?),
            Some(ended) = asked.join_next() => {
                ended??;
                return Err("an answer ended before its time".into());
            }
        }
        streams.waiting.add(mark.taken() / 1e3 / float(count));
        let since = process_time();
        streams.beginning.add(since.saturating_sub(before).as_secs_f64() * 1e6 / float(count));
        server.go_on(pieces, every)?;
        while let Some(ended) = asked.join_next().await {
            let (came, _) = ended??;
            if came != pieces + 1 {
                return Err("an answer did not come whole".into());
            }
        }
        let took = process_time().saturating_sub(since).as_secs_f64();
        streams.piece.add(took * 1e6 / float(count * pieces));
        streams.peak.add(mark.peak() / 1e3 / float(count));
        Ok(())
    })
}
