//! Asks a server through async-openai. Takes the server's base URL, then a number of calls a line,
//! and answers each with the seconds they took, the processor's seconds, and the bytes of text that
//! came.

use std::error::Error;
use std::io::{BufRead as _, Write as _};
use std::time::{Duration, Instant};

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionRequestSystemMessage, ChatCompletionRequestUserMessage,
    CreateChatCompletionRequest, CreateChatCompletionRequestArgs,
};
use futures_util::StreamExt as _;
use rustix::time::{ClockId, clock_gettime};

fn main() -> Result<(), Box<dyn Error>> {
    drop(rustls::crypto::ring::default_provider().install_default());
    let base = std::env::args().nth(1).ok_or("the server's base URL is missing")?;
    let client = Client::with_config(OpenAIConfig::new().with_api_base(base).with_api_key("none"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    say("async-openai 0.43")?;
    for line in std::io::stdin().lock().lines() {
        let calls: usize = line?.trim().parse()?;
        let (begun, processor) = (Instant::now(), processor_time());
        let mut bytes = 0;
        for _ in 0..calls {
            bytes += runtime.block_on(call(&client))?;
        }
        let processor = processor_time().saturating_sub(processor).as_secs_f64();
        say(&format!("{} {processor} {bytes}", begun.elapsed().as_secs_f64()))?;
    }
    Ok(())
}

/// One answer, put together as it comes.
async fn call(client: &Client<OpenAIConfig>) -> Result<usize, Box<dyn Error>> {
    let mut stream = client.chat().create_stream(request()?).await?;
    let mut text = String::new();
    while let Some(chunk) = stream.next().await {
        for choice in chunk?.choices {
            text.push_str(choice.delta.content.as_deref().unwrap_or_default());
        }
    }
    Ok(text.len())
}

fn request() -> Result<CreateChatCompletionRequest, Box<dyn Error>> {
    let messages = [
        ChatCompletionRequestSystemMessage::from("You are concise.").into(),
        ChatCompletionRequestUserMessage::from("Tell me of the lighthouse, in a few words.").into(),
    ];
    Ok(CreateChatCompletionRequestArgs::default().model("test").messages(messages).build()?)
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
