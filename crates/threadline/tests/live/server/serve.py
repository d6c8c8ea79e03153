"""Serves a small model on loopback: python serve.py MODEL.gguf PORT [TEMPLATE.jinja]

Speaks /v1/chat/completions, /v1/responses and /v1/messages. Ends when its standard input does, so
that it never outlives the test that started it.
"""

import sys

import xllamacpp

model, port, *template = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = 16384
params.n_parallel = 2
# Two threads spin against each other when the machine has other work.
params.cpuparams.n_threads = 1
params.use_jinja = True
if template:
    with open(template[0], encoding="utf-8") as file:
        params.chat_template = file.read()
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
