import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { type Gauge, gauge, type NumberPoint } from './instruments.js';

const seconds = (name: string, description: string): Gauge => gauge(name, 's', description);

const delays = {
  mean: seconds('nodejs.eventloop.delay.mean', 'Mean delay of the event loop since the last reading.'),
  p50: seconds('nodejs.eventloop.delay.p50', 'Half of the delays of the event loop were shorter.'),
  p99: seconds('nodejs.eventloop.delay.p99', '99 of 100 delays of the event loop were shorter.'),
  max: seconds('nodejs.eventloop.delay.max', 'Longest delay of the event loop since the last reading.'),
};
const utilization = gauge(
  'nodejs.eventloop.utilization',
  '1',
  'Share of time in which the event loop was busy since the last reading.',
);
const memory = gauge('process.memory.usage', 'By', 'Memory that the process holds.');
const cpu = gauge('process.cpu.time', 's', 'Processor time that the process has used.', 'counter');

/** Milliseconds between measurements of the event loop. */
const RESOLUTION_MS = 20;
/**
 * Minimum length in milliseconds of the period for which delays are reported. A period normally ends when a reader
 * asks, and there may be two readers.
 */
const MIN_PERIOD_MS = 5000;

/** Reports metrics of the process itself. Returns a function that ends the reports. */
export function observeProcess(): () => void {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  let reported = readDelays();
  let utilized = performance.eventLoopUtilization();
  let busy = 0;
  let at = performance.now();

  function readDelays() {
    // An idle loop waits for the measurement's own timer, which is not a delay. Without measurements the value is not a
    // number.
    const own = (nanoseconds: number) => Math.max(0, (nanoseconds || 0) / 1e9 - RESOLUTION_MS / 1000);
    const { mean, max } = histogram;
    return {
      mean: own(mean),
      p50: own(histogram.percentile(50)),
      p99: own(histogram.percentile(99)),
      max: own(max),
    };
  }
  function refresh() {
    if (performance.now() - at < MIN_PERIOD_MS) return;
    at = performance.now();
    reported = readDelays();
    histogram.reset();
    const now = performance.eventLoopUtilization();
    busy = performance.eventLoopUtilization(now, utilized).utilization;
    utilized = now;
  }
  const one = (value: number, attributes = {}): NumberPoint[] => [{ attributes, value }];
  const ends = [
    ...(Object.keys(delays) as (keyof typeof delays)[]).map((name) =>
      delays[name].observe(() => {
        refresh();
        return one(reported[name]);
      }),
    ),
    utilization.observe(() => {
      refresh();
      return one(busy);
    }),
    memory.observe(() => one(process.memoryUsage.rss())),
    cpu.observe(() => {
      const { user, system } = process.cpuUsage();
      return [
        ...one(user / 1e6, { 'process.cpu.state': 'user' }),
        ...one(system / 1e6, { 'process.cpu.state': 'system' }),
      ];
    }),
  ];
  return () => {
    histogram.disable();
    for (const end of ends) end();
  };
}
