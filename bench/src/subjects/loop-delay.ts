// Preloaded into the system (`--import`). Reports, and resets, the longest time for which its event loop was blocked.
import { createServer } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 1;
const port = Number(process.env.COMMONPLACE_BENCH_DELAY_PORT);

if (isMainThread && port > 0) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ p99: delay.percentile(99) / 1e6, most: delay.max / 1e6 }));
    delay.reset();
  });
  server.listen(port, '127.0.0.1').unref();
  // Child processes must not use this port.
  delete process.env.COMMONPLACE_BENCH_DELAY_PORT;
}
