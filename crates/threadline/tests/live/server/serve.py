"""Serves a small model on loopback: python serve.py MODEL.gguf PORT CONTEXT_TOKENS [TEMPLATE.jinja]

Speaks /v1/chat/completions, /v1/responses and /v1/messages. Ends when its standard input does, so
that it never outlives the test that started it.
"""

import sys

import xllamacpp

model, port, context_tokens, *template = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames = ["127.0.0.1"]
params.port = int(port)
# Requests that are cancelled and those that follow do not wait for each other.
params.n_parallel = 2
params.n_ctx = params.n_parallel * int(context_tokens)
# Two threads spin against each other when the machine has other work.
params.cpuparams.n_threads = 1
params.use_jinja = True
if template:
    with open(template[0], encoding="utf-8") as file:
        params.chat_template = file.read()
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
