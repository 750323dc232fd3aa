// Generates load in a separate process, so that its work is not attributed to the server. It receives one spec and
// sends one result.
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

function run({ urls, connections, seconds, requests }: LoadSpec): Promise<LoadResult> {
  const times: number[] = [];
  const cpu = process.cpuUsage();
  const started = performance.now();
  return new Promise((resolve, reject) => {
    // Each connection has its own requests, because otherwise all would send the same request at the same time. If
    // there are fewer requests than connections, some connections share one.
    let next = 0;
    const setupClient = (client: autocannon.Client) => {
      const at = next++;
      const from = Math.floor((at * requests.length) / connections);
      const to = Math.floor(((at + 1) * requests.length) / connections);
      client.setRequests(requests.slice(from, Math.max(to, from + 1)));
    };
    // The library takes a list, which its types leave out.
    const url = urls as unknown as string;
    const options = { url, connections, duration: seconds, requests: requests.slice(0, 1), setupClient };
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
    // The library's own percentiles have a resolution of one millisecond.
    load.on('response', (_client, _status, _bytes, milliseconds) => times.push(milliseconds));
  });
}
