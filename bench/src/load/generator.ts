// Generates load in a process of its own, so that its work is not counted as the server's: receives one spec, sends one
// result.
import autocannon from 'autocannon';
import type { LoadResult, LoadSpec } from './spec.js';

process.once('message', (spec: LoadSpec) => {
  run(spec).then(
    (result) => process.send?.(result, undefined, undefined, () => process.exit(0)),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
});

function run({ url, connections, seconds, requests }: LoadSpec): Promise<LoadResult> {
  const times: number[] = [];
  const cpu = process.cpuUsage();
  const started = performance.now();
  return new Promise((resolve, reject) => {
    // Each connection begins at another request; otherwise all would send the same request at the same time.
    let next = 0;
    const setupClient = (client: autocannon.Client) => {
      const from = Math.floor((next++ * requests.length) / connections);
      client.setRequests([...requests.slice(from), ...requests.slice(0, from)]);
    };
    const options = { url, connections, duration: seconds, requests: [...requests], setupClient };
    const load = autocannon(options, (error, result) => {
      if (error) return reject(error);
      const took = (performance.now() - started) / 1000;
      const { user, system } = process.cpuUsage(cpu);
      times.sort((a, b) => a - b);
      const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
      resolve({
        requests: times.length,
        seconds: result.duration,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        failed: result.non2xx + result.errors + result.timeouts,
        busy: (user + system) / 1e6 / took,
      });
    });
    // The library's own percentiles are whole milliseconds.
    load.on('response', (_client, _status, _bytes, milliseconds) => times.push(milliseconds));
  });
}
