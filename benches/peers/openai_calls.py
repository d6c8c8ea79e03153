"""Asks a server through the package openai. Takes the server's base URL, then a number of calls a
line, and answers each with the seconds they took, the processor's seconds, and the bytes of text
that came."""

import sys
import time

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
messages = [
    {"role": "system", "content": "You are concise."},
    {"role": "user", "content": "Tell me of the lighthouse, in a few words."},
]


def call():
    """One answer, put together as it comes."""
    text = []
    for chunk in client.chat.completions.create(model="test", messages=messages, stream=True):
        for choice in chunk.choices:
            text.append(choice.delta.content or "")
    return len("".join(text).encode())


print(f"openai {openai.__version__}, Python {sys.version.split()[0]}", flush=True)
for line in sys.stdin:
    begun, processor = time.perf_counter(), time.process_time()
    size = sum(call() for _ in range(int(line)))
    print(time.perf_counter() - begun, time.process_time() - processor, size, flush=True)
