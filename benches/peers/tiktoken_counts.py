"""Counts o200k tokens with the package tiktoken: takes the vocabulary's file, then a text's file a
line, and answers each with the processor time it took and the count."""

import hashlib
import os
import shutil
import sys
import tempfile
import time

URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"

with tempfile.TemporaryDirectory() as cache:
    # The package keeps downloads under the hash of their address, and checks what they hold.
    shutil.copy(sys.argv[1], os.path.join(cache, hashlib.sha1(URL.encode()).hexdigest()))
    os.environ["TIKTOKEN_CACHE_DIR"] = cache
    import tiktoken

    encoding = tiktoken.get_encoding("o200k_base")

encoding.encode_ordinary("ready")
print(f"tiktoken {tiktoken.__version__}, Python {sys.version.split()[0]}", flush=True)
for line in sys.stdin:
    with open(line.strip(), encoding="utf-8", newline="") as file:
        text = file.read()
    before = time.thread_time()
    count = len(encoding.encode_ordinary(text))
    print(time.thread_time() - before, count, flush=True)
